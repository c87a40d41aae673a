"""Names that low layers need of high ones, resolved on first use.

Each entry is an upward edge that the tree of imports does not show, so the table is short and
complete: a test finds every use, and that each entry exists.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE: dict[str, str] = {
    # framework: tf.dtypes.cast and its like
    "ops.cast": "pinnace.ops.array.casting:cast",
    "ops.complex": "pinnace.ops.math.complexes:complex",
    "ops.saturate_cast": "pinnace.ops.array.casting:saturate_cast",
    # keras: Model.save, Model.export and load_model
    "saved_model.save": "pinnace.saved_model:save",
    "saved_model.load": "pinnace.saved_model:load",
    # keras: Model.export(format="onnx")
    "onnx.export": "pinnace.deploy.onnx:export",
}

_resolved: dict[str, Callable[..., Any]] = {}


def get(name: str) -> Callable[..., Any]:
    """The object an entry stands for; its package is imported the first time.

    Args:
        name: a key of `TABLE`.

    Raises:
        KeyError: there is no such entry.
        ImportError: the entry's package or object is missing.
    """
    found = _resolved.get(name)
    if found is None:
        found = _resolved[name] = _resolve(name)
    return found


def _resolve(name: str) -> Callable[..., Any]:
    target = TABLE.get(name)
    if target is None:
        raise KeyError(f"late.get: name must be one of {', '.join(sorted(TABLE))}, got {name!r}")
    package, _, attribute = target.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(package), attribute)
    except AttributeError as error:
        raise ImportError(f"late.get({name!r}): {package} has no {attribute!r}") from error
    return found
