"""The converters, in the folders and files of `core/ops`.

Two tables cover ops that need no function: `operators` has those that equal one ONNX operator,
`unsupported` those without a counterpart, with the reasons. A converter takes a
`node_view.NodeView` and registers itself in `registry`.
"""

from pinnace.deploy.onnx.converters import array as array
from pinnace.deploy.onnx.converters import math as math
from pinnace.deploy.onnx.converters import nn as nn
from pinnace.deploy.onnx.converters import operators as operators
from pinnace.deploy.onnx.converters import registry

# Families that models made of layers rarely use; they are imported in this order when an op is not
# found.
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
