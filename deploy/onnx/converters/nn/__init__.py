"""Converters of `core/ops/nn`."""

from pinnace.deploy.onnx.converters import registry
from pinnace.deploy.onnx.converters.nn import batch_norm as batch_norm
from pinnace.deploy.onnx.converters.nn import biases as biases
from pinnace.deploy.onnx.converters.nn import depthwise as depthwise
from pinnace.deploy.onnx.converters.nn import fused as fused
from pinnace.deploy.onnx.converters.nn import local_response as local_response
from pinnace.deploy.onnx.converters.nn import losses as losses
from pinnace.deploy.onnx.converters.nn import nearest as nearest
from pinnace.deploy.onnx.converters.nn import pooling as pooling
from pinnace.deploy.onnx.converters.nn import rectifiers as rectifiers
from pinnace.deploy.onnx.converters.nn import smooth as smooth
from pinnace.deploy.onnx.converters.nn import softmaxes as softmaxes
from pinnace.deploy.onnx.converters.nn import spatial_convolutions as spatial_convolutions

registry.later.add(
    *(
        f"{__name__}.{module}"
        for module in ("ctc", "data_formats", "morphology", "packed_rnn", "recurrent_blocks")
    )
)
