"""Converters of `core/ops/nn`."""

from pinnace.deploy.onnx import registry
from pinnace.deploy.onnx.converters.nn import biases as biases
from pinnace.deploy.onnx.converters.nn import convolutions as convolutions
from pinnace.deploy.onnx.converters.nn import depthwise as depthwise
from pinnace.deploy.onnx.converters.nn import fused as fused
from pinnace.deploy.onnx.converters.nn import losses as losses
from pinnace.deploy.onnx.converters.nn import nearest as nearest
from pinnace.deploy.onnx.converters.nn import normalization as normalization
from pinnace.deploy.onnx.converters.nn import pooling as pooling
from pinnace.deploy.onnx.converters.nn import rectifiers as rectifiers
from pinnace.deploy.onnx.converters.nn import smooth as smooth
from pinnace.deploy.onnx.converters.nn import softmaxes as softmaxes

registry.later.add(
    *(
        f"{__name__}.{module}"
        for module in (
            "ctc",
            "data_formats",
            "isotonic",
            "morphology",
            "packed_rnn",
            "recurrent_blocks",
        )
    )
)
