"""`profiler.profile`: what ran, how long, in which tier, and why."""

import threading
import time

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import observing
from pinnace.engine.networks import region
from pinnace.engine.plan import Plan
from pinnace.engine.tiers import Tiers
from pinnace.ops import execute
from pinnace.profiler import Profile, profile


def dense() -> tuple[tf.Tensor, object]:
    weights = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))

    @tf.function
    def model(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x @ weights) * 2.0

    return tf.constant(np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)), model


def convolutions() -> tuple[tf.Tensor, object]:
    model = tf.keras.Sequential(
        [
            tf.keras.Input([12, 12, 3]),
            tf.keras.layers.Conv2D(8, 3, activation="relu"),
            tf.keras.layers.Conv2D(4, 3),
            tf.keras.layers.GlobalAveragePooling2D(),
        ]
    )
    x = np.random.default_rng(0).standard_normal((2, 12, 12, 3)).astype(np.float32)
    return tf.constant(x), tf.function(lambda x: model(x))


@pytest.fixture
def compiled() -> object:
    saved = tf.config.get_tier()
    tf.config.set_tier("compiled")
    yield
    tf.config.set_tier(saved)


def test_results_are_the_same_and_steps_have_shapes_and_operations() -> None:
    x, model = dense()
    expected = model(x)
    found = profile(model, x)
    np.testing.assert_array_equal(found.result, expected)
    (product,) = [row for row in found.rows if row.kind == "MatMul"]
    assert product.took == ("float32[2, 4]", "float32[4, 3]")
    assert product.gave == ("float32[2, 3]",)
    assert product.flops == 2 * 2 * 4 * 3
    assert product.bytes == 4 * (8 + 12 + 6)
    assert product.tier == "plan"
    assert "no result is large enough" in product.reason


def test_parts_are_within_the_whole_and_sleep_is_seen() -> None:
    @tf.function
    def slow(x: tf.Tensor) -> tf.Tensor:
        def sleep(y: tf.Tensor) -> tf.Tensor:
            time.sleep(0.05)
            return y

        return tf.numpy_function(sleep, [x + 1.0], tf.float32) * 2.0

    slow(tf.ones([2]))
    found = profile(slow, tf.ones([2]))
    call = found.rows[0]
    steps = sum(row.seconds for row in found.rows if row.depth == 1)
    assert call.depth == 0
    assert steps <= call.seconds <= found.seconds
    assert found.covered_s == pytest.approx(call.seconds)
    # The function takes almost all of the time; the rest is Python between the steps.
    assert steps >= 0.05
    assert steps >= 0.9 * found.seconds


def test_what_telling_takes_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x, model = dense()
    model(x)
    plain = observing._specs

    def slowly(values: object) -> object:
        time.sleep(0.02)
        return plain(values)

    monkeypatch.setattr(observing, "_specs", slowly)
    begun = time.perf_counter()
    found = profile(model, x)
    took = time.perf_counter() - begun
    assert took >= 0.02 * 2 * len(found.rows)
    assert found.seconds <= took - 0.02 * 2 * (len(found.rows) - 1)


def test_eager_ops_are_rows() -> None:
    x = tf.ones([3, 3])
    x + x
    found = profile(lambda: tf.matmul(x, x) + x)
    assert [(row.tier, row.kind) for row in found.rows] == [("eager", "MatMul"), ("eager", "AddV2")]
    assert found.rows[0].flops == 54


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("blocks", [1, 2])
def test_a_network_has_a_row_for_each_layer(blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region, "blocks_of", lambda *_: blocks)
    x, model = convolutions()
    expected = model(x)
    found = profile(model, x)
    np.testing.assert_array_equal(found.result, expected)
    (network,) = [row for row in found.rows if row.kind == "Network"]
    assert network.tier == "compiled"
    layers = [row for row in found.rows if row.tier == "network row"]
    products = [row for row in layers if row.kind == "PRODUCT"]
    # Outputs times (taps x channels), two operations each.
    assert [row.flops for row in products] == [
        2 * (2 * 10 * 10 * 8) * (3 * 3 * 3),
        2 * (2 * 8 * 8 * 4) * (3 * 3 * 8),
    ]
    assert network.flops == sum(row.flops for row in layers)
    assert all(row.seconds >= 0 for row in layers)
    assert "rows: " in found.table()
    assert "row by row" in found.table()


@pytest.mark.usefixtures("compiled")
def test_regions_and_what_stands_alone_are_told_apart() -> None:
    @tf.function
    def model(x: tf.Tensor) -> tf.Tensor:
        return tf.cumsum(tf.exp(x) * 2.0 + x, axis=1)

    x = tf.constant(np.linspace(-1, 1, 1 << 16, dtype=np.float32).reshape(256, 256))
    expected = model(x)
    found = profile(model, x)
    np.testing.assert_array_equal(found.result, expected)
    (region,) = [row for row in found.rows if row.tier == "compiled" and row.depth == 1]
    assert region.kind == "Fused"
    assert {"Exp", "Mul", "AddV2"} <= set(region.ops)
    (alone,) = [row for row in found.rows if row.kind == "Cumsum"]
    assert alone.tier == "plan"
    assert "no elementwise expression" in alone.reason


def test_a_pinned_tier_is_the_reason() -> None:
    x, model = dense()
    saved = tf.config.get_tier()
    tf.config.set_tier("eager")
    try:
        model(x)
        found = profile(model, x)
    finally:
        tf.config.set_tier(saved)
    assert "settings: the tier is 'eager'" in found.table()


def test_a_loop_has_its_steps_below_it_with_counts() -> None:
    @tf.function
    def loop(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(5):
            x = tf.linalg.matmul(x, x) + x
        return x

    x = tf.eye(3) * 0.5
    saved = tf.config.get_tier()
    tf.config.set_tier("plan")  # else the loop is one step, a table
    try:
        expected = loop(x)
        found = profile(loop, x)
    finally:
        tf.config.set_tier(saved)
    np.testing.assert_array_equal(found.result, expected)
    (product,) = [row for row in found.rows if row.kind == "MatMul"]
    assert product.count == 5
    assert product.flops == 5 * 54


def test_nothing_is_left_of_it_when_it_is_over() -> None:
    plain = (Tiers.lease, Tiers.iteration, execute._run_again, execute.run_eagerly, Plan.__call__)
    x, model = dense()
    profile(model, x)

    def fails() -> None:
        tf.ones([2]) + tf.ones([2])
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        profile(fails)
    after = (Tiers.lease, Tiers.iteration, execute._run_again, execute.run_eagerly, Plan.__call__)
    assert after == plain


def test_other_threads_are_not_seen() -> None:
    x, model = dense()
    model(x)

    def beside() -> tf.Tensor:
        thread = threading.Thread(target=lambda: tf.matmul(tf.eye(5), tf.eye(5)))
        thread.start()
        thread.join()
        return model(x)

    assert "5, 5" not in profile(beside).table()


def test_errors_are_the_callers_with_the_node() -> None:
    @tf.function
    def model(x: tf.Tensor, at: tf.Tensor) -> tf.Tensor:
        return tf.gather(x, at)

    with pytest.raises(tf.errors.InvalidArgumentError, match="node"):
        profile(model, tf.ones([3]), tf.constant([7]))


def test_nothing_to_profile_is_an_error() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="ran no op"):
        profile(lambda: 3)
    with pytest.raises(TypeError, match="something to call, got 3"):
        profile(3)


def test_a_profile_within_a_profile_is_an_error() -> None:
    x, model = dense()
    with pytest.raises(tf.errors.AlreadyExistsError, match="another profile"):
        profile(lambda: profile(model, x))


def test_notebooks_get_a_table() -> None:
    x, model = dense()
    found = profile(model, x)
    assert isinstance(found, Profile)
    assert "<table>" in found._repr_html_()
    assert str(found) == found.table()
