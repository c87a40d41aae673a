"""Which family an op belongs to: what its box is coloured by."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from pinnace.ops.opdef import OpDef

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OPS = "pinnace.ops."
# Folders of ops -> the family under which a reader looks for them.
_FAMILIES = {
    "functional": "control",
    "signal": "image and signal",
    "image": "image and signal",
    "audio": "image and signal",
    "sparse": "ragged and sparse",
    "ragged": "ragged and sparse",
    "composites": "ragged and sparse",
    "dataset": "files and data",
    "io": "files and data",
    "summary": "files and data",
    "nn": "neural network",
}
INPUT = "input"
OUTPUT = "output"
GROUP = "group"
UNKNOWN = "unknown"


def family_of(op: OpDef) -> str:
    """The family of an op: the folder it stands in, `unknown` if this library has no kernel."""
    known = _by_name().get(op.name)
    if known is not None:
        return known
    parts = (getattr(op.kernel, "__module__", None) or "").split(".")
    folder = parts[2] if parts[:2] == ["pinnace", "ops"] and len(parts) > 3 else UNKNOWN
    return _FAMILIES.get(folder, folder)


@cache
def _by_name() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(_OPS) or name.count(".") < 3:
            continue
        folder = name.split(".")[2]
        for value in list(vars(module).values()):
            for op in _members(value):
                if isinstance(op, OpDef):
                    found.setdefault(op.name, _FAMILIES.get(folder, folder))
    return found


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else (value,)
