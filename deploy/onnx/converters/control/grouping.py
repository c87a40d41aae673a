"""Effects: gone before operators are written."""

from __future__ import annotations

from pinnace.deploy.onnx.registry import refuses

refuses("only orders other nodes", "NoOp")
refuses("is left out: ONNX cannot stop or print", "Assert", "Print", "PrintV2")
