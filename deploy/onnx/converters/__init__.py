"""The converters, in the folders and files of `core/ops`."""

from pinnace.deploy.onnx import registry
from pinnace.deploy.onnx.converters import array as array
from pinnace.deploy.onnx.converters import math as math
from pinnace.deploy.onnx.converters import nn as nn

# Families that a model of layers does without; they are imported in this order when an op is
# missed.
registry.later.add(
    *(
        f"{__name__}.{family}"
        for family in (
            "functional",
            "state",
            "control",
            "random",
            "image",
            "linalg",
            "strings",
            "sparse",
            "signal",
            "quantization",
            "ragged",
            "audio",
            "trees",
            "text",
            "composites",
            "outside",
        )
    )
)
