"""Values of activations, losses, normalisation and embeddings, against formulas and SciPy."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops import nn

Array = npt.NDArray[Any]
WIDE = np.concatenate([np.linspace(-200, 200, 41), np.linspace(-3, 3, 61)])
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


ACTIVATIONS = {
    nn.relu: lambda x: np.maximum(x, 0),
    nn.relu6: lambda x: np.clip(x, 0, 6),
    nn.leaky_relu: lambda x: np.where(x > 0, x, np.float32(0.2).astype(np.float64) * x),
    nn.elu: lambda x: np.where(x > 0, x, np.expm1(x)),
    nn.selu: lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    nn.softplus: lambda x: np.logaddexp(x, 0),
    nn.softsign: lambda x: x / (1 + np.abs(x)),
    nn.gelu: lambda x: x * special.ndtr(x),
    nn.silu: lambda x: x * special.expit(x),
}


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.__name__)
def test_activations_are_their_formulas(activation: Any, dtype: Any) -> None:
    x = WIDE.astype(dtype)
    y = activation(x).numpy()
    assert y.dtype == dtype
    assert y.shape == x.shape
    tolerance = {8: 1e-14, 4: 2e-6, 2: 4e-3}[np.dtype(dtype).itemsize]
    if dtype is ml_dtypes.bfloat16:
        tolerance = 3e-2
    expected = ACTIVATIONS[activation](x.astype(np.float64))
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda f: f.__name__)
def test_nan_passes_through(activation: Any) -> None:
    y = activation(np.array([np.nan, 1.0], np.float32)).numpy()
    np.testing.assert_array_equal(np.isnan(y), [True, False])


@pytest.mark.parametrize(
    ("activation", "at_infinity", "at_minus_infinity"),
    [  # TensorFlow 2.21
        (nn.relu, np.inf, 0),
        (nn.relu6, 6, 0),
        (nn.leaky_relu, np.inf, -np.inf),
        (nn.elu, np.inf, -1),
        (nn.selu, np.inf, -1.7580993),
        (nn.softplus, np.inf, 0),
        (nn.softsign, np.nan, np.nan),
        (nn.gelu, np.inf, np.nan),
        (nn.silu, np.inf, np.nan),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_infinities_become_tensorflows(
    activation: Any, at_infinity: float, at_minus_infinity: float
) -> None:
    y = activation(np.array([np.inf, -np.inf], np.float32)).numpy()
    np.testing.assert_allclose(y, [at_infinity, at_minus_infinity], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_rectifiers_take_integers(dtype: Any) -> None:
    x = np.array([0, 1, 6, 7, 100], dtype)
    np.testing.assert_array_equal(nn.relu(x).numpy(), x)
    np.testing.assert_array_equal(nn.relu6(x).numpy(), np.minimum(x, 6))
    assert nn.relu(x).numpy().dtype == dtype


def test_approximate_gelu_is_the_paper_s() -> None:
    x = np.linspace(-5, 5, 101)
    expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(nn.gelu(x, approximate=True).numpy(), expected, rtol=1e-12)


def test_gelu_refuses_integers() -> None:
    with pytest.raises(ValueError, match="gelu: features must be floating point, got int32"):
        nn.gelu([1, 2])


def test_crelu_joins_both_halves() -> None:
    y = nn.crelu(np.array([[1.0, -2.0]]))
    np.testing.assert_array_equal(y.numpy(), [[1, 0, 0, 2]])


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, None])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.__name__)
def test_softmax_is_scipys(axis: int | None, dtype: Any) -> None:
    x = (drawn(3, 4, 5) * 4).astype(dtype)
    along = -1 if axis is None else axis
    tolerance = {8: 1e-13, 4: 1e-6, 2: 1e-2}[np.dtype(dtype).itemsize]
    wide = x.astype(np.float64)
    for ours, theirs in ((nn.softmax, special.softmax), (nn.log_softmax, special.log_softmax)):
        y = ours(x, axis).numpy()
        assert y.dtype == dtype
        expected = theirs(wide, axis=along)
        np.testing.assert_allclose(y.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def test_softmax_does_not_overflow_and_is_empty_when_its_input_is() -> None:
    np.testing.assert_array_equal(nn.softmax([[1000.0, -1000.0]]).numpy(), [[1, 0]])
    np.testing.assert_array_equal(nn.log_softmax([[1000.0, -1000.0]]).numpy(), [[0, -2000]])
    assert nn.softmax(np.zeros((2, 0))).shape == [2, 0]
    assert nn.softmax(np.zeros((0, 3))).shape == [0, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.softmax(1.0), "Softmax: logits must have at least one axis, got a scalar"),
        (lambda: nn.softmax([1.0], 1), r"Softmax: axis must be in \[-1, 1\), got 1"),
        (lambda: nn.softmax([1, 2]), "Softmax: logits must be one of .*, got int32"),
        (lambda: nn.bias_add([1.0], [1.0]), "BiasAdd: value must have at least 2 axes, got rank 1"),
        (
            lambda: nn.bias_add(np.zeros((2, 4)), np.zeros(3)),
            "BiasAdd: bias must have one number per channel, got 3 for 4 channels",
        ),
        (lambda: nn.bias_add(np.zeros((2, 4)), np.zeros(1)), "one number per channel, got 1 for 4"),
        (lambda: nn.bias_add(np.zeros((2, 4)), np.zeros((1, 4))), "bias must be a vector"),
        (lambda: nn.bias_add([[1.0]], [1.0], "HW"), "data_format must be like N...C or NC..."),
        (
            lambda: nn.sparse_softmax_cross_entropy_with_logits([0, 3], np.zeros((2, 3))),
            r"labels must be in \[0, 3\), got 3",
        ),
        (
            lambda: nn.sparse_softmax_cross_entropy_with_logits([0, -1], np.zeros((2, 3))),
            r"labels must be in \[0, 3\), got -1",
        ),
        (
            lambda: nn.sparse_softmax_cross_entropy_with_logits([[0]], np.zeros((2, 3))),
            "labels must have one axis less than logits",
        ),
        (
            lambda: nn.sparse_softmax_cross_entropy_with_logits([0], np.zeros((2, 3))),
            "labels must have the shape of logits without the last axis",
        ),
        (
            lambda: nn.softmax_cross_entropy_with_logits(np.zeros((2, 4)), np.zeros((2, 3))),
            "features and labels must have one shape, or broadcast",
        ),
        (
            lambda: nn.sigmoid_cross_entropy_with_logits(np.zeros(3), np.zeros(2)),
            "logits and labels must have one shape",
        ),
        (lambda: nn.dropout([1.0], 1.0), r"rate must be a scalar tensor or a number in \[0, 1\)"),
        (lambda: nn.dropout([1], 0.5), "x must be floating point, since it is scaled, got int32"),
        (lambda: nn.embedding_lookup([], [0]), "params must hold at least one table"),
    ],
)
def test_what_cannot_be_right_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("data_format", "axis"), [(None, -1), ("NHWC", -1), ("NCHW", 1), ("NCW", 1)]
)
@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_bias_is_added_to_the_channels(data_format: str | None, axis: int, rank: int) -> None:
    x = drawn(*range(2, rank + 2))
    bias = drawn(x.shape[axis], seed=1)
    shape = [1] * rank
    shape[axis] = -1
    expected = x + bias.reshape(shape)
    np.testing.assert_array_equal(nn.bias_add(x, bias, data_format).numpy(), expected)


@pytest.mark.parametrize("channels", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("rows", [63, 64, 1001])
def test_bias_of_few_channels_is_added_to_all_pixels(channels: int, rows: int) -> None:
    x, bias = drawn(9, rows, 8, channels), drawn(channels, seed=1)
    np.testing.assert_array_equal(nn.bias_add(x, bias).numpy(), x + bias)
    turned = x.transpose(1, 0, 2, 3)
    np.testing.assert_array_equal(nn.bias_add(turned, bias).numpy(), turned + bias)


def test_cross_entropies_are_sums_of_logarithms() -> None:
    x, p = drawn(2, 3, 4), special.softmax(drawn(2, 3, 4, seed=1), axis=-1)
    classes = np.random.default_rng(2).integers(0, 4, (2, 3))
    logs = special.log_softmax(x, axis=-1)
    found = nn.softmax_cross_entropy_with_logits(p, x).numpy()
    np.testing.assert_allclose(found, -(p * logs).sum(-1), rtol=1e-12)
    found = nn.softmax_cross_entropy_with_logits(p, x, axis=1).numpy()
    expected = -(p * special.log_softmax(x, axis=1)).sum(1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = nn.sparse_softmax_cross_entropy_with_logits(classes, x).numpy()
    np.testing.assert_allclose(found, -np.take_along_axis(logs, classes[..., None], -1)[..., 0])
    logits = np.linspace(-300, 300, 25)
    labels = np.linspace(0, 1, 25)
    expected = labels * np.logaddexp(0, -logits) + (1 - labels) * np.logaddexp(0, logits)
    found = nn.sigmoid_cross_entropy_with_logits(labels, logits).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    expected = 3 * labels * np.logaddexp(0, -logits) + (1 - labels) * np.logaddexp(0, logits)
    found = nn.weighted_cross_entropy_with_logits(labels, logits, 3.0).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-100)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda t: t.__name__)
def test_cross_entropies_of_half_precision_are_computed_in_single(dtype: Any) -> None:
    x, p = drawn(4, 3).astype(dtype), special.softmax(drawn(4, 3), axis=-1).astype(dtype)
    found = nn.softmax_cross_entropy_with_logits(p, x)
    expected = -(p.astype(float) * special.log_softmax(x.astype(float), axis=-1)).sum(-1)
    np.testing.assert_array_equal(found.numpy(), expected.astype(np.float32).astype(dtype))
    sparse = nn.sparse_softmax_cross_entropy_with_logits([0, 1, 2, 0], x)
    assert sparse.numpy().dtype == dtype


def test_log_poisson_loss_is_the_likelihood_up_to_stirling() -> None:
    t, x = np.array([0.0, 0.5, 1.0, 2.0, 9.0]), drawn(5)
    short = np.exp(x) - x * t
    np.testing.assert_allclose(nn.log_poisson_loss(t, x).numpy(), short)
    large = t > 1
    stirling = np.where(large, t * np.log(np.where(large, t, 1)) - t, 0)
    stirling += np.where(large, 0.5 * np.log(2 * np.pi * np.where(large, t, 1)), 0)
    found = nn.log_poisson_loss(t, x, compute_full_loss=True).numpy()
    np.testing.assert_allclose(found, short + stirling)


def test_l2_loss_is_half_the_sum_of_squares() -> None:
    np.testing.assert_allclose(nn.l2_loss(np.array([[3.0, 4.0]])).numpy(), 12.5)


def test_moments_are_numpys() -> None:
    x = drawn(3, 4, 5)
    for axes in ([0], [0, 2], [-1], 1):
        along = tuple(axes) if isinstance(axes, list) else axes
        for keep in (False, True):
            mean, variance = nn.moments(x, axes, keepdims=keep)
            np.testing.assert_allclose(mean.numpy(), x.mean(along, keepdims=keep))
            np.testing.assert_allclose(variance.numpy(), x.var(along, keepdims=keep))
    half = nn.moments((x * 100).astype(np.float16), [0, 1, 2])[1].numpy()
    assert half.dtype == np.float16  # the squares would overflow
    np.testing.assert_allclose(half, (x * 100).var(), rtol=2e-3)


def test_weighted_moments_count_elements_by_their_weights() -> None:
    x, weights = drawn(6), np.array([1, 2, 0, 3, 1, 1])
    repeated = np.repeat(x, weights)
    mean, variance = nn.weighted_moments(x, [0], weights.astype(float))
    np.testing.assert_allclose([mean.numpy(), variance.numpy()], [repeated.mean(), repeated.var()])


def test_moments_come_back_from_sufficient_statistics() -> None:
    x = drawn(4, 5)
    for shift in (None, 0.7):
        mean, variance = nn.normalize_moments(*nn.sufficient_statistics(x, [0], shift))
        np.testing.assert_allclose(mean.numpy(), x.mean(0))
        np.testing.assert_allclose(variance.numpy(), x.var(0))


def test_l2_normalize_gives_vectors_of_length_one_and_leaves_zeros() -> None:
    y = nn.l2_normalize(np.array([[3.0, 4.0], [0.0, 0.0]]), axis=1).numpy()
    np.testing.assert_allclose(y, [[0.6, 0.8], [0, 0]])
    z = nn.l2_normalize(np.array([3.0 + 4.0j])).numpy()
    np.testing.assert_allclose(z, [0.6 + 0.8j])


def test_local_response_normalization_is_its_formula() -> None:
    x = drawn(2, 3, 3, 9).astype(np.float32)
    expected = np.empty(x.shape)
    for d in range(9):
        near = x[..., max(0, d - 2) : d + 3].astype(float)
        expected[..., d] = x[..., d] / (1.5 + 0.3 * (near**2).sum(-1)) ** 0.7
    found = nn.local_response_normalization(x, 2, 1.5, 0.3, 0.7).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW", "NDHWC", "NCDHW"])
def test_fused_batch_norm_normalises_and_gives_running_moments(data_format: str) -> None:
    rank, channel = len(data_format), data_format.index("C")
    shape = [2, 3, 4, 2, 3][:rank]
    shape[channel] = 5
    x = drawn(*shape).astype(np.float32)
    axes = tuple(axis for axis in range(rank) if axis != channel)
    broadcast = [1] * rank
    broadcast[channel] = 5
    scale, offset = drawn(5, seed=1).astype(np.float32), drawn(5, seed=2).astype(np.float32)
    mean, variance = x.mean(axes, dtype=float), x.var(axes, dtype=float)
    count = x.size // 5

    def normalised(mean: Array, variance: Array) -> Array:
        unit = (x - mean.reshape(broadcast)) / np.sqrt(variance.reshape(broadcast) + 0.01)
        return unit * scale.reshape(broadcast) + offset.reshape(broadcast)

    y, *running = nn.fused_batch_norm(x, scale, offset, epsilon=0.01, data_format=data_format)
    np.testing.assert_allclose(y.numpy(), normalised(mean, variance), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(running[0].numpy(), mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(running[1].numpy(), variance * count / (count - 1), rtol=1e-5)
    old = np.full(5, 2, np.float32)
    _, *running = nn.fused_batch_norm(
        x, scale, offset, old, old, 0.01, data_format, exponential_avg_factor=0.25
    )
    np.testing.assert_allclose(running[0].numpy(), 1.5 + 0.25 * mean, rtol=1e-5)
    y, *given = nn.fused_batch_norm(x, scale, offset, old, old, 0.01, data_format, False)
    np.testing.assert_allclose(y.numpy(), normalised(old, old), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(given[0].numpy(), old)


def test_fused_batch_norm_wants_one_number_per_channel() -> None:
    x, one, two = (
        np.zeros((1, 2, 2, 2), np.float32),
        np.zeros(1, np.float32),
        np.zeros(2, np.float32),
    )
    with pytest.raises(ValueError, match="scale must have one number per channel, got 1 for 2"):
        nn.fused_batch_norm(x, one, two)
    with pytest.raises(ValueError, match="mean must have one number per channel, got 0 for 2"):
        nn.fused_batch_norm(x, two, two, is_training=False)


def test_embedding_lookup_takes_rows_of_one_table_or_of_several() -> None:
    table = drawn(5, 3)
    ids = np.array([[0, 4], [4, 2]])
    np.testing.assert_array_equal(nn.embedding_lookup(table, ids).numpy(), table[ids])
    parts = [convert_to_tensor(table[:3]), convert_to_tensor(table[3:])]
    np.testing.assert_array_equal(nn.embedding_lookup(parts, ids).numpy(), table[ids])
    short = nn.embedding_lookup(table, ids, max_norm=0.5).numpy()
    lengths = np.linalg.norm(table[ids], axis=-1, keepdims=True)
    np.testing.assert_allclose(short, table[ids] * np.minimum(1, 0.5 / lengths), rtol=1e-12)


def test_average_loss_divides_by_the_batch() -> None:
    losses = np.array([1.0, 2.0, 6.0])
    np.testing.assert_allclose(nn.compute_average_loss(losses).numpy(), 3)
    weighted = nn.compute_average_loss(losses, [1.0, 0.0, 0.5], global_batch_size=8)
    np.testing.assert_allclose(weighted.numpy(), 0.5)
    np.testing.assert_allclose(nn.scale_regularization_loss(losses).numpy(), 9)
