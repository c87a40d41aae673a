"""Cases of core/ops/io/examples.py: Protobuf writes the messages, and parses them as reference."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.strings.joining import Array
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.proto.example_pb2 import Example
from support.opcase import OpCase

KINDS = {"n": "int64_list", "x": "float_list", "w": "bytes_list"}
# No denormals: a plan flushes them to zero, an eager op with little work does not.
FLOATS = st.floats(-100, 100, width=32, allow_subnormal=False)


def strings(*items: bytes) -> Array:
    """A vector of strings."""
    out = np.empty(len(items), object)
    out[:] = items
    return out


def text(item: bytes) -> Array:
    """A scalar string."""
    return strings(item).reshape(())


def message(features: dict[str, Any]) -> bytes:
    """An Example in bytes."""
    made = Example()
    for key, values in features.items():
        getattr(made.features.feature[key], KINDS[key]).value.extend(values)
    return made.SerializeToString()


@st.composite
def examples(draw: st.DrawFn) -> bytes:
    """Two integers, a number that may be missing, some words."""
    features: dict[str, Any] = {"n": draw(st.lists(st.integers(-9, 9), min_size=2, max_size=2))}
    if draw(st.booleans()):
        features["x"] = [draw(FLOATS)]
    if draw(st.booleans()):
        features["w"] = draw(st.lists(st.binary(max_size=4), max_size=3))
    return message(features)


KEYS: tuple[Any, ...] = ((text(b"w"),), (text(b"n"), text(b"x")))
DEFAULTS = (np.zeros(0, np.int64), np.array(0.5, np.float32))
MANY = st.lists(examples(), min_size=1, max_size=4)


def parsed(serialized: Array, *_: Any) -> tuple[Array, ...]:
    """Record by record."""
    records = [Example.FromString(item).features.feature for item in serialized]
    words = [list(one["w"].bytes_list.value) if "w" in one else [] for one in records]
    places = [(row, column) for row, some in enumerate(words) for column in range(len(some))]
    return (
        np.array(places, np.int64).reshape(-1, 2),
        strings(*[word for some in words for word in some]),
        np.array([len(records), max(map(len, words), default=0)], np.int64),
        np.array([list(one["n"].int64_list.value) for one in records], np.int64),
        np.array(
            [one["x"].float_list.value[0] if "x" in one else 0.5 for one in records], np.float32
        ),
    )


def parsed_one(serialized: Array, *_: Any) -> tuple[Array, ...]:
    """The only record."""
    places, words, shape, n, x = parsed(serialized.reshape(1))
    return places[:, 1:], words, shape[1:], n[0], x[0]


TYPES = {
    "sparse_types": (dtypes.string,),
    "Tdense": (dtypes.int64, dtypes.float32),
    "dense_shapes": (Shape([2]), Shape([])),
}
CASES = [
    OpCase(
        "ParseExample",
        MANY.map(lambda many: (strings(*many), strings(), *KEYS, DEFAULTS)),
        parsed,
        attrs=TYPES,
        differentiable=(),
    ),
    OpCase(
        "ParseExampleV2",
        MANY.map(
            lambda many: (
                strings(*many),
                strings(),
                strings(b"w"),
                strings(b"n", b"x"),
                strings(),
                DEFAULTS,
            )
        ),
        parsed,
        attrs={**TYPES, "num_sparse": 1, "ragged_value_types": (), "ragged_split_types": ()},
        differentiable=(),
    ),
    OpCase(
        "ParseSingleExample",
        examples().map(lambda one: (text(one), DEFAULTS)),
        parsed_one,
        attrs={**TYPES, "num_sparse": 1, "sparse_keys": ("w",), "dense_keys": ("n", "x")},
        differentiable=(),
    ),
]
