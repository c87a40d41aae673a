"""Cases of core/ops/io/sequence_examples.py: Protobuf writes the messages and parses them."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.io.examples import FLOATS, strings, text
from cases.strings.joining import Array
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.proto.example_pb2 import SequenceExample
from support.opcase import OpCase


@st.composite
def sequences(draw: st.DrawFn) -> bytes:
    """A count in the context, a list of pairs, a list of words that may be missing."""
    made = SequenceExample()
    if draw(st.booleans()):
        made.context.feature["n"].int64_list.value.append(draw(st.integers(-9, 9)))
    pairs = made.feature_lists.feature_list["p"]
    for pair in draw(st.lists(st.tuples(FLOATS, FLOATS), max_size=3)):
        pairs.feature.add().float_list.value.extend(pair)
    if draw(st.booleans()):
        for step in draw(st.lists(st.lists(st.binary(max_size=3), max_size=2), max_size=3)):
            made.feature_lists.feature_list["w"].feature.add().bytes_list.value.extend(step)
    return made.SerializeToString()


def parsed(serialized: Array, *_: Any) -> tuple[Array, ...]:
    """Record by record, step by step."""
    records = [SequenceExample.FromString(item) for item in serialized]
    counts = [
        one.context.feature["n"].int64_list.value[0] if "n" in one.context.feature else -1
        for one in records
    ]
    places, words, widths = [], [], [0]
    for row, one in enumerate(records):
        for step, feature in enumerate(one.feature_lists.feature_list["w"].feature):
            widths.append(len(feature.bytes_list.value))
            places += [(row, step, place) for place in range(widths[-1])]
            words += list(feature.bytes_list.value)
    steps = [one.feature_lists.feature_list["w"].feature for one in records]
    pairs = [
        [list(feature.float_list.value) for feature in one.feature_lists.feature_list["p"].feature]
        for one in records
    ]
    longest = max(map(len, pairs))
    padded = [some + [[0.0, 0.0]] * (longest - len(some)) for some in pairs]
    return (
        np.array(counts, np.int64),
        np.array(places, np.int64).reshape(-1, 3),
        strings(*words),
        np.array([len(records), max(map(len, steps)), max(widths)], np.int64),
        np.array(padded, np.float32).reshape(len(records), longest, 2),
        np.array(list(map(len, pairs)), np.int64),
    )


def parsed_one(serialized: Array, *_: Any) -> tuple[Array, ...]:
    """The only record; its shape gives the length of its list."""
    count, places, words, shape, pairs, _lengths = parsed(serialized.reshape(1))
    return count[0], places[:, 1:], words, shape[1:], pairs[0]


TYPES = {
    "Tcontext_dense": (dtypes.int64,),
    "context_dense_shapes": (Shape([]),),
    "context_sparse_types": (),
    "feature_list_sparse_types": (dtypes.string,),
    "feature_list_dense_types": (dtypes.float32,),
    "feature_list_dense_shapes": (Shape([2]),),
}
DEFAULTS = (np.array(-1, np.int64),)
CASES = [
    OpCase(
        "ParseSequenceExample",
        st.lists(sequences(), min_size=1, max_size=3).map(
            lambda many: (strings(*many), strings(), DEFAULTS)
        ),
        parsed,
        attrs={
            **TYPES,
            "feature_list_dense_missing_assumed_empty": ("p",),
            "context_sparse_keys": (),
            "context_dense_keys": ("n",),
            "feature_list_sparse_keys": ("w",),
            "feature_list_dense_keys": ("p",),
            "Ncontext_sparse": 0,
            "Ncontext_dense": 1,
            "Nfeature_list_sparse": 1,
            "Nfeature_list_dense": 1,
        },
        differentiable=(),
    ),
    OpCase(
        "ParseSingleSequenceExample",
        sequences().map(
            lambda one: (
                text(one),
                strings(b"p"),
                (),
                (text(b"n"),),
                (text(b"w"),),
                (text(b"p"),),
                DEFAULTS,
                text(b""),
            )
        ),
        parsed_one,
        attrs=TYPES,
        differentiable=(),
    ),
]
