"""Gradients of array ops: finite differences, eagerly and traced with unknown shapes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.ops import array
from pinnace.ops.execute import execute

Function = Callable[..., Any]
RNG = np.random.default_rng(7)


def _numbers(*shape: int) -> np.ndarray[Any, Any]:
    # Distinct, well separated values: no kinks.
    count = int(np.prod(shape))
    return (RNG.permutation(count) - count / 2 + RNG.uniform(-0.2, 0.2, count)).reshape(shape)


def _op(name: str, *arguments: Any, **attrs: Any) -> Any:
    from pinnace.ops.registry import lookup

    return execute(lookup(name), *arguments, **attrs)


I32 = np.int32
CASES: list[tuple[str, Function, list[tuple[int, ...]]]] = [
    ("reshape", lambda x: array.reshape(x, [3, -1]), [(2, 3, 2)]),
    ("expand_dims", lambda x: array.expand_dims(x, -2), [(2, 3)]),
    ("squeeze", lambda x: array.squeeze(x, [1]), [(2, 1, 3)]),
    ("transpose", lambda x: array.transpose(x, [2, 0, 1]), [(2, 3, 4)]),
    ("transpose_all", lambda x: array.transpose(x), [(2, 3, 4)]),
    ("broadcast_to", lambda x: array.broadcast_to(x, [4, 2, 3]), [(2, 1)]),
    ("identity", array.identity, [(3,)]),
    ("identity_n", lambda x, y: array.identity_n([x, y]), [(3,), (2, 2)]),
    ("snapshot", lambda x: _op("Snapshot", x), [(3,)]),
    ("ensure_shape", lambda x: array.ensure_shape(x, [None, 2]), [(3, 2)]),
    ("check_numerics", lambda x: array.check_numerics(x, "m"), [(3,)]),
    ("cast", lambda x: array.cast(array.cast(x, tf.complex128), tf.float64), [(3, 2)]),
    ("where", lambda x, y: array.where([[True], [False]], x, y), [(2, 3), (3,)]),
    ("select", lambda x, y: _op("Select", np.array([True, False]), x, y), [(2, 3), (2, 3)]),
    ("boolean_mask", lambda x: array.boolean_mask(x, [True, False, True]), [(3, 2)]),
    (
        "boolean_mask_2d",
        lambda x: array.boolean_mask(x, [[True, False, True]] * 2, axis=1),
        [(2, 2, 3, 2)],
    ),
    ("concat", lambda x, y: array.concat([x, y, x], 1), [(2, 3), (2, 1)]),
    ("concat_negative", lambda x, y: array.concat([x, y], -1), [(2, 3), (2, 1)]),
    ("concat_v1", lambda x, y: _op("Concat", 1, [x, y]), [(2, 3), (2, 1)]),
    ("stack", lambda x, y: array.stack([x, y], -1), [(2, 3), (2, 3)]),
    ("unstack", lambda x: _op("Unpack", x, num=3, axis=1), [(2, 3)]),
    ("unstack_part", lambda x: _op("Unpack", x, num=3, axis=1)[1], [(2, 3)]),
    ("split", lambda x: array.split(x, 3, axis=1), [(2, 6)]),
    ("split_part", lambda x: array.split(x, [1, -1, 2], axis=-1)[1], [(2, 6)]),
    ("tile", lambda x: array.tile(x, [2, 1, 3]), [(2, 3, 2)]),
    ("repeat", lambda x: array.repeat(x, [1, 0, 2], axis=1), [(2, 3)]),
    ("repeat_alike", lambda x: array.repeat(x, 3, axis=0), [(2, 3)]),
    ("getitem", lambda x: x[1, ..., None, ::-2], [(2, 3, 4)]),
    ("getitem_tensors", lambda x: x[tf.constant(1), : tf.constant(2)], [(2, 3, 4)]),
    ("slice", lambda x: array.slice(x, [0, 1], [2, -1]), [(2, 3)]),
    ("gather", lambda x: array.gather(x, [[2, 0, 2]]), [(3, 2)]),
    ("gather_axis", lambda x: array.gather(x, [[2, 0, 2]], axis=1), [(2, 3, 2)]),
    ("gather_last", lambda x: array.gather(x, [1, 1], axis=-1), [(2, 3)]),
    ("gather_scalar", lambda x: array.gather(x, 1, axis=1), [(2, 3)]),
    (
        "gather_batch",
        lambda x: array.gather(x, [[2, 0, 2, 1], [1, 1, 0, 0]], axis=2, batch_dims=1),
        [(2, 2, 3, 2)],
    ),
    (
        "gather_batches",
        lambda x: array.gather(x, [[[0], [1]], [[2], [2]]], batch_dims=2),
        [(2, 2, 3)],
    ),
    ("gather_v1", lambda x: _op("Gather", x, np.array([2, 0, 2])), [(3, 2)]),
    ("gather_nd", lambda x: array.gather_nd(x, [[0, 1], [1, 2], [0, 1]]), [(2, 3, 2)]),
    ("gather_nd_rows", lambda x: array.gather_nd(x, [[1], [1]]), [(2, 3)]),
    (
        "gather_nd_batch",
        lambda x: array.gather_nd(x, [[[0], [1]], [[2], [2]]], batch_dims=1),
        [(2, 3, 2)],
    ),
    ("scatter_nd", lambda x: array.scatter_nd([[1], [3], [1]], x, [5, 2]), [(3, 2)]),
    (
        "tensor_scatter_nd_update",
        lambda x, y: array.tensor_scatter_nd_update(x, [[1], [3]], y),
        [(5, 2), (2, 2)],
    ),
    (
        "tensor_scatter_nd_add",
        lambda x, y: array.tensor_scatter_nd_add(x, [[1], [1]], y),
        [(5, 2), (2, 2)],
    ),
    (
        "tensor_scatter_nd_sub",
        lambda x, y: array.tensor_scatter_nd_sub(x, [[1], [1]], y),
        [(5, 2), (2, 2)],
    ),
    (
        "tensor_scatter_nd_max",
        lambda x, y: array.tensor_scatter_nd_max(x, [[1], [3]], y),
        [(5, 2), (2, 2)],
    ),
    (
        "tensor_scatter_nd_min",
        lambda x, y: array.tensor_scatter_nd_min(x, [[1], [3]], y),
        [(5, 2), (2, 2)],
    ),
    ("pad", lambda x: array.pad(x, [[1, 0], [2, 3]]), [(2, 3)]),
    ("pad_v2", lambda x: array.pad(x, [[1, 0], [2, 3]], constant_values=4), [(2, 3)]),
    ("reflect", lambda x: array.pad(x, [[1, 0], [2, 1]], "REFLECT"), [(2, 3)]),
    ("symmetric", lambda x: array.pad(x, [[2, 0], [2, 3]], "symmetric"), [(2, 3)]),
    (
        "mirror_pad_grad",
        lambda x: _op("MirrorPadGrad", x, [[2, 0], [1, 2]], mode="SYMMETRIC"),
        [(4, 6)],
    ),
    ("reverse", lambda x: array.reverse(x, [0, -1]), [(2, 3)]),
    (
        "reverse_sequence",
        lambda x: array.reverse_sequence(x, [2, 3], seq_axis=1, batch_axis=0),
        [(2, 3, 2)],
    ),
    ("roll", lambda x: array.roll(x, [1, -2], [0, 1]), [(3, 4)]),
    ("sort", lambda x: array.sort(x), [(2, 5)]),
    ("sort_axis", lambda x: array.sort(x, axis=0, direction="DESCENDING"), [(4, 2)]),
    ("top_k", lambda x: array.top_k(x, 2)[0], [(2, 3, 4)]),
    ("top_k_vector", lambda x: array.top_k(x, 2)[0], [(4,)]),
    ("partition", lambda x: array.dynamic_partition(x, [0, 1, 0], 2), [(3, 2)]),
    ("partition_part", lambda x: array.dynamic_partition(x, [0, 1, 0], 2)[0], [(3, 2)]),
    ("stitch", lambda x, y: array.dynamic_stitch([[2, 0], [1]], [x, y]), [(2, 2), (1, 2)]),
    (
        "space_to_batch",
        lambda x: array.space_to_batch(x, [2, 3], [[1, 0], [1, 2]]),
        [(2, 3, 3, 2)],
    ),
    ("batch_to_space", lambda x: array.batch_to_space(x, [2, 2], [[0, 1], [1, 0]]), [(8, 2, 2, 2)]),
    (
        "space_to_batch_2d",
        lambda x: _op("SpaceToBatch", x, [[0, 0]] * 2, block_size=2),
        [(1, 4, 4, 1)],
    ),
    (
        "batch_to_space_2d",
        lambda x: _op("BatchToSpace", x, [[0, 1]] * 2, block_size=2),
        [(4, 2, 2, 1)],
    ),
    ("space_to_depth", lambda x: array.space_to_depth(x, 2), [(2, 4, 2, 3)]),
    ("depth_to_space", lambda x: array.depth_to_space(x, 2), [(2, 1, 2, 8)]),
    ("depth_to_space_nchw", lambda x: array.depth_to_space(x, 2, "NCHW"), [(2, 8, 1, 2)]),
    ("fill", lambda x: array.fill([2, 3], x), [()]),
    ("meshgrid", lambda x, y: array.meshgrid(x, y), [(2,), (3,)]),
]


def _flat(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _gradients(function: Function, xs: list[Any], dys: list[Any]) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(xs)
        ys = _flat(function(*xs))
    found = tape.gradient(ys, xs, output_gradients=dys)
    return [None if g is None else tf.convert_to_tensor(g) for g in found]


@pytest.mark.parametrize(("function", "shapes"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_gradient_is_the_finite_difference(
    function: Function, shapes: list[tuple[int, ...]]
) -> None:
    xs = [_numbers(*shape) for shape in shapes]
    dxs = [RNG.standard_normal(shape) for shape in shapes]
    ys = [np.asarray(y) for y in _flat(function(*map(tf.constant, xs)))]
    dys = [RNG.standard_normal(y.shape) for y in ys]
    step = 1e-6
    ahead, behind = (
        [
            np.asarray(y)
            for y in _flat(
                function(*[tf.constant(x + h * d) for x, d in zip(xs, dxs, strict=True)])
            )
        ]
        for h in (step, -step)
    )
    numeric = sum(np.sum(dy * (a - b)) for dy, a, b in zip(dys, ahead, behind, strict=True)) / (
        2 * step
    )
    found = _gradients(function, [tf.constant(x) for x in xs], [tf.constant(dy) for dy in dys])
    for x, dx in zip(xs, found, strict=True):
        assert dx.shape == x.shape
        assert dx.dtype is tf.float64
    exact = sum(np.sum(g.numpy() * d) for g, d in zip(found, dxs, strict=True))
    np.testing.assert_allclose(exact, numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("known", ["shape", "rank", "nothing"])
@pytest.mark.parametrize(("function", "shapes"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_traced_with_unknown_shapes_is_eager(
    function: Function, shapes: list[tuple[int, ...]], known: str, request: pytest.FixtureRequest
) -> None:
    case = request.node.callspec.id.split("-")[0]
    if known == "nothing" and case in NEEDS_RANK:
        pytest.skip("needs the rank, as in TensorFlow or by a message")
    xs = [tf.constant(_numbers(*shape)) for shape in shapes]
    ys = _flat(function(*xs))
    dys = [tf.constant(RNG.standard_normal(y.shape)) for y in ys]
    specs = []
    for shape in shapes:
        what: Any = {"shape": shape, "rank": [None] * len(shape), "nothing": None}[known]
        specs.append(tf.TensorSpec(what, tf.float64))
    seen = []

    @tf.function(input_signature=specs)
    def forward(*arguments: Any) -> Any:
        outputs = _flat(function(*arguments))
        seen.append([y.shape for y in outputs])
        return outputs

    @tf.function(input_signature=specs)
    def backward(*arguments: Any) -> Any:
        return _gradients(function, list(arguments), dys)

    traced = forward(*xs)
    for y, z, shape in zip(ys, traced, seen[0], strict=True):
        np.testing.assert_array_equal(y.numpy(), z.numpy())
        assert shape.is_compatible_with(y.shape)
        if known == "shape" and case not in DATA_DEPENDENT:
            assert shape == y.shape
    expected = _gradients(function, xs, dys)
    for dx, dz in zip(expected, backward(*xs), strict=True):
        np.testing.assert_allclose(dx.numpy(), dz.numpy(), rtol=1e-12)


# Their shapes depend on values.
DATA_DEPENDENT = {
    "boolean_mask",
    "boolean_mask_2d",
    "repeat",
    "partition",
    "partition_part",
    "stitch",
}
NEEDS_RANK = {"repeat", "repeat_alike", "sort_axis"}


def test_what_no_slice_covers_is_empty_text() -> None:
    found = tf.raw_ops.StridedSliceGrad(
        shape=[3], begin=[0], end=[1], strides=[1], dy=np.array([b"a"], object)
    )
    assert found.numpy().tolist() == [b"a", b"", b""]
