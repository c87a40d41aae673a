"""Cases of core/ops/io/raw.py."""

import struct
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.strings.joining import Array, array_of
from pinnace.framework import dtypes
from pinnace.ops.io import raw
from pinnace.proto.tensor_pb2 import TensorProto
from support.opcase import OpCase

BYTES = st.lists(st.binary(max_size=12), min_size=1, max_size=4)


def padded(x: Array, length: Array) -> Array:
    """Reference with struct, string by string."""
    size = int(length)
    rows = [
        struct.unpack(f"<{size // 2}h", (item + b"\0" * size)[:size]) for item in x.ravel().tolist()
    ]
    return np.array(rows, np.int16).reshape(*x.shape, size // 2)


def as_message(x: Array) -> Array:
    """Protobuf's own serialisation."""
    message = TensorProto(dtype=dtypes.from_numpy(x.dtype).enum)
    message.tensor_shape.SetInParent()  # TensorFlow writes the shape of a scalar, too
    for size in x.shape:
        message.tensor_shape.dim.add(size=size)
    message.tensor_content = x.tobytes()
    return one(message.SerializeToString())


def one(data: bytes) -> Array:
    out = np.empty((), object)
    out[()] = data
    return out


@st.composite
def messages(draw: st.DrawFn) -> tuple[Any, ...]:
    values = draw(st.lists(st.integers(-9, 9), max_size=4))
    message = TensorProto(dtype=dtypes.int32.enum, int_val=values)
    message.tensor_shape.dim.add(size=draw(st.integers(len(values), 6)))
    return (one(message.SerializeToString()),)


def spread(serialized: Array) -> Array:
    """The last value repeats for all that follow."""
    message = TensorProto.FromString(serialized[()])
    values = list(message.int_val) or [0]
    count = message.tensor_shape.dim[0].size
    return np.array((values + values[-1:] * count)[:count], np.int32)


CASES = [
    OpCase(
        raw.DECODE_PADDED_RAW.name,
        st.tuples(
            BYTES.map(lambda items: array_of(items, (len(items),))),
            st.sampled_from([2, 4, 6]).map(lambda n: np.array(n, np.int32)),
        ),
        padded,
        attrs={"out_type": dtypes.int16},
    ),
    OpCase(
        raw.SERIALIZE_TENSOR.name,
        st.tuples(hnp.arrays(np.int32, hnp.array_shapes(min_dims=0, min_side=0, max_side=3))),
        as_message,
    ),
    OpCase(raw.PARSE_TENSOR.name, messages(), spread, attrs={"out_type": dtypes.int32}),
]
