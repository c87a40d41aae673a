"""The objects of a checkpoint: keys, encoding and decoding."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.checkpoint.keys import OBJECT_GRAPH_KEY, checkpoint_key
from pinnace.checkpoint.object_graph import (
    ObjectGraph,
    ObjectNode,
    SlotVariable,
    StoredTensor,
    decode_object_graph,
    encode_object_graph,
    parse_object_graph,
)
from pinnace.framework.errors import DataLossError, OpError
from pinnace.proto.checkpoint_pb2 import TrackableObjectGraph
from pinnace.storage.bundle import BundleReader

GOLDEN = Path(__file__).parents[2] / "golden" / "bundles"
WORDS = st.text("ab./", min_size=1, max_size=4)


@st.composite
def graphs(draw: st.DrawFn) -> ObjectGraph:
    count = draw(st.integers(1, 5))
    number = st.integers(0, count - 1)
    return tuple(
        ObjectNode(
            draw(st.lists(st.tuples(WORDS, number), max_size=3).map(tuple)),
            draw(st.lists(st.builds(StoredTensor, WORDS, WORDS, WORDS), max_size=2).map(tuple)),
            draw(st.lists(st.builds(SlotVariable, number, WORDS, number), max_size=2).map(tuple)),
        )
        for _ in range(count)
    )


@given(graphs())
def test_objects_come_back(graph: ObjectGraph) -> None:
    message = TrackableObjectGraph.FromString(encode_object_graph(graph).SerializeToString())
    assert decode_object_graph(message, "here") == graph


def test_an_object_says_whether_there_are_values_below_it() -> None:
    value = StoredTensor("VARIABLE_VALUE", "a/.ATTRIBUTES/VARIABLE_VALUE")
    graph = (ObjectNode((("a", 1), ("b", 2))), ObjectNode((("up", 0),), (value,)), ObjectNode())
    message = encode_object_graph(graph)
    assert [node.has_checkpoint_values.value for node in message.nodes] == [True, True, False]


@pytest.mark.parametrize("name", ["counter", "keras_mlp", "dtypes", "lookup_assets"])
def test_objects_of_tensorflow_are_written_as_they_were_read(name: str) -> None:
    data = BundleReader(GOLDEN / name).read(OBJECT_GRAPH_KEY)[()]
    assert encode_object_graph(parse_object_graph(data, name)) == TrackableObjectGraph.FromString(
        data
    )


def test_names_are_escaped_in_keys() -> None:
    assert checkpoint_key(["d", "x/y"]) == "d/x.Sy/.ATTRIBUTES/VARIABLE_VALUE"
    assert checkpoint_key(["d", "p.q"], "table") == "d/p..q/.ATTRIBUTES/table"


@pytest.mark.parametrize("number", [-1, 1, 1 << 20])
def test_a_number_that_is_no_object_is_refused(number: int) -> None:
    for node in (ObjectNode((("a", number),)), ObjectNode(slots=(SlotVariable(0, "m", number),))):
        with pytest.raises(DataLossError, match=f"here: object 0 refers to object {number}"):
            decode_object_graph(encode_object_graph((node,)), "here")


@given(st.binary(max_size=40))
def test_garbage_is_objects_or_one_error(data: bytes) -> None:
    try:
        parse_object_graph(data, "here")
    except OpError as error:
        assert "here" in str(error)  # noqa: PT017 (objects are fine too)
