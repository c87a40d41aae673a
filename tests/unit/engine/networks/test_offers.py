"""Helper threads that wait in machine code share the caller's table: the same bits each time.

Pieces do not depend on the thread that computes them, so a network gives the same bits as without
helpers.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from pinnace.ops.kernels import mailbox, team
from support import waiting
from unit.engine.networks.drawn import Drawn
from unit.engine.networks.drawn_transformers import DrawnTransformer
from unit.engine.networks.test_region import arrays_of, networks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Array

    Call = Callable[[], Array]


@pytest.fixture(autouse=True)
def helpers(monkeypatch: pytest.MonkeyPatch) -> Iterator[team._Helpers]:
    """A team of two with a separate helper, which other processes do not disturb."""
    monkeypatch.setattr(config.settings, "tier", "compiled")
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    monkeypatch.setattr(team, "_MOST", 2)
    monkeypatch.setattr(team._Helpers, "_judge", lambda *_: None)
    # A caller that is interrupted for longer is still followed.
    monkeypatch.setattr(team, "_AWAKE_S", 5e-3)
    own = team._Helpers()
    monkeypatch.setattr(team, "_helpers", own)
    yield own
    fall_asleep(own)  # before its memory is freed


def fall_asleep(own: team._Helpers) -> None:
    waiting.until(lambda: own._posts[team.TABLES].box[mailbox.WAITING] == 0, 30)


def perceptron(rows: int, width: int = 512, seed: int = 0) -> Call:
    """A network of matrix products that two threads share."""
    random = np.random.default_rng(seed)
    sizes = [(640, width), (width, width), (width, 10)]
    weights = [tf.Variable(random.normal(size=s).astype("f") / 25) for s in sizes]

    @tf.function
    def run(x: Any) -> Any:
        for weight in weights[:-1]:
            x = tf.nn.relu(x @ weight + 0.1)
        return x @ weights[-1]

    x = random.normal(size=(rows, 640)).astype("f")
    plan, arrays = arrays_of(run, x)
    (network,) = networks_of(plan, arrays)
    given = [arrays[plan.graph.inputs.index(value)] for value in network.cluster.inputs]

    def call() -> Array:
        (found,) = network(given, [None])
        return found

    wanted = x.astype("d")
    for weight in weights[:-1]:
        wanted = np.maximum(wanted @ weight.numpy().astype("d") + np.float32(0.1), 0)
    # Sums of 640 products of float32 lose some 640 half ulps at most, each way.
    np.testing.assert_allclose(call(), wanted @ weights[-1].numpy(), rtol=1e-3, atol=1e-3)
    return call


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of offers that were taken at a time."""
    counts: list[int] = []
    original = team.Offer

    class Counted(original):  # type: ignore[misc, valid-type]
        def __init__(self, lead: Any, follow: Callable[[Array, int], int]) -> None:
            def counting(box: Array, number: int) -> int:
                times = follow(box, number)
                counts.append(times)
                return times

            super().__init__(lead, counting)

    monkeypatch.setattr(team, "Offer", Counted)
    return counts


def until_helped(call: Call, helped: list[int], before: int) -> None:
    """Wait until a helper takes part; on a busy machine it may not have started yet."""

    def has_helped() -> bool:
        for _ in range(100):
            call()
        return sum(helped) > before

    waiting.until(has_helped, 60)


@pytest.mark.parametrize("rows", [1, 2, 7, 32])
def test_a_helper_that_is_awake_takes_part(rows: int, helped: list[int]) -> None:
    call = perceptron(rows)
    alone = call()
    for _ in range(2000):
        assert np.array_equal(call(), alone)
    until_helped(call, helped, 0)


@pytest.mark.parametrize("kind", [Drawn, DrawnTransformer])
def test_drawn_networks_give_the_same_bits_with_a_helper(
    kind: Any, helpers: team._Helpers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small they are; first alone, then repeatedly until they settle."""
    monkeypatch.setattr(team, "WORTH_OFFERING", 1)
    offered = 0
    for seed in range(12):
        drawn = kind(seed)
        given = [tf.constant(one) for one in ([drawn.x] if kind is Drawn else drawn.given)]
        with monkeypatch.context() as alone:
            alone.setattr(team, "offer", lambda work, *_, **__: work.lead(mailbox.NONE))
            wanted = drawn.function(*given).numpy()
        before = helpers._posts[team.TABLES].box[mailbox.GATE]
        for _ in range(60):
            assert np.array_equal(drawn.function(*given).numpy(), wanted, equal_nan=True), seed
        offered += int(helpers._posts[team.TABLES].box[mailbox.GATE] > before)
    assert offered > 3


def test_the_first_offer_of_a_process_starts_the_helper(
    helpers: team._Helpers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "_AWAKE_S", 0.0)  # calls do not follow each other closely
    offered: list[bool] = []
    small = team.Offer(lambda box: offered.append(box.size > 0), lambda *_: 0)
    for _ in range(3):
        team.offer(small, 2, wakes=False)
    assert offered == [True, False, False]
    assert len(helpers._threads) == 1


def test_a_setting_of_one_thread_is_heard_at_once(
    helpers: team._Helpers, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = perceptron(1)
    alone = call()
    for _ in range(50):
        call()
    gate = helpers._posts[team.TABLES].box[mailbox.GATE]
    assert gate  # something was offered
    monkeypatch.setattr(config.settings, "intra_op_threads", 1)
    for _ in range(100):
        assert np.array_equal(call(), alone)
    assert helpers._posts[team.TABLES].box[mailbox.GATE] == gate


def test_who_waits_for_nothing_goes_to_sleep(helpers: team._Helpers) -> None:
    call = perceptron(1)
    for _ in range(50):
        call()
    fall_asleep(helpers)
    assert helpers._posts[team.TABLES].box[mailbox.INSIDE] == 0
    assert helpers._posts[team.TABLES].box[mailbox.GATE] % 2 == 0


def test_a_helper_that_waits_comes_to_other_work() -> None:
    call = perceptron(1)
    for _ in range(20):
        for _ in range(20):
            call()
        wait = threading.Barrier(2, timeout=30).wait
        team.share(2, lambda _, wait=wait: wait() and None, threads=2)  # one would wait forever


def test_networks_of_several_sizes_in_turn(helpers: team._Helpers, helped: list[int]) -> None:
    """A helper whose memory is too small for an offer leaves it to the caller."""
    calls = [perceptron(rows, width, seed) for rows, width, seed in [(1, 512, 1), (40, 544, 2)]]
    wanted = [call() for call in calls]
    for _ in range(300):
        for call, alone in zip(calls, wanted, strict=True):
            assert np.array_equal(call(), alone)
    for call, alone in zip(calls, wanted, strict=True):
        fall_asleep(helpers)
        before = sum(helped)
        for _ in range(1000):
            assert np.array_equal(call(), alone)
        until_helped(call, helped, before)


def test_callers_at_once_do_not_mix() -> None:
    calls = [perceptron(1 + seed, seed=seed) for seed in range(3)]
    wanted = [call() for call in calls]
    wrong: list[bool] = []

    def caller(number: int) -> None:
        wrong.extend(not np.array_equal(calls[number](), wanted[number]) for _ in range(500))

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(3)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert not any(wrong)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_child_has_no_helper_that_is_awake() -> None:
    call = perceptron(1)
    alone = call()
    for _ in range(50):
        call()
    child = os.fork()
    if child == 0:
        right = all(np.array_equal(call(), alone) for _ in range(50))
        os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert np.array_equal(call(), alone)
