"""Effects: gone before operators are written."""

from pinnace.deploy.onnx.registry import refuses

refuses("only orders other nodes", "NoOp")
refuses("is left out: ONNX cannot stop or print", "Assert", "Print", "PrintV2")
