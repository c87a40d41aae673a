"""Windows of pictures."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "there is no converter yet: ONNX has no op that takes windows apart",
    "ExtractImagePatches",
    "ExtractVolumePatches",
)
