"""Row sums, products with weights and chains of both, against float64; and excluded steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import pinnace as tf
from pinnace.engine import tiers
from pinnace.engine.codegen import clusters, fused
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.pairs import Pair
from pinnace.framework import config
from pinnace.ops.kernels import pieces, team, tiles
from pinnace.ops.nn.batch_norm import fused_batch_norm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True, scope="module")
def _hot() -> Iterator[None]:
    """Every shape has regions, however small, and every product is worth packing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiers, "_SMALLEST", 0)
        patch.setattr(clusters, "_ENTRY_US", -1e9)  # however small
        # Plans that are one kernel have separate tests.
        patch.setattr(tiers.Tiers, "_small", lambda *_: None)
        patch.setattr(tiles, "WORTH_PACKING", 1)
        patch.setattr(config.settings, "tier", "auto")
        patch.setattr(config.settings, "fusion", True)
        yield


def settled(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result after its kernels were made and its weights packed."""
    for _ in range(10):
        found = function(*arguments)
    return found


def regions(function: Any, *arguments: Any) -> list[Any]:
    """The compiled regions of a function for these arguments."""
    plan = function.get_concrete_function(*arguments).plan
    (prepared,) = plan.tiers._tier.prepared.values()
    assert prepared is not None
    return [region for region in prepared.layout._members.values() if region is not None]


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=-1, keepdims=True)
    factor = tf.math.rsqrt(variance + 1e-6) * gamma
    return x * factor + (beta - mean * factor)


def exact_layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    x = x.astype(np.float64)
    mean = x.mean(-1, keepdims=True)
    variance = np.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-6) * gamma + beta


@settings(max_examples=12, deadline=None)
@given(
    rows=st.integers(1, 40),
    width=st.integers(8, 300),
    scale=st.sampled_from([1e-2, 1.0, 30.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_norms_and_softmax_of_rows_are_those_of_float64(
    rows: int, width: int, scale: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x = (random.standard_normal((rows, 4, width)) * scale).astype(np.float32)
    gamma, beta = (random.standard_normal(width).astype(np.float32) for _ in range(2))

    @tf.function
    def f(x: Any) -> Any:
        return layer_norm(x + x, gamma, beta), tf.nn.softmax(x * 0.5)

    norm, softmax = settled(f, x)
    assert sum(isinstance(region, Fused) for region in regions(f, x)) == 2
    # Sums of up to 300 roundings; the mean of numbers around 60 is exact to 6e-6 of their spread.
    wanted = exact_layer_norm(x + x, gamma, beta)
    np.testing.assert_allclose(norm.numpy(), wanted, rtol=1e-4, atol=1e-4)
    # exp is within 2 ulps; at 100 an argument is rounded to 4e-6.
    wanted = special.softmax(x.astype(np.float64) * 0.5, axis=-1)
    np.testing.assert_allclose(softmax.numpy(), wanted, rtol=4e-5, atol=1e-9)


@pytest.mark.parametrize("shape", [(1003,), (64,), (2, 701), (40, 33), (9, 1, 8)])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_large_clusters_of_every_shape(
    shape: tuple[int, ...], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared: list[int] = []
    share = team.share

    def seen(pieces: int, work: Callable[[int], None], most: int | None = None) -> None:
        shared.append(pieces)
        share(pieces, work, most)

    monkeypatch.setattr(fused, "_SHARED", 1)
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    monkeypatch.setattr(team, "size", lambda: threads)
    monkeypatch.setattr(team, "share", seen)
    monkeypatch.setattr(pieces, "can_offer", lambda _: False)
    x, scale = normal(*shape), np.float32(0.75)

    @tf.function
    def f(x: Any, scale: Any) -> Any:
        y = tf.tanh(x * scale)
        return y + x, tf.sqrt(tf.abs(y))

    both = settled(f, x, scale)
    assert sum(isinstance(region, Fused) for region in regions(f, x, scale)) == 1
    size = x.size
    assert shared
    assert set(shared) == {min(threads, -(-size // 64))} if len(shape) < 3 else {threads}
    y = np.tanh(x.astype(np.float64) * scale)
    # tanh is within 3 ulps.
    np.testing.assert_allclose(both[0].numpy(), y + x, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(both[1].numpy(), np.sqrt(np.abs(y)), rtol=1e-6)


@pytest.mark.parametrize(("rows", "width"), [(2, 40), (9, 8), (700, 33), (1030, 64)])
@pytest.mark.parametrize("threads", [2, 3])
def test_rows_are_offered_with_totals_and_numbers_that_change(
    rows: int, width: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machine code shares them: other arrays and another scalar in each call."""
    monkeypatch.setattr(config.settings, "tier", "compiled")
    monkeypatch.setattr(fused, "_SHARED", 1)
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    monkeypatch.setattr(team, "_MOST", threads)
    runs: list[int] = []
    original = pieces.Job.run

    def run(self: pieces.Job, *given: Any, **options: Any) -> int:
        runs.append(1)
        return original(self, *given, **options)

    monkeypatch.setattr(pieces.Job, "run", run)

    @tf.function
    def f(x: Any, scale: Any) -> Any:
        y = tf.tanh(x * scale)
        return y + x, tf.reduce_sum(y * x, axis=0)

    assert pieces.can_call()
    settled(f, normal(rows, width), np.float32(1))
    runs.clear()
    for scale in (0.75, -2.0, 0.01):
        x = normal(rows, width)
        found, total = f(x, np.float32(scale))
        y = np.tanh(x.astype(np.float64) * np.float32(scale))
        # tanh is within 3 ulps; a total has some hundred roundings.
        np.testing.assert_allclose(found.numpy(), y + x, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(total.numpy(), (y * x).sum(0), rtol=1e-4, atol=1e-3)
    assert len(runs) >= 3


def test_the_total_of_one_long_row_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "_SHARED", 1)
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    monkeypatch.setattr(team, "size", lambda: 2)
    x = normal(1003)

    @tf.function
    def f(x: Any) -> Any:
        return tf.nn.softmax(x * 2.0)

    found = settled(f, x).numpy()
    np.testing.assert_allclose(found, special.softmax(x.astype(np.float64) * 2), rtol=1e-5)


def test_maxima_and_sums_of_several_axes() -> None:
    x = normal(6, 8, 40)

    @tf.function
    def f(x: Any) -> Any:
        top = tf.reduce_max(x, axis=[1, 2], keepdims=True)
        return (x - top) / tf.reduce_sum(tf.exp(x - top), axis=[-2, -1], keepdims=True)

    found = settled(f, x)
    assert regions(f, x)
    wide = x.astype(np.float64)
    top = wide.max((1, 2), keepdims=True)
    wanted = (wide - top) / np.exp(wide - top).sum((1, 2), keepdims=True)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-5, atol=1e-6)


def test_what_is_not_a_number_fills_its_row_and_no_other() -> None:
    x = normal(16, 64)
    x[3, 5] = np.nan
    x[4] = -np.inf
    x[5, 7] = np.inf

    @tf.function
    def f(x: Any) -> Any:
        top = tf.reduce_max(x, axis=-1, keepdims=True)
        return tf.nn.softmax(x + 0.5), x + top

    softmax, topped = settled(f, x)
    assert regions(f, x)
    # Row 5: inf - inf is NaN, as in TensorFlow.
    assert np.isnan(softmax.numpy()).any(-1).nonzero()[0].tolist() == [3, 4, 5]
    assert np.isnan(softmax.numpy()[[3, 4]]).all()
    assert np.isnan(topped.numpy()[3]).all()
    assert not np.isnan(topped.numpy()[[0, 1, 2, 6]]).any()


def test_a_number_of_each_row_that_others_need_is_computed_for_them() -> None:
    x = normal(64, 128)

    @tf.function
    def f(x: Any) -> Any:
        mean = tf.reduce_mean(x * x, axis=-1, keepdims=True)
        return (x - mean) * 2.0 + mean, tf.squeeze(mean, -1)

    found, mean = settled(f, x)
    wide = x.astype(np.float64)
    wanted = np.square(wide).mean(-1, keepdims=True)
    np.testing.assert_allclose(mean.numpy(), wanted[:, 0], rtol=1e-5)
    np.testing.assert_allclose(found.numpy(), (wide - wanted) * 2 + wanted, rtol=1e-4, atol=1e-5)


class Block(tf.Module):
    """The feed-forward part of a transformer: products, activation, residual, norm."""

    def __init__(self, features: int, inside: int) -> None:
        super().__init__()
        shapes = ((features, 4, features // 4), (features // 4, 4), (features, inside))
        self.heads = tf.Variable(normal(*shapes[0]) / features**0.5)
        self.up = tf.Variable(normal(features, inside) / features**0.5)
        self.up_bias = tf.Variable(normal(inside))
        self.down = tf.Variable(normal(inside, features) / inside**0.5)
        self.down_bias = tf.Variable(normal(features))
        self.gamma, self.beta = tf.Variable(normal(features)), tf.Variable(normal(features))

    def __call__(self, x: Any) -> Any:
        inner = tf.nn.gelu(tf.tensordot(x, self.up, 1) + self.up_bias)
        y = x + (tf.tensordot(inner, self.down, 1) + self.down_bias)
        y = layer_norm(y, self.gamma, self.beta)
        heads = tf.einsum("btf,fhd->bthd", y, self.heads)
        return y, heads + 1.0

    def exact(self, x: Any) -> Any:
        wide = [v.numpy().astype(np.float64) for v in (self.up, self.up_bias, self.down)]
        inner = x.astype(np.float64) @ wide[0] + wide[1]
        inner = inner * 0.5 * special.erfc(-inner / 2**0.5)
        y = exact_layer_norm(
            x + inner @ wide[2] + self.down_bias.numpy(), self.gamma.numpy(), self.beta.numpy()
        )
        return y, np.einsum("btf,fhd->bthd", y, self.heads.numpy().astype(np.float64)) + 1


def test_a_block_of_a_transformer_follows_the_writes_to_its_weights() -> None:
    block = Block(64, 96)
    x = normal(2, 16, 64)
    f = tf.function(block)
    for _ in range(3):
        found = settled(f, x)
        for got, wanted in zip(found, block.exact(x), strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=1e-4)
        for variable in block.variables:
            variable.assign(normal(*variable.shape) * 0.2)
        for got, wanted in zip(f(x), block.exact(x), strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=1e-4)


SCORES = ("btnh,bsnh->bnts", "bsnh,btnh->bnts")
MIXES = ("bnts,bsnh->btnh", "bsnh,bnts->bnth")


@settings(max_examples=15, deadline=None)
@given(
    batch=st.integers(1, 5),
    heads=st.integers(1, 4),
    queries=st.integers(1, 40),
    keys=st.integers(8, 50),
    size=st.integers(1, 20),
    equations=st.tuples(st.sampled_from(SCORES), st.sampled_from(MIXES)),
    masked=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_attention_is_that_of_float64(
    batch: int, heads: int, queries: int, keys: int, size: int, equations: tuple[str, str],
    masked: bool, seed: int,
) -> None:  # fmt: skip
    random = np.random.default_rng(seed)
    q, k, v = (
        random.standard_normal((batch, rows, heads, size)).astype(np.float32)
        for rows in (queries, keys, keys)
    )
    mask = np.where(random.random((batch, heads, queries, keys)) < 0.2, -1e9, 0)
    mask = mask.astype(np.float32)

    @tf.function
    def f(q: Any, k: Any, v: Any, mask: Any) -> Any:
        pair = (q, k) if equations[0].startswith("bt") else (k, q)
        scores = tf.einsum(equations[0], *pair) * 0.25
        if masked:
            scores = scores + mask
        weights = tf.nn.softmax(scores)
        return tf.einsum(equations[1], *((weights, v) if equations[1][1] == "n" else (v, weights)))

    found = settled(f, q, k, v, mask)
    scores = np.einsum("btnh,bsnh->bnts", q.astype(np.float64), k.astype(np.float64)) * 0.25
    weights = special.softmax(scores + mask if masked else scores, axis=-1)
    wanted = np.einsum("bnts,bsnh->btnh", weights, v.astype(np.float64))
    if equations[1].endswith("bnth"):
        wanted = wanted.swapaxes(1, 2)
    # Scores up to 20 in float32 are exact to 2e-6, and so are their exponentials; means of values.
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=5e-5)


def test_weights_of_attention_that_are_wanted_too_are_given() -> None:
    q, k, v = normal(2, 24, 3, 16), normal(2, 32, 3, 16), normal(2, 32, 3, 16)

    @tf.function
    def f(q: Any, k: Any, v: Any) -> Any:
        weights = tf.nn.softmax(tf.einsum("btnh,bsnh->bnts", q, k) * 0.5)
        return tf.einsum("bnts,bsnh->btnh", weights, v), weights

    found, weights = settled(f, q, k, v)
    exact = special.softmax(np.einsum("btnh,bsnh->bnts", *map(np.float64, (q, k))) * 0.5, axis=-1)
    np.testing.assert_allclose(weights.numpy(), exact, rtol=0, atol=1e-5)
    wanted = np.einsum("bnts,bsnh->btnh", exact, np.float64(v))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=5e-5)


@pytest.mark.parametrize("strides", [1, 2])
def test_convolutions_pixel_by_pixel_are_those_of_float64(strides: int) -> None:
    x, kernel = normal(2, 9, 7, 40), tf.Variable(normal(1, 1, 40, 48) / 40**0.5)
    shift = tf.Variable(normal(48))

    @tf.function
    def f(x: Any) -> Any:
        return tf.nn.relu(tf.nn.conv2d(x, kernel, strides, "SAME") * 0.5 + shift)

    found = settled(f, x)
    wide = x.astype(np.float64)[:, ::strides, ::strides] @ kernel.numpy()[0, 0].astype(np.float64)
    np.testing.assert_allclose(found.numpy(), np.maximum(wide * 0.5 + shift, 0), atol=1e-5)


@settings(max_examples=80)
@given(
    shape=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    bits=st.lists(st.integers(0, 15), min_size=3, max_size=3),
    often=st.sampled_from([1, 16, 64]),
)
def test_differences_of_any_broadcasts_are_those_of_float64(
    shape: list[int], bits: list[int], often: int
) -> None:
    shape = [often, *shape]
    random = np.random.default_rng(bits)
    arrays = [
        random.standard_normal(
            [1 if mask >> axis & 1 else size for axis, size in enumerate(shape)]
        ).astype(np.float32)
        for mask in (*bits, 0)
    ]
    function = tf.function(lambda a, b, c, d: ((a - b) * c) ** 2 + tf.abs(d))
    a, b, c, d = (array.astype(float) for array in arrays)
    for _ in range(2):
        found = function(*map(tf.constant, arrays))
        np.testing.assert_allclose(found, ((a - b) * c) ** 2 + np.abs(d), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("points", "axes"), [(512, 8), (256, 3), (300, 2), (130, 24)])
def test_differences_of_pairs_of_points_are_one_region(points: int, axes: int) -> None:
    x = normal(points, axes)
    function = tf.function(lambda x: (x[:, None] - x[None]) ** 2)
    np.testing.assert_allclose(
        settled(function, tf.constant(x)), (x[:, None] - x[None]) ** 2, rtol=1e-5, atol=1e-6
    )
    found = regions(function, tf.constant(x))
    assert [type(one) for one in found] == [Fused]
    assert len(found[0].cluster.members) == 2


def test_sizes_are_computed_once_for_each_shape() -> None:
    @tf.function(input_signature=[tf.TensorSpec((None, None, 32))])
    def f(x: Any) -> Any:
        sizes = tf.shape(x)
        rows = tf.reshape(tf.nn.relu(x) * 2.0 + 1.0, tf.stack([sizes[0] * sizes[1], 32]))
        return tf.reshape(tf.exp(-rows) * 3.0, sizes), sizes

    for shape in ((4, 16, 32), (2, 48, 32)):
        x = normal(*shape)
        found, sizes = settled(f, x)
        wanted = 3 * np.exp(-(np.maximum(x.astype(np.float64), 0) * 2 + 1))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
        assert sizes.numpy().tolist() == list(shape)
    (prepared, *_) = f.get_concrete_function().plan.tiers._tier.prepared.values()
    assert prepared is not None
    assert prepared.layout.settled


def test_views_of_workspace_memory_do_not_leave_a_call() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.nn.relu(x) * 2.0
        flat = tf.reshape(tf.transpose(y, [1, 0]), [-1])
        return tf.reduce_sum(tf.exp(flat)), tf.einsum("ij->ji", y), tf.reshape(y + 1.0, [-1])

    x = normal(80, 128)
    first = settled(f, x)
    kept = [one.numpy().copy() for one in first]
    settled(f, x + 5)
    for one, copy in zip(first, kept, strict=True):
        np.testing.assert_array_equal(one.numpy(), copy)
    np.testing.assert_array_equal(kept[1], (np.maximum(x, 0) * 2).T)


@settings(max_examples=8, deadline=None)
@given(
    rows=st.integers(2, 40),
    channels=st.integers(1, 40),
    training=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_batch_norm_and_relu_are_one_step_with_one_gradient(
    rows: int, channels: int, training: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x, dy = random.standard_normal((2, rows, 3, 2, channels)).astype(np.float32)
    drawn = random.standard_normal((2, channels)).astype(np.float32)
    scale, offset = (tf.Variable(one) for one in drawn)
    mean, variance = np.full(channels, 0.3, np.float32), np.full(channels, 1.7, np.float32)

    def normalised(x: Any) -> Any:
        given = () if training else (mean, variance)
        y, *_ = fused_batch_norm(x, scale, offset, *given, is_training=training)
        return tf.nn.relu(y)

    @tf.function
    def f(x: Any, dy: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = normalised(x)
        return y, tape.gradient(y, [x, scale, offset], output_gradients=dy)

    plain, wanted = f.python_function(tf.constant(x), tf.constant(dy))
    found, slopes = settled(f, x, dy)
    kinds = [len(one.cluster.outputs) for one in regions(f, x, dy) if isinstance(one, Pair)]
    assert kinds == ([6, 5] if training else [6])
    np.testing.assert_allclose(found.numpy(), plain.numpy(), rtol=1e-5, atol=1e-5)
    for one, other in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-3, atol=1e-3)


def test_a_batch_norm_that_others_take_stays_as_it_is() -> None:
    x = normal(20, 3, 3, 16)
    ones = np.ones(16, np.float32)

    @tf.function
    def f(x: Any) -> Any:
        y, *_ = fused_batch_norm(x, ones, ones)
        return tf.nn.relu(y) * 2.0 + 1.0, y

    found, y = settled(f, x)
    assert not any(isinstance(one, Pair) for one in regions(f, x))
    np.testing.assert_allclose(found.numpy(), np.maximum(y.numpy(), 0) * 2 + 1, rtol=1e-6)
    assert (y.numpy() < 0).any()


@pytest.mark.parametrize("seed", range(24))
def test_gradients_of_a_pool_and_a_relu(seed: int) -> None:
    random = np.random.default_rng(seed)
    rank = 2 + seed % 2
    taps = [int(n) for n in random.integers(2, 4, rank)]
    steps = taps if seed % 3 == 0 else [int(n) for n in random.integers(1, 4, rank)]
    padding = str(random.choice(["VALID", "SAME"]))
    sizes = random.integers(5, 10, rank).tolist()
    # Few distinct numbers, many of them not positive: windows with only these, and ties.
    x = random.integers(-4, 3, (3, *sizes, int(random.integers(1, 20)))).astype(np.float32)
    x[0] = np.minimum(x[0], 0)
    bias = random.integers(-2, 2, x.shape[-1]).astype(np.float32)
    pool = tf.nn.max_pool2d if rank == 2 else tf.nn.max_pool3d

    @tf.function
    def f(x: Any, bias: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, bias])
            y = pool(tf.nn.relu(x + bias), taps, steps, padding)
            total = tf.reduce_sum(y * y + y)
        return tape.gradient(total, [x, bias])

    wanted = f.python_function(tf.constant(x), tf.constant(bias))
    found = settled(f, x, bias)
    found_pairs = [one for one in regions(f, x, bias) if isinstance(one, Pair)]
    is_one = any(one.pattern == "RectifiedPool" for one in found_pairs)
    assert is_one == (rank == 2 or taps == steps)  # overlapping windows of volumes are not fused
    # A bias's gradient is a sum of up to 2,000 integers, exact in any order.
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("seed", range(24))
def test_gradients_of_limits_along_axes(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = [int(n) for n in random.integers(1, 7, random.integers(1, 4))]
    shape.append(int(random.integers(8, 20)))
    first = int(random.integers(0, len(shape)))
    shape[first] += 1
    axes = list(range(first, int(random.integers(first, len(shape))) + 1))
    reduce = tf.reduce_max if seed % 2 else tf.reduce_min
    is_rectified, as_tensorflow = bool(random.integers(2)), bool(random.integers(2))
    # Few distinct numbers, so that ties are common. NaN has no limit.
    x = random.integers(-3, 4, shape).astype(np.float32)
    x[random.random(shape) < 0.01] = np.nan
    bias = random.integers(-2, 2, shape[-1]).astype(np.float32)

    def gradient(y: Any, limits: Any, dy: Any) -> Any:
        """The gradient as TensorFlow writes it."""
        kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
        hits = tf.cast(tf.equal(tf.reshape(limits, kept), y), tf.float32)
        count = tf.reshape(tf.reduce_sum(hits, axes), kept)
        return hits / count * tf.reshape(dy, kept)

    @tf.function
    def f(x: Any, bias: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, bias])
            y = tf.nn.relu(x + bias) if is_rectified else x + bias
            limits = reduce(y, axes, keepdims=bool(seed % 3))
            total = tf.reduce_sum(limits * limits - limits)
        if not as_tensorflow:
            return limits, *tape.gradient(total, [x, bias])
        dy = gradient(y, limits, tape.gradient(total, limits))
        return limits, *tape.gradient(y, [x, bias], output_gradients=dy)

    wanted = f.python_function(tf.constant(x), tf.constant(bias))
    found = settled(f, x, bias)
    assert any(isinstance(one, Pair) for one in regions(f, x, bias))
    for one, other in zip(found[:2], wanted[:2], strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    np.testing.assert_allclose(found[2].numpy(), wanted[2].numpy(), rtol=1e-5, atol=1e-4)


def test_gradients_of_limits_stay_as_they_are_where_a_step_is_wanted() -> None:
    x = normal(6, 5, 9)

    @tf.function
    def f(x: Any, dy: Any) -> Any:
        limits = tf.reduce_max(x, 1, keepdims=True)
        hits = tf.cast(tf.equal(x, limits), tf.float32)
        count = tf.reduce_sum(hits, 1, keepdims=True)
        return hits / count * dy, count

    dy = normal(6, 1, 9)
    wanted = f.python_function(tf.constant(x), tf.constant(dy))
    found = settled(f, x, dy)
    assert not any(isinstance(one, Pair) for one in regions(f, x, dy))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


def test_a_sum_of_several_is_one_pass() -> None:
    arrays = [normal(40, 300) for _ in range(4)]

    @tf.function
    def f(*arrays: Any) -> Any:
        return tf.add_n(arrays), tf.sort(arrays[0])

    wanted = arrays[0] + arrays[1] + arrays[2] + arrays[3]
    np.testing.assert_array_equal(settled(f, *arrays)[0].numpy(), wanted)
    assert [type(one) for one in regions(f, *arrays)] == [Fused]


def test_a_pool_of_other_numbers_than_the_relu_s_stays_as_it_is() -> None:
    x = normal(2, 8, 8, 4)

    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.nn.max_pool2d(tf.nn.relu(x) + 1.0, 2, 2, "VALID") ** 2)
        return tape.gradient(total, x)

    wanted = f.python_function(tf.constant(x))
    found = settled(f, x)
    assert not any(isinstance(one, Pair) for one in regions(f, x))
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5)
