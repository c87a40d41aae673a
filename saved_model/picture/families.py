"""The family of an op, which determines the colour of its box."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.ops.opdef import OpDef

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
    """The family of an op: the folder of its module, `unknown` without a kernel."""
    folder = getattr(op, "family", UNKNOWN)  # an unregistered op has none
    return _FAMILIES.get(folder, folder)
