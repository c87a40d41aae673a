"""Shape ↔ TensorShapeProto."""

from __future__ import annotations

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import SCALAR, UNKNOWN, Shape
from pinnace.proto.tensor_pb2 import TensorShapeProto

_MOST_AXES = 254  # TensorFlow's limit
_LARGEST = (1 << 63) - 1


def encode_shape(shape: Shape) -> TensorShapeProto:
    """Encode a shape: an unknown axis as -1, an unknown rank as a flag."""
    dims = shape.dims
    if dims is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1 if n is None else n) for n in dims])


def decode_shape(message: TensorShapeProto, where: str = "TensorShapeProto") -> Shape:
    """The inverse of `encode_shape`.

    Raises:
        InvalidArgumentError: an axis is below -1, or there are more axes or elements than a tensor
            can have.
    """
    if message.unknown_rank:
        return UNKNOWN
    sizes = [dim.size for dim in message.dim]
    if not sizes:
        return SCALAR
    if len(sizes) > _MOST_AXES:
        raise InvalidArgumentError(f"{where}: a shape has at most {_MOST_AXES} axes, got more")
    known = 1
    for axis, size in enumerate(sizes):
        if size < -1:
            raise InvalidArgumentError(f"{where}.dim[{axis}].size: {size} is below -1")
        if size > 0:
            known *= size
    if known > _LARGEST:
        raise InvalidArgumentError(f"{where}: no tensor has the shape {sizes}")
    return Shape.of(tuple([None if size == -1 else size for size in sizes]))
