"""Sound files."""

from pinnace.deploy.onnx.registry import refuses

refuses("ONNX reads and writes no sound files; give the model samples", "DecodeWav", "EncodeWav")
