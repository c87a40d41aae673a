"""Errors of array ops name the op, the argument and the numbers, eager and traced."""

from collections.abc import Callable
from typing import Any

import pytest

import pinnace as tf
from pinnace.ops import array
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def _op(name: str, *arguments: Any, **attrs: Any) -> Any:
    return execute(lookup(name), *arguments, **attrs)


# A call on x: float32[2, 3], and its message.
REFUSED: list[tuple[Callable[[Any], Any], list[str]]] = [
    (lambda x: array.reshape(x, [4, 2]), ["Reshape", "6 values", "[4, 2]", "8"]),
    (lambda x: array.reshape(x, [4, -1]), ["Reshape", "6 elements", "no multiple of 4"]),
    (lambda x: array.reshape(x, [-2, 3]), ["Reshape", "size 0 must be non-negative, not -2"]),
    (lambda x: array.reshape(x, [0, -1]), ["Reshape", "[0, -1]"]),
    (lambda x: array.expand_dims(x, 3), ["ExpandDims", "[-3, 3), got 3"]),
    (lambda x: array.squeeze(x, [0]), ["Squeeze", "axis 0 must be of size 1, got 2"]),
    (lambda x: array.squeeze(x, [2]), ["Squeeze", "[-2, 2), got 2"]),
    (lambda x: array.transpose(x, [0, 0]), ["Transpose", "every axis", "[0, 0]"]),
    (lambda x: array.transpose(x, [0]), ["Transpose", "every axis"]),
    (lambda x: array.broadcast_to(x, [2, 4]), ["BroadcastTo", "[2, 4]", "[2, 3]"]),
    (lambda x: array.ensure_shape(x, [3, None]), ["EnsureShape", "[3, ?]", "[2, 3]"]),
    (lambda x: array.concat([x, array.ones([3, 2])], 0), ["ConcatV2", "except along axis 0"]),
    (lambda x: array.concat([x, x], 2), ["ConcatV2", "[-2, 2), got 2"]),
    (lambda x: array.stack([x, array.ones([3, 2])]), ["Pack", "one shape"]),
    (lambda x: array.stack([x, x], 4), ["Pack", "[-3, 3), got 4"]),
    (lambda x: _op("Unpack", x, num=3), ["Unpack", "num must be the size of axis 0, got 3 and 2"]),
    (lambda x: array.split(x, 2, 1), ["Split", "axis 1 must be a multiple", "got 3 and 2"]),
    (lambda x: array.split(x, [1, 1], 1), ["SplitV", "add up to axis 1", "3"]),
    (lambda x: array.tile(x, [1, 2, 3]), ["Tile", "one number per axis"]),
    (lambda x: array.slice(x, [0, 2], [1, 2]), ["Slice", "axis 1", "[0, 3]"]),
    (lambda x: array.gather(x, 0, axis=2), ["GatherV2", "[-2, 2), got 2"]),
    (lambda x: array.gather_nd(x, [[0, 0, 0]]), ["GatherNd", "longer than the rank", "3 and 2"]),
    (lambda x: array.scatter_nd([[0]], x, [4, 2]), ["ScatterNd", "updates must have shape"]),
    (lambda x: array.tensor_scatter_nd_add(x, [[0]], [1.0]), ["TensorScatterAdd", "[1, 3]"]),
    (lambda x: array.pad(x, [[1, 1]]), ["Pad", "a pair of numbers per axis"]),
    (lambda x: array.pad(x, [[2, 0], [0, 0]], "REFLECT"), ["MirrorPad", "axis 0", "at most 1"]),
    (lambda x: array.reverse(x, [0, -2]), ["ReverseV2", "distinct"]),
    (lambda x: array.reverse_sequence(x, [1], 1, 0), ["ReverseSequence", "one length per part"]),
    (lambda x: array.roll(x, [1], [0, 1]), ["Roll", "must have the same size"]),
    (lambda x: array.top_k(x, 4), ["top_k", "4"]),
    (lambda _: array.one_hot([1], -1), ["OneHot", "depth", "-1"]),
    (lambda x: array.dynamic_partition(x, [0, 1, 0], 2), ["DynamicPartition", "begin with"]),
    (lambda x: array.space_to_batch(x, [2], [[0, 0]]), ["SpaceToBatchND", "got 3 and 2"]),
    (lambda x: array.batch_to_space(x, [4], [[0, 0]]), ["BatchToSpaceND", "got 2 and 4"]),
    (lambda x: array.space_to_depth(x, 2), ["SpaceToDepth", "four axes"]),
    (lambda x: array.unique(x), ["nique", "vector"]),
    (lambda x: array.bitcast(x, "float64"), ["Bitcast", "last axis", "2"]),
    (lambda x: array.cast(x, "string"), ["Cast", "DstT"]),
    (lambda x: array.where(x, x, x), ["SelectV2", "condition must be one of bool, got float32"]),
    (lambda x: array.where([True] * 4, x, x), ["SelectV2", "broadcast"]),
    (lambda x: _op("Select", [True] * 3, x, x), ["Select", "one entry per row"]),
]
# The error depends on values, so that a graph raises it only when it runs.
REFUSED_BY_VALUE: list[tuple[Callable[[Any], Any], list[str]]] = [
    (
        lambda x: array.gather(x, [[0, 2]]),
        ["GatherV2", "indices[0, 1] = 2 is not in [0, 2)", "axis 0"],
    ),
    (
        lambda x: array.gather(x, -1, axis=1),
        ["GatherV2", "indices[] = -1 is not in [0, 3)", "axis 1"],
    ),
    (lambda x: array.gather_nd(x, [[0, 0], [1, 3]]), ["GatherNd", "indices[1] = [1, 3]", "[2, 3]"]),
    # TensorFlow refuses any gather from an empty array, also with empty indices.
    (
        lambda x: array.gather_nd(x[:, :0], [[0], [1]]),
        ["GatherNd", "params is empty: shape [2, 0]"],
    ),
    (
        lambda x: array.gather_nd(x[:0], tf.zeros([1, 0], tf.int32)),
        ["GatherNd", "params is empty: shape [0, 3]"],
    ),
    (
        lambda x: array.gather_nd(x[:0], [0], bad_indices_policy="IGNORE"),
        ["GatherNd", "params is empty"],
    ),
    (
        lambda x: array.tensor_scatter_nd_update(x[:, :0], [[0]], x[:1, :0]),
        ["TensorScatterUpdate", "for empty output shape [2, 0]"],
    ),
    (
        lambda x: array.scatter_nd([[0]], x[:1, :0], [2, 0], bad_indices_policy="IGNORE"),
        ["ScatterNd", "for empty output shape [2, 0]"],
    ),
    (
        lambda x: array.tensor_scatter_nd_update(x, [[2]], x[:1]),
        ["TensorScatterUpdate", "[2]", "[2, 3]"],
    ),
    (
        lambda x: array.dynamic_partition(x, [0, 2], 2),
        ["DynamicPartition", "partitions[1] = 2 is not in [0, 2)"],
    ),
    (lambda _: array.invert_permutation([0, 0]), ["InvertPermutation", "1 is missing"]),
    (lambda x: array.check_numerics(x / 0.0, "loss"), ["CheckNumerics", "loss", "Inf"]),
    (lambda x: array.reverse_sequence(x, [1, 4], 1, 0), ["ReverseSequence", "[0, 3]", "[1, 4]"]),
    (lambda _: array.unravel_index(6, [2, 3]), ["UnravelIndex", "[0, 6)", "6"]),
]


def _says(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("call", "words"), REFUSED + REFUSED_BY_VALUE)
def test_eager(call: Callable[[Any], Any], words: list[str]) -> None:
    _says(lambda: call(tf.constant(X)), words)


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_while_tracing(call: Callable[[Any], Any], words: list[str]) -> None:
    @tf.function(input_signature=[tf.TensorSpec([2, 3])])
    def f(x: Any) -> Any:
        return call(x)

    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)) as caught:
        f.get_concrete_function()
    assert words[0].removeprefix("top_k") in str(caught.value)


@pytest.mark.parametrize(("call", "words"), REFUSED + REFUSED_BY_VALUE)
def test_when_a_graph_of_unknown_shapes_runs(call: Callable[[Any], Any], words: list[str]) -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x: Any) -> Any:
        return call(x)

    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)) as caught:
        f(tf.constant(X))
    assert words[0].removeprefix("top_k") in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: array.stack([]), "stack: values must hold at least one tensor"),
        (lambda: array.where([True], [1]), "both or neither"),
        (lambda: array.boolean_mask([1, 2], True), "at least one axis"),
        (lambda: array.boolean_mask([1, 2], [True]), "the shape of axes 0 to 0"),
        (lambda: array.sort([1], direction="up"), "'ASCENDING' or 'DESCENDING', got 'up'"),
        (lambda: array.sort([1], axis=1), r"sort: axis must be in \[-1, 1\), got 1"),
        (lambda: array.searchsorted([1], [1], side="middle"), "side must be"),
        (lambda: array.meshgrid([1], indexing="ab"), "'xy' or 'ij', got 'ab'"),
        (lambda: array.pad([1], [[0, 1]], "WRAP"), "CONSTANT, REFLECT or SYMMETRIC, got 'WRAP'"),
        (lambda: array.repeat([1, 2, 3], [1, 2]), "one number per part"),
    ],
)
def test_functions_refuse_in_their_own_name(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_a_refused_gradient_says_the_reason() -> None:
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = array.prevent_gradient(x, "not here")
    with pytest.raises(LookupError, match="not here"):
        tape.gradient(y, x)


def test_rows_of_a_variable_without_elements_cannot_be_added_to_either() -> None:
    v = tf.Variable(tf.zeros([2, 0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"NdAdd.*empty output"):
        v.scatter_nd_add([[0]], tf.zeros([1, 0]))
    assert v.scatter_nd_add(tf.zeros([0, 1], tf.int32), tf.zeros([0, 0])).shape == (2, 0)
