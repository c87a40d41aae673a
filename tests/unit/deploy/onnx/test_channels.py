"""Transposes: their number, and the results."""

import itertools
from collections.abc import Hashable

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.passes.minimum_cut import SINK, SOURCE, Network
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import NETWORKS, conv, image, op, traced, weights

# The least number: those of the input and the output, if they are images with several channels.
TRANSPOSES = {
    "classifier": 1,
    "gray": 0,
    "squeeze_and_excite": 2,
    "residual": 1,
    "branches": 2,
    "segmentation": 1,
    "channel_statistics": 1,
    "along_time": 1,
    "pointwise": 2,
    "dilated": 2,
    "any_size": 1,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_no_more_transpositions_than_needed(name: str) -> None:
    function, spec = NETWORKS[name]
    report = export(traced(function, spec))  # compared with pinnace's own outputs
    assert report.transposes <= TRANSPOSES[name] <= 2
    assert report.batches >= 2


def test_channels_first_needs_no_transposition() -> None:
    def net(x: object) -> object:
        y = op(
            "Conv2D",
            x,
            weights(3, 3, 3, 4),
            strides=(1, 1, 1, 1),
            padding="VALID",
            data_format="NCHW",
        )
        y = op("BiasAdd", y, weights(4), data_format="NCHW")
        return op("Relu", y)

    # pinnace computes NCHW too, so that both sides can be compared.
    report = export(traced(net, TensorSpec([None, 3, 8, 8], np.float32, name="x")))
    assert report.transposes == 0


def test_an_output_in_the_middle_is_transposed_once() -> None:
    def net(x: object) -> object:
        y = op("Relu", conv(x, 4))  # type: ignore[arg-type]
        return {"features": y, "again": conv(y, 3)}

    report = export(traced(net, image()))
    assert report.transposes == 3


def test_dense_weights_take_over_the_order_of_a_flattening() -> None:
    function, spec = NETWORKS["classifier"]
    model = export(traced(function, spec)).model
    kinds = [node.op_type for node in model.graph.node]
    place = kinds.index("Reshape")
    assert kinds[place - 1] == "MaxPool"
    assert kinds[place + 1] == "Gemm"


def test_values_are_declared_with_the_shapes_they_have() -> None:
    function, spec = NETWORKS["branches"]
    model = export(traced(function, spec)).model
    for info in model.graph.value_info:
        assert info.type.tensor_type.HasField("shape"), info.name
    # Strict inference fails where a declared shape is another than the inferred one.
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)


@given(data=st.data())
def test_the_cut_is_the_cheapest(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 5))
    nodes: list[Hashable] = [SOURCE, SINK, *range(count)]
    pairs = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes), st.integers(1, 9))
    edges = data.draw(st.lists(pairs.filter(lambda edge: edge[0] != edge[1]), max_size=12))
    network = Network()
    for start, end, capacity in edges:
        network.edge(start, end, capacity)
    for node in range(count):
        network.edge(node, SINK, 0)

    def cost(side: set[Hashable]) -> int:
        return sum(c for start, end, c in edges if start in side and end not in side)

    found = network.cut()
    assert SOURCE in found
    assert SINK not in found
    every = [
        {SOURCE, *chosen}
        for size in range(count + 1)
        for chosen in itertools.combinations(range(count), size)
    ]
    assert cost(found) == min(map(cost, every))
