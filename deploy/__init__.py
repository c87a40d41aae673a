"""A loaded model elsewhere: ONNX, the command line."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name in {"onnx", "cli"}:
        return importlib.import_module(f"pinnace.deploy.{name}")
    message = f"module 'pinnace.deploy' has no attribute {name!r}"
    raise AttributeError(message)
