"""Consecutive operators that become one."""

from typing import Any

import numpy as np
import pytest

from pinnace.deploy.onnx import export
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import conv, image, normalised, op, traced, weights

ROWS = TensorSpec([None, 6], np.float32, name="rows")


def kinds(function: Any, spec: TensorSpec) -> list[str]:
    return [node.op_type for node in export(traced(function, spec)).model.graph.node]


def test_bias_and_normalisation_go_into_the_convolution() -> None:
    assert kinds(lambda x: normalised(conv(x, 4)), image(channels=1)).count("Conv") == 1
    assert set(kinds(lambda x: normalised(conv(x, 4)), image(channels=1))) <= {
        "Reshape",
        "Conv",
        "Transpose",
    }


def test_a_normalisation_alone_stays() -> None:
    assert "BatchNormalization" in kinds(normalised, image())


@pytest.mark.parametrize(
    "after",
    [
        lambda y: op("Mul", y, np.float32(2)),
        lambda y: op("Mul", np.linspace(1, 2, 5).astype("f4"), y),
        lambda y: op("RealDiv", y, np.float32(4)),
        lambda y: op("Sub", y, np.linspace(1, 2, 5).astype("f4")),
        lambda y: op("Sub", np.float32(1), y),
        lambda y: op("AddV2", op("Mul", y, np.float32(3)), np.ones((1, 5), "f4")),
    ],
)
def test_constants_go_into_a_matrix_product(after: Any) -> None:
    def net(x: Any) -> Any:
        return after(op("BiasAdd", op("MatMul", x, weights(6, 5)), weights(5)))

    assert kinds(net, ROWS) == ["Gemm"]


@pytest.mark.parametrize(
    "after",
    [
        lambda y: op("RealDiv", np.float32(1), y),
        lambda y: op("Mul", y, np.ones((3, 1, 5), "f4")),  # broadcasts the result
        lambda y: op("Mul", y, np.float32(np.inf)),
    ],
)
def test_other_constants_stay(after: Any) -> None:
    def net(x: Any) -> Any:
        return after(op("MatMul", x, weights(6, 5)))

    assert len(kinds(net, ROWS)) == 2


def test_a_product_that_is_used_twice_keeps_its_weights() -> None:
    def net(x: Any) -> Any:
        y = op("MatMul", x, weights(6, 5))
        return op("AddV2", op("Mul", y, np.float32(2)), op("Relu", y))

    assert kinds(net, ROWS) == ["MatMul", "Mul", "Relu", "Add"]


def test_a_product_that_is_a_result_keeps_its_weights() -> None:
    def net(x: Any) -> Any:
        y = op("MatMul", x, weights(6, 5))
        return {"plain": y, "twice": op("Mul", y, np.float32(2))}

    assert kinds(net, ROWS) == ["MatMul", "Mul"]


def test_zeros_around_go_into_the_convolution() -> None:
    around = np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32)

    def net(x: Any) -> Any:
        return conv(op("Pad", x, around), 4, padding="VALID")

    assert "Pad" not in kinds(net, image())


def test_other_numbers_around_stay() -> None:
    around = np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32)

    def net(x: Any) -> Any:
        return conv(op("PadV2", x, around, np.float32(1)), 4, padding="VALID")

    assert "Pad" in kinds(net, image())


def test_nothing_is_computed_twice() -> None:
    def net(x: Any) -> Any:
        return op("Mul", op("Fill", op("Shape", x), np.float32(2)), op("ZerosLike", x))

    assert kinds(net, TensorSpec([None, None], np.float32, name="x")).count("Shape") == 1


def test_repeating_places_is_a_resize() -> None:
    def repeat(x: Any, axis: int) -> Any:
        sizes = [n or -1 for n in x.shape.as_list()]
        sizes[axis] *= 2
        wide = op("ExpandDims", x, np.array(axis + 1, np.int32))
        counts = np.array([2 if i == axis + 1 else 1 for i in range(5)], np.int32)
        return op("Reshape", op("Tile", wide, counts), np.array(sizes, np.int32))

    found = kinds(lambda x: conv(repeat(repeat(x, 1), 2), 2), image())
    assert found.count("Resize") == 1
    assert "Tile" not in found


def test_sizes_are_not_cast_to_and_fro() -> None:
    def net(x: Any) -> Any:
        sizes = op("Shape", x)
        begin, end, step = (np.array([n], np.int32) for n in (0, 1, 1))
        rows = op("StridedSlice", sizes, begin, end, step, shrink_axis_mask=1)
        return op("Reshape", x, op("Pack", [rows, np.int32(2), np.int32(3), np.int32(1)]))

    # One of several unknown sizes is used, in int64 throughout.
    assert "Cast" not in kinds(net, ROWS)


@pytest.mark.parametrize(
    "after",
    [
        lambda y, c: op("AddV2", op("Mul", op("AddV2", y, c), np.float32(3)), c),
        lambda y, c: op("Mul", op("AddV2", op("Mul", y, c), np.float32(1)), c),
        lambda y, c: op("AddV2", op("Mul", op("Sub", op("AddV2", y, c), c), np.float32(3)), c),
        lambda y, c: op("AddV2", op("AddV2", op("AddV2", y, c), c), c),
    ],
)
def test_one_constant_goes_into_a_product_as_often_as_it_stands_there(after: Any) -> None:
    constant = np.linspace(1, 2, 5).astype("f4")
    assert kinds(lambda x: after(op("MatMul", x, weights(6, 5)), constant), ROWS) == ["Gemm"]


@pytest.mark.parametrize(
    "idle",
    [
        lambda y: op("Mul", np.float32(1), y),
        lambda y: op("Mul", y, np.ones((1, 6), "f4")),
        lambda y: op("AddV2", y, np.zeros(6, "f4")),
        lambda y: op("Sub", y, np.float32(0)),
        lambda y: op("RealDiv", y, np.ones(6, "f4")),
    ],
)
def test_ones_and_zeros_do_nothing(idle: Any) -> None:
    assert kinds(lambda x: op("Exp", idle(op("Abs", x))), ROWS) == ["Abs", "Exp"]


@pytest.mark.parametrize(
    "busy",
    [
        lambda y: op("Sub", np.float32(0), y),
        lambda y: op("RealDiv", np.float32(1), y),
        lambda y: op("Mul", y, np.ones((2, 1, 6), "f4")),  # broadcasts the result
    ],
)
def test_others_do_something(busy: Any) -> None:
    assert len(kinds(lambda x: op("Exp", busy(op("Abs", x))), ROWS)) == 3


def test_an_axis_that_is_added_and_dropped_is_none() -> None:
    def net(x: Any) -> Any:
        rows = op("ExpandDims", op("Abs", x), np.array(0, np.int32))
        return op("Exp", op("GatherV2", rows, np.int32(0), np.int32(0)))

    assert kinds(net, ROWS) == ["Abs", "Exp"]
