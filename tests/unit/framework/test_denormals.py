"""Denormal numbers are flushed to zero in our own runs, as in TensorFlow's, and nowhere else."""

import threading
import time

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import denormals
from pinnace.ops.kernels import team

SMALL, SMALLER = np.float32(1e-30), np.float32(1e-40)

pytestmark = pytest.mark.skipif(
    not denormals.can_flush(), reason="this processor's mode cannot be set from here"
)


def _user_keeps_denormals() -> bool:
    """Whether NumPy, called by a user, returns denormals and treats them as such."""
    made = np.full(5, SMALL) * np.float32(1e-10)
    taken = np.full(5, SMALLER) * np.float32(1)
    return bool((made != 0).all() and (taken != 0).all())


def test_a_plan_gives_zero_for_a_denormal_result() -> None:
    shrink = tf.function(lambda x: x * 1e-10)
    for size in (1, 5, 1 << 17):
        assert not shrink(tf.fill([size], SMALL)).numpy().any()
    assert _user_keeps_denormals()


def test_a_plan_takes_a_denormal_argument_for_zero() -> None:
    x = tf.constant([SMALLER, -SMALLER])
    answers = tf.function(lambda x: (x * 1e30, x > 0, 1 / x))(x)
    np.testing.assert_array_equal(answers[0], [0, 0])
    np.testing.assert_array_equal(answers[1], [False, False])
    np.testing.assert_array_equal(answers[2], [np.inf, -np.inf])


def test_numbers_that_are_only_moved_keep_their_bits() -> None:
    x = tf.constant([[SMALLER, 2 * SMALLER]])
    moved = tf.function(lambda x: tf.transpose(tf.concat([x, x], 0)))(x)
    np.testing.assert_array_equal(moved, [[SMALLER] * 2, [2 * SMALLER] * 2])


def test_float64_is_flushed_as_well() -> None:
    assert float(tf.function(lambda x: x * 1e-10)(tf.constant(1e-300, tf.float64))) == 0.0


@pytest.mark.parametrize("size", [4, 1 << 14])
def test_a_run_that_fails_restores_what_was_set(size: int) -> None:
    @tf.function
    def refuses(x: tf.Tensor) -> tf.Tensor:
        return tf.debugging.check_numerics(x * 1e-10, "refused")

    for _ in range(5):
        with pytest.raises(tf.errors.InvalidArgumentError, match="refused"):
            refuses(tf.fill([size], np.float32(np.nan)))
        assert _user_keeps_denormals()


def test_what_the_user_had_set_is_set_again() -> None:
    mode = denormals.begin()
    assert mode is not None
    try:
        tf.function(lambda x: x * 2)(tf.constant(1.0))
        assert not _user_keeps_denormals()
    finally:
        mode.end()
    assert _user_keeps_denormals()


def test_a_run_inside_a_run_sets_nothing() -> None:
    mode = denormals.begin()
    assert mode is not None
    try:
        assert denormals.begin() is None
    finally:
        mode.end()


def test_a_users_python_function_inside_a_plan_keeps_denormals() -> None:
    seen = []

    def theirs(x: np.ndarray) -> np.ndarray:
        seen.append(_user_keeps_denormals())
        inner = tf.function(lambda x: x * 1e-10)(tf.constant(SMALL))
        seen.append(float(inner) == 0)
        seen.append(_user_keeps_denormals())
        return x * np.float32(1e-10)

    @tf.function
    def calls(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = tf.numpy_function(theirs, [x], tf.float32)
        return y, x * 1e-10

    found, ours = calls(tf.constant([SMALL]))
    assert seen == [True] * 3
    assert found.numpy()[0] != 0
    assert ours.numpy()[0] == 0


def test_a_thread_that_is_started_in_a_run_begins_with_the_users_setting() -> None:
    seen = []

    def starts(x: np.ndarray) -> np.ndarray:
        thread = threading.Thread(target=lambda: seen.append(_user_keeps_denormals()))
        thread.start()
        thread.join()
        return x

    tf.function(lambda x: tf.numpy_function(starts, [x], tf.float32))(tf.constant([SMALL]))
    assert seen == [True]


def test_pieces_of_the_team_are_flushed_whoever_takes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    monkeypatch.setattr(team, "_helpers", team._Helpers())
    both = threading.Barrier(2)
    made: dict[int, float] = {}

    def work(_: int) -> None:
        both.wait(60)  # for the other thread
        product = np.multiply(np.full(1, SMALL), np.float32(1e-10))[0]
        made[threading.get_ident()] = float(product)

    team.share(2, work, threads=2)
    assert len(made) == 2
    assert set(made.values()) == {0.0}
    assert _user_keeps_denormals()


def test_a_large_eager_step_of_an_optimizer_is_flushed() -> None:
    variable = tf.Variable(tf.zeros([512]))
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build([variable])
    optimizer.apply([tf.fill([512], SMALL)], [variable])
    squares = optimizer.variables[-1]
    assert not np.asarray(squares).any()  # 1e-63
    squares.assign(tf.fill([512], SMALLER))
    optimizer.apply([tf.zeros([512])], [variable])
    assert not np.asarray(squares).any()
    assert _user_keeps_denormals()


def test_dense_moments_that_become_denormal_cost_no_more_than_others() -> None:
    """Adam's moments with a zero gradient: 1e-38 is halved until it is denormal."""

    def seconds(start: float) -> float:
        variable = tf.Variable(tf.zeros([1 << 16]))
        optimizer = tf.keras.optimizers.Adam(beta_1=0.999999, beta_2=0.999999)
        optimizer.build([variable])
        for slot in optimizer.variables[2:]:
            slot.assign(tf.fill([1 << 16], start))
        step = tf.function(lambda: optimizer.apply([tf.zeros([1 << 16])], [variable]))
        step()
        took = []
        for _ in range(20):
            began = time.perf_counter()
            step()
            took.append(time.perf_counter() - began)
        return min(took)

    assert seconds(1e-39) < 4 * seconds(1.0)  # without flushing: 20 to 60 times
