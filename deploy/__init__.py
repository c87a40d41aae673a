"""A model elsewhere: other file formats, commands, containers.

- `program`: a loaded model as a stateless graph with weights; `sampling`: inputs on which files are
  compared; `refusals`: why a model is not exported.
- `onnx`, `lite`, `tfjs`: converters, files and their verification; `lite` and `tfjs` read, too.
- `tokenizer`: the steps of a model on strings, as data.
- `models`: kinds of model files, and how each is run.
- `score`: files of rows through a model; `upgrade`: programs of TensorFlow 1 rewritten.
- `cli`: the commands of `pinnace`, one file each.
- `containers`, `kubernetes`, `systemd`: how the server is run.
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


if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> ModuleType:
        if name in {"cli", "lite", "onnx", "tfjs"}:
            return importlib.import_module(f"pinnace.deploy.{name}")
        raise AttributeError(f"module 'pinnace.deploy' has no attribute {name!r}")
