"""The converters, in the folders and files of `core/ops`.

Two tables cover ops that need no function: `operators` has those that are one operator of ONNX,
`unsupported` those without a counterpart, and why. A converter takes a `node_view.NodeView` and
registers itself in `registry`.
"""

from pinnace.deploy.onnx.converters import array as array
from pinnace.deploy.onnx.converters import math as math
from pinnace.deploy.onnx.converters import nn as nn
from pinnace.deploy.onnx.converters import operators as operators
from pinnace.deploy.onnx.converters import registry

# Families that a model of layers does without; they are imported in this order when an op is
# missed.
registry.later.add(
    *(
        f"{__name__}.{family}"
        for family in (
            "functional",
            "state",
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
        )
    )
)
