"""Deployment: other file formats, commands, containers.

- `program`: a loaded model as a stateless graph with weights; `sampling`: inputs on which files are
    compared; `refusals`: errors of exports.
- `onnx`, `lite`, `tfjs`: converters, files, their verification; `lite` and `tfjs` read files, too.
- `tokenizer`: the string processing of a model as data.
- `models`: the kinds of model files, and how each is run.
- `score`: batch prediction on files of rows; `upgrade`: migration of TensorFlow 1 programs.
- `cli`: the commands of `pinnace`, one file each.
- `containers`, `kubernetes`, `systemd`: deployments of the server.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from pinnace.deploy import cli as cli
    from pinnace.deploy import lite as lite
    from pinnace.deploy import onnx as onnx
    from pinnace.deploy import tfjs as tfjs


if not TYPE_CHECKING:  # else type checkers would accept any attribute

    def __getattr__(name: str) -> ModuleType:
        if name in {"cli", "lite", "onnx", "tfjs"}:
            return importlib.import_module(f"pinnace.deploy.{name}")
        raise AttributeError(f"module 'pinnace.deploy' has no attribute {name!r}")
