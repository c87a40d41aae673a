import asyncio
import threading
import time

import numpy as np
import pytest

from pinnace.framework.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    UnavailableError,
)
from pinnace.serving.config.batching_config import BatchOptions
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.servable import Servable
from pinnace.serving.running.run_times import RunTimes
from pinnace.serving.running.signatures import Arrays
from support.waiting import until
from unit.serving.numpy_models import failing, half_plus_two, slow

FEEDS = {"x": np.float32([1, 2])}


def half(**options: float) -> Servable:
    return Servable("m", 1, LoadedModel({"s": half_plus_two()}), **options)


def test_a_run_gives_the_signature_s_outputs() -> None:
    servable = half()
    outputs = asyncio.run(servable.run("s", FEEDS))
    np.testing.assert_array_equal(outputs["y"], np.float32([2.5, 3]))
    servable.close()


@pytest.mark.parametrize(
    ("batching", "told"),
    [
        (None, "none"),
        (BatchOptions(), "up to 1024 rows"),
        (BatchOptions(16, batch_timeout_s=0.0025), "up to 16 rows, waits 2.5 ms"),
        (BatchOptions(8, allowed_batch_sizes=(2, 4, 8)), "2/4/8 rows"),
    ],
)
def test_how_calls_are_joined_is_said(batching: BatchOptions | None, told: str) -> None:
    model = half_plus_two()

    class Pure:
        inputs, outputs, is_pure, run_arrays = model.inputs, model.outputs, True, model.run_arrays

    signatures = {"pure": Pure(), "any": half_plus_two()}
    servable = Servable("m", 1, LoadedModel(signatures), batching=batching)
    assert servable.batches("pure") == told
    assert servable.batches("any") == "none"
    servable.close()


def test_an_unknown_signature_is_named_with_those_there_are() -> None:
    with pytest.raises(
        InvalidArgumentError, match='name: "t" not found in signature def; there are: "s"'
    ):
        half().signature("t")


def test_a_run_is_inline_once_it_was_measured_short() -> None:
    seen: list[threading.Thread] = []
    model = half_plus_two()

    class Watched:
        inputs, outputs, is_pure = model.inputs, model.outputs, False

        def run_arrays(self, feeds: Arrays) -> Arrays:
            seen.append(threading.current_thread())
            return model.run_arrays(feeds)

    servable = Servable("m", 1, LoadedModel({"s": Watched()}), inline_s=1.0)

    async def run() -> None:
        await servable.run("s", FEEDS)
        await servable.run("s", FEEDS)

    asyncio.run(run())
    servable.close()
    assert seen[0] is not threading.main_thread()
    assert seen[1] is threading.main_thread()


def test_the_event_loop_goes_on_during_a_long_run() -> None:
    servable = Servable("m", 1, LoadedModel({"s": slow(0.2)}))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def run() -> None:
        ticking = asyncio.create_task(tick())
        await servable.run("s", FEEDS)
        ticking.cancel()

    asyncio.run(run())
    servable.close()
    assert ticks >= 5


def test_a_run_that_takes_too_long_is_given_up() -> None:
    servable = Servable("m", 1, LoadedModel({"s": slow(0.2)}))
    begin = time.perf_counter()
    with pytest.raises(DeadlineExceededError, match=r"'m' version 1 did not answer in 0.05 s"):
        asyncio.run(servable.run("s", FEEDS, timeout_s=0.05))
    assert time.perf_counter() - begin < 0.19
    servable.close()


def test_a_model_s_own_timeout_is_its_own() -> None:
    own = DeadlineExceededError("the model gave up")
    servable = Servable("m", 1, LoadedModel({"s": failing(own)}))
    with pytest.raises(DeadlineExceededError, match="the model gave up"):
        asyncio.run(servable.run("s", FEEDS, timeout_s=5))
    servable.close()


def test_too_many_runs_are_refused_and_the_others_answered() -> None:
    servable = Servable("m", 1, LoadedModel({"s": slow(0.1)}), threads=1, max_waiting=2)

    async def run() -> list[Arrays | BaseException]:
        return await asyncio.gather(
            *(servable.run("s", FEEDS) for _ in range(6)), return_exceptions=True
        )

    results = asyncio.run(run())
    refused = [r for r in results if isinstance(r, UnavailableError)]
    assert len(refused) == 3
    assert "2 requests waiting already" in str(refused[0])
    assert sum(isinstance(r, dict) for r in results) == 3
    assert isinstance(asyncio.run(servable.run("s", FEEDS)), dict)  # there is room again
    servable.close()


def test_a_closed_version_still_answers_who_holds_it() -> None:
    servable = half()
    asyncio.run(servable.run("s", FEEDS))
    servable.close()
    servable.close()
    late = Servable("m", 1, LoadedModel({"s": slow(0.01)}))
    late.close()
    assert isinstance(asyncio.run(late.run("s", FEEDS)), dict)
    assert isinstance(asyncio.run(servable.run("s", FEEDS)), dict)


def test_threads_end_with_their_version() -> None:
    servable = Servable("ended", 1, LoadedModel({"s": slow(0.01)}))
    asyncio.run(servable.run("s", FEEDS))
    servable.close()
    until(lambda: not any(t.name.startswith("pinnace-ended") for t in threading.enumerate()))


def test_warming_up_measures() -> None:
    servable = half(inline_s=1.0)
    servable.warm_up({"s": FEEDS})
    assert servable._times["s"].expect(2) < 1.0
    servable.close()


def test_run_times_are_guessed_from_their_neighbours() -> None:
    times = RunTimes()
    assert times.expect(1) == float("inf")
    times.record(1024, 0.010)
    assert times.expect(1024) == 0.010
    assert times.expect(4096) == pytest.approx(0.040)  # larger: in proportion
    assert times.expect(10) == 0.010  # smaller: not longer
    times.record(1024, 0.001)
    assert times.expect(1024) == 0.001  # shorter: believed
    times.record(1024, 0.101)
    assert times.expect(1024) == pytest.approx(0.021)  # longer: slowly


def test_a_larger_run_is_known_to_take_as_long_as_a_smaller_one_and_no_more() -> None:
    times = RunTimes()
    assert times.at_least(1) == 0.0
    times.record(1024, 0.010)
    assert times.at_least(1024) == times.at_least(2**20) == 0.010
    assert times.at_least(10) == 0.0
    times.record(4, 0.2)  # while a compiler runs
    assert times.at_least(10) == times.at_least(1024) == 0.010


def test_expectations_stay_near_what_runs_take() -> None:
    times = RunTimes()
    seconds = 0.001
    times.record(1000, seconds)
    for _ in range(40):  # slightly longer each time
        seconds *= 1.02
        times.record(1000, seconds)
    mean = times._seconds[(1000).bit_length()]
    assert mean > 0.0018
    assert times.expect(1000) == pytest.approx(mean, rel=0.12)  # 10 % below is 11 % above


def test_a_size_that_was_slow_once_is_no_slower_than_its_parts() -> None:
    times = RunTimes()
    times.record(1000, 0.001)
    times.record(4000, 0.2)  # while a compiler runs
    assert times.expect(4000) == pytest.approx(0.004)
    times.record(16000, 0.002)
    assert times.expect(4000) == pytest.approx(0.002)
