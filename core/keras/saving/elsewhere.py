"""Warnings, when saving, about features that Keras 3 lacks or treats differently."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pinnace.framework.listing import first_of
from pinnace.keras.registry import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

# The package under which classes for files of Keras 2 are registered here.
_OWN = "pinnace>"
# Layers of Keras 2 that Keras 3 lacks.
_GONE = frozenset({"DenseFeatures", "LocallyConnected1D", "LocallyConnected2D"})
_LISTED = 8
_said: set[str] = set()


def tell(config: Mapping[str, Any], path: str) -> None:
    """Log features of a file that Keras 3 lacks, once per model and process.

    Args:
        config: configuration of the model, as written.
        path: path of the file.
    """
    unknown: dict[str, None] = {}
    older: dict[str, None] = {}
    if not _look(config, unknown, older):
        older.clear()  # without masks the rules are the same
    lines = [
        f"  {what}: {first_of(names, _LISTED)}"
        for what, names in (
            ("it does not know, before a program registers classes of these names", unknown),
            ("it goes by its own rules of masks, where these go by those of Keras 2", older),
        )
        if names
    ]
    text = "\n".join(lines)
    if not lines or text in _said:
        return
    _said.add(text)
    logging.getLogger("pinnace").warning(
        "Model.save: %r opens here; Keras 3 does not give the same answers\n%s\n"
        "  See: docs/guide/keras.md#models-of-keras-2-in-keras-3",
        path,
        text,
    )


def _look(config: Any, unknown: dict[str, None], older: dict[str, None]) -> bool:
    """Collect class names; return whether there are layers that create masks."""
    waiting, masks = [config], False
    while waiting:
        one = waiting.pop()
        if isinstance(one, (list, tuple)):
            waiting.extend(reversed(one))
        if not isinstance(one, dict):
            continue
        waiting.extend(reversed(one.values()))
        registered, name = str(one.get("registered_name") or ""), one.get("class_name")
        if registered.startswith(_OWN):
            unknown[registered] = None
        elif name in _GONE and str(one.get("module")).startswith("keras."):
            unknown[str(name)] = None
        inner = one.get("config")
        masks = masks or name == "Masking" or one.get("mask_zero") is True
        if RULES in one:
            called = inner.get("name") if isinstance(inner, dict) else None
            older[f"{name} {called!r}" if called else str(name)] = None
    return masks
