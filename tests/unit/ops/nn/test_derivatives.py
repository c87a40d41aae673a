"""First and second derivatives of every differentiable function of `nn`, by finite differences."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pinnace.autodiff.tape import GradientTape
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import function
from pinnace.ops import nn
from pinnace.ops.array import permutations
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup

Array = npt.NDArray[Any]
STEP = 1e-5


def drawn(*shape: int, seed: int = 0, away: float = 0.0) -> Array:
    """Normal numbers, at least `away` from 0 and from each other."""
    x = np.random.default_rng(seed).standard_normal(shape)
    return x + np.sign(x) * away


def spread(*shape: int) -> Array:
    """Numbers that differ by more than a step, so that maxima do not move."""
    count = int(np.prod(shape))
    return np.random.default_rng(7).permutation(count).reshape(shape) / count * 4 - 2


def probabilities(*shape: int) -> Array:
    p = np.abs(drawn(*shape, seed=9)) + 0.1
    return p / p.sum(-1, keepdims=True)


def batch_norm(x: Any, scale: Any, offset: Any, *, training: bool) -> Any:
    """Batch norm in float64, which the op does not support, from basic functions."""
    if training:
        mean, variance = nn.moments(x, [0, 1, 2])
    else:
        mean, variance = np.array([0.1, -0.2, 0.3]), np.array([0.5, 1.5, 2.0])
    return nn.batch_normalization(x, mean, variance, offset, scale, 0.01)


X4 = drawn(2, 5, 4, 3)
CASES: dict[str, tuple[Callable[..., Any], list[Array]]] = {
    "relu": (nn.relu, [drawn(3, 4, away=0.1)]),
    "relu6": (nn.relu6, [drawn(3, 4, away=0.1) * 4]),
    "leaky_relu": (nn.leaky_relu, [drawn(3, 4, away=0.1)]),
    "steep leaky_relu": (partial(nn.leaky_relu, alpha=1.5), [drawn(3, 4, away=0.1)]),
    "crelu": (nn.crelu, [drawn(3, 4, away=0.1)]),
    "elu": (nn.elu, [drawn(3, 4, away=0.1)]),
    "selu": (nn.selu, [drawn(3, 4, away=0.1)]),
    "softplus": (nn.softplus, [drawn(3, 4) * 3]),
    "softsign": (nn.softsign, [drawn(3, 4, away=0.1)]),
    "gelu": (nn.gelu, [drawn(3, 4) * 2]),
    "gelu by tanh": (partial(nn.gelu, approximate=True), [drawn(3, 4) * 2]),
    "silu": (nn.silu, [drawn(3, 4) * 2]),
    "softmax": (nn.softmax, [drawn(3, 4)]),
    "softmax of the first axis": (partial(nn.softmax, axis=0), [drawn(3, 4, 2)]),
    "log_softmax": (nn.log_softmax, [drawn(3, 4)]),
    "bias_add": (nn.bias_add, [drawn(2, 3, 4), drawn(4, seed=1)]),
    "bias_add NCHW": (
        partial(nn.bias_add, data_format="NCHW"),
        [drawn(2, 3, 4), drawn(3, seed=1)],
    ),
    "conv1d": (partial(nn.conv1d, stride=2, padding="SAME"), [drawn(2, 5, 3), drawn(3, 3, 2)]),
    "conv2d": (
        partial(nn.conv2d, strides=[2, 1], padding="SAME"),
        [X4, drawn(3, 2, 3, 2, seed=1)],
    ),
    "conv2d in groups, dilated": (
        partial(nn.conv2d, strides=1, padding="VALID", dilations=2),
        [drawn(1, 5, 5, 4), drawn(2, 2, 2, 4, seed=1)],
    ),
    "conv2d NCHW, explicit": (
        partial(
            nn.conv2d,
            strides=1,
            padding=[[0, 0], [0, 0], [1, 0], [0, 2]],
            data_format="NCHW",
        ),
        [drawn(1, 2, 4, 3), drawn(2, 2, 2, 3, seed=1)],
    ),
    "conv2d_transpose": (
        partial(nn.conv2d_transpose, output_shape=[2, 6, 5, 2], strides=2),
        [drawn(2, 3, 3, 4), drawn(3, 2, 2, 4, seed=1)],
    ),
    "conv3d": (
        partial(nn.conv3d, strides=1, padding="SAME"),
        [drawn(1, 3, 4, 3, 2), drawn(2, 2, 2, 2, 3, seed=1)],
    ),
    "depthwise_conv2d": (
        partial(nn.depthwise_conv2d, strides=[1, 2, 2, 1], padding="SAME"),
        [X4, drawn(3, 2, 3, 2, seed=1)],
    ),
    "separable_conv2d": (
        partial(nn.separable_conv2d, strides=[1, 1, 1, 1], padding="VALID"),
        [X4, drawn(2, 2, 3, 1, seed=1), drawn(1, 1, 3, 2, seed=2)],
    ),
    "max_pool1d": (partial(nn.max_pool, ksize=3, strides=2, padding="SAME"), [spread(2, 7, 3)]),
    "max_pool2d": (partial(nn.max_pool, ksize=2, strides=1, padding="VALID"), [spread(2, 4, 3, 2)]),
    "max_pool2d NCHW": (
        partial(nn.max_pool2d, ksize=2, strides=2, padding="SAME", data_format="NCHW"),
        [spread(2, 2, 3, 5)],
    ),
    "max_pool of channels": (
        partial(nn.max_pool2d, ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding="VALID"),
        [spread(2, 2, 3, 4)],
    ),
    "max_pool3d": (
        partial(nn.max_pool, ksize=2, strides=2, padding="SAME"),
        [spread(1, 3, 4, 2, 2)],
    ),
    "max_pool_with_argmax": (
        lambda x: nn.max_pool_with_argmax(x, 2, 1, "SAME")[0],
        [spread(2, 3, 3, 2)],
    ),
    "avg_pool2d": (partial(nn.avg_pool, ksize=[3, 2], strides=2, padding="SAME"), [X4]),
    "avg_pool3d": (
        partial(nn.avg_pool, ksize=2, strides=1, padding="VALID"),
        [drawn(1, 3, 3, 2, 2)],
    ),
    "dilated pool": (
        lambda x: nn.pool(x, [2, 2], "AVG", dilations=[2, 3]),
        [drawn(1, 5, 7, 2)],
    ),
    "moments": (lambda x: nn.moments(x, [0, 1])[1], [drawn(3, 4, 2)]),
    "batch_norm while training": (
        partial(batch_norm, training=True),
        [X4, drawn(3, seed=1), drawn(3, seed=2)],
    ),
    "l2_normalize": (partial(nn.l2_normalize, axis=-1), [drawn(3, 4)]),
    "softmax cross entropy": (
        lambda x, p: nn.softmax_cross_entropy_with_logits(p, x),
        [drawn(4, 3), probabilities(4, 3)],
    ),
    "softmax cross entropy of axis 1": (
        lambda x, p: nn.softmax_cross_entropy_with_logits(p, x, axis=1),
        [drawn(2, 3, 2), np.swapaxes(probabilities(2, 2, 3), 1, 2)],
    ),
    "sparse softmax cross entropy": (
        lambda x: nn.sparse_softmax_cross_entropy_with_logits([[0, 2], [1, 1]], x),
        [drawn(2, 2, 3)],
    ),
    "sigmoid cross entropy": (
        lambda x, p: nn.sigmoid_cross_entropy_with_logits(p, x),
        [drawn(4, 3), probabilities(4, 3)],
    ),
    "weighted cross entropy": (
        lambda x, p: nn.weighted_cross_entropy_with_logits(p, x, 2.5),
        [drawn(4, 3, away=0.1), probabilities(4, 3)],
    ),
    "full log_poisson_loss": (
        lambda x, t: nn.log_poisson_loss(t, x, compute_full_loss=True),
        [drawn(3, 4), np.abs(drawn(3, 4, seed=1)) * 4 + 1.5],
    ),
    "l2_loss": (nn.l2_loss, [drawn(3, 4)]),
    "embedding_lookup": (lambda t: nn.embedding_lookup(t, [[0, 2], [2, 2]]), [drawn(4, 3)]),
    "embedding_lookup with max_norm": (
        lambda t: nn.embedding_lookup(t, [0, 2, 2], max_norm=0.5),
        [drawn(4, 3)],
    ),
}
every_case = pytest.mark.parametrize("name", CASES)


def gradients(f: Callable[..., Any], xs: list[Any], dy: Array) -> list[Any]:
    """The gradients of the sum of dy * f(*xs)."""
    with GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    found = tape.gradient(y, xs, output_gradients=[convert_to_tensor(dy)])
    return [x * 0.0 if g is None else convert_to_tensor(g) for g, x in zip(found, xs, strict=True)]


def difference(f: Callable[..., Any], xs: list[Array], dxs: list[Array]) -> Array:
    """The derivative of f along dxs."""
    ahead = f(*(convert_to_tensor(x + STEP * dx) for x, dx in zip(xs, dxs, strict=True)))
    behind = f(*(convert_to_tensor(x - STEP * dx) for x, dx in zip(xs, dxs, strict=True)))
    return (ahead.numpy() - behind.numpy()) / (2 * STEP)


@every_case
def test_gradient_is_the_difference(name: str) -> None:
    f, xs = CASES[name]
    dxs = [drawn(*x.shape, seed=20 + i) for i, x in enumerate(xs)]
    slope = difference(f, xs, dxs)
    dy = drawn(*slope.shape, seed=30)
    found = gradients(f, [convert_to_tensor(x) for x in xs], dy)
    exact = sum(np.sum(g.numpy() * dx) for g, dx in zip(found, dxs, strict=True))
    np.testing.assert_allclose(exact, np.sum(slope * dy), rtol=2e-6, atol=1e-7)


@every_case
def test_gradient_of_the_gradient_is_its_difference(name: str) -> None:
    f, xs = CASES[name]
    dxs = [drawn(*x.shape, seed=20 + i) for i, x in enumerate(xs)]
    dy = drawn(*f(*map(convert_to_tensor, xs)).shape, seed=30)
    weights = [drawn(*x.shape, seed=40 + i) for i, x in enumerate(xs)]

    def weighted(*inputs: Any) -> Any:
        """A weighted sum, so that every gradient takes part."""
        found = gradients(f, list(inputs), dy)
        total = convert_to_tensor(0.0, "float64")
        for g, w in zip(found, weights, strict=True):
            total = total + nn.l2_loss(g + w) - nn.l2_loss(g - w)
        return total

    slope = difference(weighted, xs, dxs)
    found = gradients(weighted, [convert_to_tensor(x) for x in xs], np.array(1.0))
    exact = sum(np.sum(g.numpy() * dx) for g, dx in zip(found, dxs, strict=True))
    np.testing.assert_allclose(exact, slope, rtol=1e-5, atol=1e-6)


@every_case
def test_gradients_are_the_same_where_no_size_is_known(name: str) -> None:
    if name in {"conv2d_transpose", "max_pool of channels", "dilated pool"}:
        pytest.skip("needs sizes")
    f, xs = CASES[name]
    plain = f(*map(convert_to_tensor, xs))
    dy = drawn(*plain.shape, seed=30)

    def both(*inputs: Any) -> list[Any]:
        with GradientTape() as tape:
            tape.watch(inputs)
            y = f(*inputs)
        found = tape.gradient(y, list(inputs), output_gradients=[convert_to_tensor(dy)])
        return [y, *(x * 0.0 if g is None else g for g, x in zip(found, inputs, strict=True))]

    signature = [TensorSpec([None] * x.ndim, "float64") for x in xs]
    traced = function(both, input_signature=signature)
    want = both(*map(convert_to_tensor, xs))
    for got, expected in zip(traced(*map(convert_to_tensor, xs)), want, strict=True):
        np.testing.assert_allclose(
            convert_to_tensor(got).numpy(), convert_to_tensor(expected).numpy(), rtol=1e-12
        )


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_fused_batch_norm_differentiates_as_what_it_stands_for(
    training: bool, data_format: str
) -> None:
    x, scale, offset = X4, drawn(3, seed=1), drawn(3, seed=2)
    dy, weights = drawn(*X4.shape, seed=3), [drawn(*v.shape, seed=4) for v in (x, scale, offset)]
    mean, variance = np.array([0.1, -0.2, 0.3]), np.array([0.5, 1.5, 2.0])
    order = [0, 3, 1, 2] if data_format == "NCHW" else [0, 1, 2, 3]

    def fused(x: Any, scale: Any, offset: Any) -> Any:
        y = nn.fused_batch_norm(
            permutations.transpose(x, order),
            scale,
            offset,
            mean.astype(np.float32),
            variance.astype(np.float32),
            0.01,
            data_format,
            training,
        )[0]
        return permutations.transpose(y, np.argsort(order))

    results = []
    for f, dtype in ((fused, np.float32), (partial(batch_norm, training=training), np.float64)):
        xs = [convert_to_tensor(v.astype(dtype)) for v in (x, scale, offset)]
        with GradientTape() as tape:
            tape.watch(xs)
            first = gradients(f, xs, dy.astype(dtype))
            total = first[0] * weights[0].astype(dtype)
            loss = nn.l2_loss(total) + nn.l2_loss(first[1] * weights[1].astype(dtype))
            loss = loss + nn.l2_loss(first[2] + offset.astype(dtype))
        second = tape.gradient(loss, xs[:2])
        results.append([*first, *second])
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-4, atol=2e-4)


def test_local_response_normalization_has_its_derivative() -> None:
    x = drawn(2, 2, 2, 7).astype(np.float32)
    f = partial(nn.local_response_normalization, depth_radius=2, bias=1.5, alpha=0.3, beta=0.7)
    dy, dx = drawn(*x.shape, seed=1).astype(np.float32), drawn(*x.shape, seed=2)
    exact = np.sum(gradients(f, [convert_to_tensor(x)], dy)[0].numpy() * dx)

    def wide(v: Array) -> Array:
        padded = np.pad(v * v, [(0, 0)] * 3 + [(2, 2)])
        sums = sum(padded[..., i : i + 7] for i in range(5))
        return v * (1.5 + 0.3 * sums) ** -0.7

    slope = (wide(x + STEP * dx) - wide(x - STEP * dx)) / (2 * STEP)
    np.testing.assert_allclose(exact, np.sum(slope * dy), rtol=1e-5)


def test_the_maximum_of_a_volume_sends_its_gradient_to_every_tie_and_of_an_image_to_the_first() -> (
    None
):
    image, volume = np.zeros((1, 2, 2, 1)), np.zeros((1, 2, 2, 2, 1))
    one = [np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1, 1))]
    pool = partial(nn.max_pool, ksize=2, strides=2, padding="VALID")
    first = gradients(pool, [convert_to_tensor(image)], one[0])[0].numpy()
    every = gradients(pool, [convert_to_tensor(volume)], one[1])[0].numpy()
    np.testing.assert_array_equal(first.reshape(-1), [1, 0, 0, 0])
    np.testing.assert_array_equal(every, np.ones_like(volume))


@pytest.mark.parametrize(
    ("op", "expected"),
    [  # TensorFlow 2.21, for gradients 1 and these features (outputs for Elu and Selu)
        ("ReluGrad", [0, 0, 1, 0, 0, 1, 1]),
        ("Relu6Grad", [0, 0, 0, 0, 0, 0, 1]),
        ("LeakyReluGrad", [0.2, 0.2, 1, 0.2, 0.2, 1, 1]),
        ("EluGrad", [1, 1, 1, 1, 0, 1, 1]),
        ("SeluGrad", [1.050701, 1.050701, 1.050701, 1.050701, 0.7580993, 1.050701, 1.050701]),
        ("SoftplusGrad", [0.5, 0.5, 0.9975274, np.nan, 0.26894143, 0.999089, 0.7310586]),
        ("SoftsignGrad", [1, 1, 0.02040816, np.nan, 0.25, 0.015625, 0.25]),
    ],
)
def test_gradient_ops_at_kinks_and_nan_are_tensorflows(op: str, expected: list[float]) -> None:
    features = np.array([0.0, -0.0, 6.0, np.nan, -1.0, 7.0, 1.0], np.float32)
    found = execute(lookup(op), np.ones(7, np.float32), features).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("size", [3, 5000])
def test_relu_keeps_an_infinite_gradient_out_where_it_is_flat(size: int) -> None:
    dy = np.full(size, np.inf, np.float32)
    x = np.where(np.arange(size) % 2, 1, -1).astype(np.float32)
    found = execute(lookup("ReluGrad"), dy, x).numpy()
    np.testing.assert_array_equal(found, np.where(x > 0, np.inf, 0))


def test_sigmoid_cross_entropy_has_a_slope_where_the_logit_is_zero() -> None:
    f = partial(nn.sigmoid_cross_entropy_with_logits, np.array([0.3]))
    found = gradients(f, [convert_to_tensor(np.array([0.0]))], np.array([1.0]))[0]
    np.testing.assert_allclose(found.numpy(), [0.2])
