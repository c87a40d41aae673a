"""A loaded model elsewhere: ONNX, files of rows, the command line."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from pinnace.deploy import cli as cli
    from pinnace.deploy import onnx as onnx
    from pinnace.deploy import tfjs as tfjs


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> ModuleType:
        if name in {"onnx", "tfjs", "cli"}:
            return importlib.import_module(f"pinnace.deploy.{name}")
        raise AttributeError(f"module 'pinnace.deploy' has no attribute {name!r}")
