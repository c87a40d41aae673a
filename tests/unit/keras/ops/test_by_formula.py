"""`keras.ops` against NumPy functions of the same names in float64, and against formulas."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import ops

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(3, 4, 5)), RNG.normal(size=(3, 4, 5))
POSITIVE, INSIDE = abs(X) + 0.25, np.tanh(X)
WHOLE, OTHER = (RNG.integers(-6, 7, (3, 4, 5)) for _ in range(2))
HOLES = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
MATRIX = RNG.normal(size=(4, 4))
CLOSE = {"rtol": 1e-9, "atol": 1e-12}

# Keras' functions whose names, arguments and float64 results are NumPy's.
LIKE_NUMPY: list[tuple[Any, ...]] = [
    *((name, X) for name in ("angle", "arcsinh", "deg2rad", "rad2deg", "exp2", "fabs", "i0")),
    *((name, X) for name in ("sinc", "trunc", "cbrt", "signbit", "isneginf", "isposinf", "isreal")),
    *((name, X + 1j * Y) for name in ("angle", "conj", "isreal")),
    ("arccosh", POSITIVE + 1),
    ("arctanh", INSIDE),
    *((name, X, Y) for name in ("fmax", "fmin", "fmod", "hypot", "logaddexp2", "heaviside")),
    *((name, HOLES, X) for name in ("fmax", "fmin")),
    *((name, WHOLE, OTHER) for name in ("gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor")),
    ("nextafter", X, Y),
    ("ldexp", X, WHOLE),
    ("isclose", X, X + 1e-6),
    ("linspace", 1.0, 3.0, 7),
    ("logspace", 0.0, 2.0, 4),
    ("geomspace", 1.0, 256.0, 9),
    ("vander", X[0, 0], 4),
    ("append", X, Y, 1),
    *((name, X) for name in ("fliplr", "flipud", "rot90", "ptp", "diff", "trapezoid", "trace")),
    ("rot90", X, 3, (2, 0)),
    ("diag", X[0, 0], -2),
    ("diagonal", X, -1, 2, 0),
    ("trace", X, 1, 2, 0),
    ("hstack", [X, Y]),
    ("dstack", [X, Y]),
    ("digitize", X, [-0.5, 0.25, 1.0]),
    ("count_nonzero", WHOLE, 1),
    ("isin", WHOLE, [1, 2, 3]),
    ("searchsorted", np.sort(X[0, 0]), Y[0, 0]),
    ("select", [X > 0.5, X < -0.5], [X, Y], 0.0),
    ("unique", WHOLE),
    ("average", X, 1, POSITIVE[0, :, 0]),
    ("corrcoef", X[0]),
    *(("correlate", X[0, 0], Y[0, 0, :3], mode) for mode in ("valid", "same", "full")),
    ("correlate", X[0, 0, :2], Y[0, 0], "valid"),
    ("quantile", X, [0.125, 0.5, 0.75], 1),
    ("percentile", X, 25.0),
    ("median", X, 2),
    ("nanquantile", HOLES, [0.25, 0.5], 0),
    ("nanpercentile", HOLES, 75.0),
    *((name, HOLES) for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmedian")),
    *((name, HOLES, 0) for name in ("nansum", "nanmean", "nanstd", "nancumsum", "nancumprod")),
    *((name, HOLES) for name in ("nanmax", "nanmin", "nanargmax", "nanargmin")),
    ("inner", X, Y),
    ("vdot", X, Y),
    ("kron", X[0], MATRIX),
    ("cross", X[..., :3], Y[..., :3]),
    ("tri", 3, 4, 1),
    ("eye", 4, 3, -1),
    *(("tril", np.where(X > 0.5, np.inf, HOLES), k) for k in (-7, -1, 0, 1)),
    *(("triu", np.where(X > 0.5, np.inf, HOLES), k) for k in (-1, 0, 1, 7)),
]


@pytest.mark.parametrize(("name", "arguments"), [(name, rest) for name, *rest in LIKE_NUMPY])
def test_a_function_is_numpys(name: str, arguments: list[Any]) -> None:
    if name in {"linspace", "logspace", "geomspace"}:
        found = getattr(ops, name)(*arguments, dtype="float64")
    else:
        found = getattr(ops, name)(*arguments)
    np.testing.assert_allclose(np.asarray(found), getattr(np, name)(*arguments), **CLOSE)


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("k", [-2, 0, 1, 6])
def test_the_diagonal_of_a_triangle_may_be_a_tensor(name: str, k: int) -> None:
    found = tf.function(getattr(ops, name))(tf.constant(X), tf.constant(k))
    np.testing.assert_array_equal(found, getattr(np, name)(X, k))


@pytest.mark.parametrize(
    ("given", "sums", "cumulative"),
    [
        *(("bool", "int32", "int32"), ("int8", "int32", "int8"), ("int16", "int32", "int16")),
        *(("uint8", "uint32", "uint8"), ("uint16", "uint32", "uint16")),
        *(("int32", "int32", "int32"), ("int64", "int64", "int64")),
    ],
)
def test_sums_of_small_integers_are_as_wide_as_kerass(
    given: str, sums: str, cumulative: str
) -> None:
    x = ops.cast([1, 0, 1], given)
    for name in ("sum", "prod", "nansum", "nanprod"):
        assert getattr(ops, name)(x).dtype.name == sums, name
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
        assert getattr(ops, name)(x).dtype.name == cumulative, name
    assert ops.cumsum([1, 2], dtype="bool").dtype.name == "int32"


@pytest.mark.parametrize("axis", [None, 0, -1, 5, (0, 1), (-1, 0), (0, 5)])
@pytest.mark.parametrize("shape", [(5,), (4, 6), (2, 3, 4)])
def test_norms_are_numpys(shape: tuple[int, ...], axis: Any) -> None:
    x = RNG.normal(size=shape)
    orders = (None, "fro", "nuc", 0, 1, -1, 2, -2, 3, 0.5, np.inf, -np.inf)
    for order, keepdims in itertools.product(orders, (False, True)):
        try:
            wanted = np.linalg.norm(x, order, axis, keepdims)
        except ValueError:  # an AxisError is a ValueError, too
            with pytest.raises(ValueError, match=r"keras\.ops\.norm: .*(axis|ord)"):
                ops.norm(x, order, axis, keepdims)
            continue
        found = np.asarray(ops.norm(x, order, axis, keepdims))
        assert found.shape == np.shape(wanted), (order, keepdims)
        np.testing.assert_allclose(found, wanted, **CLOSE, err_msg=str((order, keepdims)))


def test_softmax_of_several_axes_is_that_of_them_as_one() -> None:
    wanted = np.exp(X) / np.exp(X).sum((0, 2), keepdims=True)
    np.testing.assert_allclose(ops.softmax(X, (0, 2)), wanted, **CLOSE)
    np.testing.assert_allclose(ops.log_softmax(X, (0, -1)), np.log(wanted), **CLOSE)


def test_only_the_mode_constant_of_pad_takes_a_constant() -> None:
    with pytest.raises(ValueError, match="`constant_values` can only be provided when"):
        ops.pad(np.ones(3), 1, "reflect", constant_values=0)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return np.einsum("bnts,bsnh->btnh", shares, v)


def normalised(x: Any, axis: Any) -> Any:
    mean, variance = x.mean(axis, keepdims=True), x.var(axis, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-7)


Q = RNG.normal(size=(2, 4, 3, 5))
FORMULAS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "polar": (lambda: ops.polar(POSITIVE, X), lambda: POSITIVE * np.exp(1j * X)),
    "view": (lambda: ops.view(X, "int64"), lambda: X.view(np.int64)),
    "cdist": (
        lambda: ops.cdist(X, Y),
        lambda: np.linalg.norm(X[:, :, None] - Y[:, None], axis=-1),
    ),
    "psnr": (lambda: ops.psnr(X, Y, 3.0), lambda: 10 * np.log10(9 / ((X - Y) ** 2).mean())),
    "lstsq": (
        lambda: ops.lstsq(X[0].T, Y[0, 0]),
        lambda: np.linalg.lstsq(X[0].T, Y[0, 0], rcond=None)[0],
    ),
    "pinv": (lambda: ops.pinv(X), lambda: np.linalg.pinv(X)),
    "slogdet": (lambda: ops.slogdet(MATRIX)[1], lambda: np.linalg.slogdet(MATRIX)[1]),
    "solve": (lambda: ops.solve(MATRIX, X[0, :, 0]), lambda: np.linalg.solve(MATRIX, X[0, :, 0])),
    "lu_factor": (
        lambda: (lambda lu: (np.tril(lu, -1) + np.eye(4)) @ np.triu(lu))(
            np.asarray(ops.lu_factor(MATRIX)[0])
        ),
        lambda: MATRIX[np.argsort(np.asarray(ops.lu_factor(MATRIX)[1]))],
    ),
    "fft": (
        lambda: (lambda a, b: np.asarray(a) + 1j * np.asarray(b))(*ops.fft((X, Y))),
        lambda: np.fft.fft(X + 1j * Y),
    ),
    "ifft2": (
        lambda: (lambda a, b: np.asarray(a) + 1j * np.asarray(b))(*ops.ifft2((X, Y))),
        lambda: np.fft.ifft2(X + 1j * Y),
    ),
    "rfft": (lambda: ops.rfft(tf.constant(X), 8)[1], lambda: np.fft.rfft(X, 8).imag),
    "argpartition": (
        lambda: np.sort(np.take_along_axis(X, np.asarray(ops.argpartition(X, 2)), -1)[..., :3]),
        lambda: np.sort(X)[..., :3],
    ),
    "unfold_and_fold": (
        # Each element is counted once for each window that covers it.
        lambda: ops.fold(ops.unfold(np.ones((1, 1, 4, 4)), 3), 4, 3)[0, 0],
        lambda: np.outer([1, 2, 2, 1], [1, 2, 2, 1]),
    ),
    "adaptive_average_pool": (
        lambda: ops.adaptive_average_pool(X, 2),
        lambda: np.stack([X[:, :2].mean(1), X[:, 2:].mean(1)], 1),
    ),
    "adaptive_max_pool": (
        lambda: ops.adaptive_max_pool(X, 3),
        lambda: np.stack([X[:, :2].max(1), X[:, 1:3].max(1), X[:, 2:].max(1)], 1),
    ),
    "layer_normalization": (
        lambda: ops.layer_normalization(X, None, None, (1, 2)),
        lambda: normalised(X, (1, 2)),
    ),
    "rms_normalization": (
        lambda: ops.rms_normalization(X),
        lambda: X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-7),
    ),
    "batch_normalization": (
        lambda: ops.batch_normalization(X, X[0, :, 0], POSITIVE[0, :, 0], 1, Y[0, :, 0]),
        lambda: (X - X[0, :, :1]) / np.sqrt(POSITIVE[0, :, :1] + 1e-3) + Y[0, :, :1],
    ),
    "dot_product_attention": (
        lambda: ops.dot_product_attention(Q, Q, Q, is_causal=True),
        lambda: attention(Q, Q, Q),
    ),
    "multi_hot": (lambda: ops.multi_hot([[0, 2], [1, -1]], 3), lambda: [[1, 0, 1], [0, 1, 0]]),
    "rearrange": (
        lambda: ops.rearrange(X, "a b (c d) -> d (b a) c", c=5),
        lambda: X.transpose(1, 0, 2).reshape(1, 12, 5),
    ),
    "histogram": (
        lambda: ops.histogram(X.ravel(), 4, (-1.0, 1.0))[0],
        lambda: np.histogram(X, 4, (-1.0, 1.0))[0],
    ),
    "segment_sum": (
        lambda: ops.segment_sum(X, [1, 0, 1], 3),
        lambda: [X[1], X[0] + X[2], 0 * X[0]],
    ),
    "slice_update": (
        lambda: ops.slice_update(np.zeros((3, 3)), [2, 0], np.ones((2, 2))),
        # The start of the block is clamped so that it fits.
        lambda: [[0, 0, 0], [1, 1, 0], [1, 1, 0]],
    ),
    "associative_scan": (
        lambda: ops.associative_scan(lambda a, b: a + b, X, axis=2),
        lambda: np.cumsum(X, 2),
    ),
    "next_of_halves": (
        lambda: ops.nextafter(X.astype(np.float16), np.float16(0)),
        lambda: np.nextafter(X.astype(np.float16), np.float16(0)),
    ),
    # One label in two steps: both emit it, or one of them does.
    "ctc_loss": (
        lambda: ops.ctc_loss([[1]], np.log([[[0.6, 0.4], [0.3, 0.7]]]), [1], [2]),
        lambda: [-np.log(0.4 * 0.7 + 0.4 * 0.3 + 0.6 * 0.7)],
    ),
    "ctc_decode": (
        lambda: ops.ctc_decode(np.eye(3)[[[1, 1, 0, 2, 2]]] * 9, [5])[0],
        lambda: [[[1, 2, -1, -1, -1]]],
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_function_is_its_formula(name: str) -> None:
    ours, wanted = (np.asarray(make()) for make in FORMULAS[name])
    close = {"rtol": 1e-6, "atol": 1e-6} if name in {"adaptive_average_pool", "ctc_loss"} else CLOSE
    np.testing.assert_allclose(ours, wanted, **close)


SLOPES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    **{
        name: (getattr(ops, name), X)
        for name in (
            *("arcsinh", "sinc", "exp2", "cbrt", "i0", "erfc", "celu", "squareplus"),
            *("tanh_shrink", "sparse_plus", "layer_normalization", "rms_normalization", "median"),
            *("diff", "trapezoid"),
        )
    },
    "sinc_at_zero": (ops.sinc, np.zeros(2)),
    "nanvar": (lambda x: ops.nanvar(ops.where(HOLES == HOLES, x, np.nan), 1), X),
    "nanmean": (lambda x: ops.nanmean(ops.where(HOLES == HOLES, x, np.nan), 1), X),
    "hypot": (lambda x: ops.hypot(x, Y), X),
    "logaddexp2": (lambda x: ops.logaddexp2(x, Y), X),
    "quantile": (lambda x: ops.quantile(x, [0.3, 0.6], 1), X),
    "kron": (lambda x: ops.kron(x[0], Y[0]), X),
    "cdist": (lambda x: ops.cdist(x, Y), X),
    "correlate": (lambda x: ops.correlate(x[0, 0], Y[0, 0, :3], "same"), X),
    "corrcoef": (lambda x: ops.corrcoef(x[0]), X),
    "cholesky": (lambda x: ops.cholesky(x @ ops.transpose(x) + 3 * np.eye(4)), MATRIX),
    "inv": (ops.inv, MATRIX + 4 * np.eye(4)),
    "det": (ops.det, MATRIX),
    "solve": (lambda x: ops.solve(x, Y[0, :, 0]), MATRIX + 4 * np.eye(4)),
    "lstsq": (lambda x: ops.lstsq(X[0].T, x[0, 0]), X),
    "rfft": (lambda x: ops.rfft(x)[0], X),
    "stft": (lambda x: ops.stft(x[0, 0], 4, 1, 4)[0], X),
    "fold": (lambda x: ops.fold(ops.unfold(x[None], 2, 1, 1), (4, 5), 2, 1, 1), X),
    "conv_transpose": (lambda x: ops.conv_transpose(x, Y[:2, :, :], 2), X),
    "depthwise_conv": (lambda x: ops.depthwise_conv(x, Y[0, :2, :, None]), X),
    "attention": (lambda x: ops.dot_product_attention(x[None], Y[None], Y[None]), X),
    "scatter": (lambda x: ops.scatter([[2], [0], [2]], x, (4, 4, 5)), X),
    "slice_update": (lambda x: ops.slice_update(x, [1, 0, 2], x[:2, :2, :2]), X),
    "segment_prod": (lambda x: ops.segment_prod(x, [0, 1, 0]), X),
    "scan": (lambda x: ops.scan(lambda c, r: (c * r, c + r), ops.ones((4, 5), "float64"), x)[1], X),
    "associative_scan": (lambda x: ops.associative_scan(lambda a, b: a * b, x), X),
    "fori_loop": (lambda x: ops.fori_loop(0, 3, lambda _, v: v * x, x), X),
}


@pytest.mark.parametrize("name", SLOPES)
def test_a_gradient_is_the_slope(name: str) -> None:
    function, at = SLOPES[name]
    way = np.random.default_rng(1).normal(size=at.shape)
    x = tf.constant(at)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
        weights = np.cos(np.arange(value.shape.num_elements() or 1)).reshape(value.shape)
        total = tf.reduce_sum(value * weights)
    found = float(np.sum(np.asarray(tape.gradient(total, x)) * way))
    step = 1e-6
    ends = [
        float(np.sum(np.asarray(function(tf.constant(at + s * way))) * weights))
        for s in (step, -step)
    ]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=2e-5, atol=2e-6)


def test_softmax_over_everything() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    wanted = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(ops.softmax(x, axis=None), wanted, rtol=1e-5)
    np.testing.assert_allclose(ops.log_softmax(x, axis=None), np.log(wanted), rtol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_normalize_by_any_norm(order: int) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    norms = np.linalg.norm(x, order, axis=1, keepdims=True)
    np.testing.assert_allclose(ops.normalize(x, 1, order), x / norms, rtol=1e-5)
    with pytest.raises(ValueError, match="Argument `order` must be an int >= 1"):
        ops.normalize(x, 1, 0)


def test_moments_of_halves_do_not_overflow() -> None:
    x = np.array([300, -300, 400, -400], "float16")
    mean, variance = ops.moments(x, [0])
    assert float(mean) == 0
    # 125000 exceeds float16: its largest number is used instead.
    assert float(variance) == np.finfo("float16").max
    assert variance.dtype == "float16"


@pytest.mark.parametrize("stride", [0, -1, 1.5])
def test_strides_of_pieces_are_positive_integers(stride: float) -> None:
    x = np.zeros(16, "float32")
    with pytest.raises(ValueError, match="`sequence_stride` must be a positive integer"):
        ops.stft(x, 4, stride, 4)
    with pytest.raises(ValueError, match="`sequence_stride` must be a positive integer"):
        ops.istft((np.zeros((4, 3), "float32"),) * 2, 4, stride, 4)


def test_each_matrix_of_a_batch_has_its_triangles() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 4)).astype("float32")
    factors, places = (np.asarray(part) for part in ops.lu_factor(x))
    lower = np.tril(factors, -1) + np.eye(4)
    rows = np.take_along_axis(x, np.argsort(places)[..., None], -2)
    assert places.dtype == "int32"
    np.testing.assert_allclose(lower @ np.triu(factors), rows, rtol=1e-5, atol=1e-5)
