"""Parts of pictures drawn by chance."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "draws a part of a picture to train on; a model that answers needs none",
    "SampleDistortedBoundingBox",
    "SampleDistortedBoundingBoxV2",
    "StatelessSampleDistortedBoundingBox",
)
