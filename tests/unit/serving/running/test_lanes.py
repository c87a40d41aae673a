"""Calls that wait together run together, and each gets its own result."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pinnace.framework.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError
from pinnace.framework.specs import TensorSpec
from pinnace.serving.config.batching_config import BatchOptions
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.servable import Servable
from pinnace.serving.running.run_times import RunTimes
from pinnace.serving.running.signatures import Arrays
from support.waiting import until_in_loop
from unit.serving.numpy_models import NumpyModel

ROWS = TensorSpec([None], "float32")


class Recorder:
    """A signature that records the sizes of its runs, and takes some seconds per row."""

    def __init__(self, function: Callable[[Any], Any], seconds: float = 0.0) -> None:
        self.sizes: list[int] = []
        self._function = function
        self._seconds = seconds

    def servable(self, **options: Any) -> Servable:
        model = NumpyModel({"x": ROWS}, {"y": ROWS}, self._run, is_pure=True)
        options = {"batching": BatchOptions(max_run_s=10.0), "inline_s": 10.0} | options
        servable = Servable("m", 1, LoadedModel({"s": model}), **options)
        servable.warm_up({"s": feeds(0.0)})
        self.sizes.clear()
        return servable

    def _run(self, given: Arrays) -> Arrays:
        self.sizes.append(len(given["x"]))
        time.sleep(self._seconds * len(given["x"]))  # a slow run
        return {"y": self._function(given["x"])}


def feeds(*values: float) -> Arrays:
    return {"x": np.float32(values)}


def gather(servable: Servable, calls: list[Arrays], **options: Any) -> list[Any]:
    async def run() -> list[Any]:
        runs = (servable.run("s", call, **options) for call in calls)
        return await asyncio.gather(*runs, return_exceptions=True)

    return asyncio.run(run())


def test_calls_of_one_turn_run_as_one_batch() -> None:
    recorder = Recorder(lambda x: x * 2)
    servable = recorder.servable(checks_batches=False)
    results = gather(servable, [feeds(1), feeds(2, 3), feeds(4)])
    assert [r["y"].tolist() for r in results] == [[2], [4, 6], [8]]
    assert recorder.sizes == [4]


def test_the_first_batches_are_compared_with_the_calls_alone() -> None:
    recorder = Recorder(lambda x: x * 2)
    servable = recorder.servable()
    for _ in range(10):
        results = gather(servable, [feeds(1), feeds(2)])
        assert [r["y"].tolist() for r in results] == [[2], [4]]
    assert recorder.sizes == [2, 1, 1] * 8 + [2] * 2


@pytest.mark.parametrize(
    "function",
    [lambda x: x - x.mean(), np.cumsum, lambda x: x[:1], lambda x: x[::-1].copy()],
    ids=["mean", "cumsum", "fewer rows", "reversed"],
)
def test_a_model_whose_rows_meet_is_never_joined(function: Callable[[Any], Any]) -> None:
    recorder = Recorder(function)
    servable = recorder.servable()
    for _ in range(3):
        calls = [feeds(1, 5), feeds(2, 9), feeds(4, 7)]
        for result, call in zip(gather(servable, calls), calls, strict=True):
            np.testing.assert_array_equal(result["y"], function(call["x"]))
    assert not servable.lanes["s"].joins
    assert recorder.sizes == [6] + [2] * 9


def test_a_signature_with_effects_is_never_joined() -> None:
    sizes: list[int] = []

    def run(given: Arrays) -> Arrays:
        sizes.append(len(given["x"]))
        return {"y": given["x"]}

    model = NumpyModel({"x": ROWS}, {"y": ROWS}, run)
    gather(Servable("m", 1, LoadedModel({"s": model}), batching=BatchOptions()), [feeds(1)] * 4)
    assert sizes == [1] * 4


def test_one_bad_call_does_not_fail_its_neighbours() -> None:
    def run(x: Any) -> Any:
        if (x < 0).any():
            raise InvalidArgumentError("negative")
        return x

    results = gather(Recorder(run).servable(), [feeds(1), feeds(-1), feeds(2)])
    assert results[0]["y"].tolist() == [1]
    assert isinstance(results[1], InvalidArgumentError)
    assert results[2]["y"].tolist() == [2]


def test_batches_are_capped_by_rows_and_padded() -> None:
    recorder = Recorder(lambda x: x)
    options = BatchOptions(max_batch_size=4, allowed_batch_sizes=(2, 4), max_run_s=10.0)
    servable = recorder.servable(batching=options, checks_batches=False)
    results = gather(servable, [feeds(i) for i in range(7)])
    assert [r["y"].tolist() for r in results] == [[i] for i in range(7)]
    assert recorder.sizes == [4, 4]


def test_batches_are_capped_by_the_time_they_would_take() -> None:
    recorder = Recorder(lambda x: x, seconds=0.02)
    options = BatchOptions(max_run_s=0.05)
    servable = recorder.servable(batching=options, checks_batches=False)
    gather(servable, [feeds(i) for i in range(8)])
    assert sum(recorder.sizes) == 8
    assert max(recorder.sizes) <= 3


def test_rows_of_another_shape_wait_for_their_own_batch() -> None:
    sizes = []

    def run(given: Arrays) -> Arrays:
        sizes.append(given["x"].shape)
        return {"y": given["x"]}

    spec = TensorSpec([None, None], "float32")
    model = NumpyModel({"x": spec}, {"y": spec}, run, is_pure=True)
    servable = Servable(
        "m",
        1,
        LoadedModel({"s": model}),
        batching=BatchOptions(max_run_s=10.0),
        inline_s=10.0,
        checks_batches=False,
    )
    servable.warm_up({"s": {"x": np.zeros((1, 2), np.float32)}})
    sizes.clear()
    shapes = [(1, 2), (2, 2), (1, 3), (1, 2)]
    results = gather(servable, [{"x": np.zeros(shape, np.float32)} for shape in shapes])
    assert [r["y"].shape for r in results] == shapes
    assert sizes == [(3, 2), (1, 3), (1, 2)]


def test_a_batch_that_is_not_full_waits_as_long_as_it_is_told() -> None:
    recorder = Recorder(lambda x: x)
    options = BatchOptions(max_batch_size=2, batch_timeout_s=0.2, max_run_s=10.0)
    servable = recorder.servable(batching=options, checks_batches=False)

    async def run() -> None:
        first = asyncio.create_task(servable.run("s", feeds(1)))
        await asyncio.sleep(0.02)
        assert not first.done()
        await servable.run("s", feeds(2))
        await first

    asyncio.run(run())
    assert recorder.sizes == [2]
    gather(servable, [feeds(3)])
    assert recorder.sizes == [2, 1]


def test_who_waits_behind_a_long_run_is_told_when_its_time_is_over() -> None:
    recorder = Recorder(lambda x: x, seconds=0.3)
    servable = recorder.servable(inline_s=0.0, threads=1, batching=None)

    async def run() -> float:
        first = asyncio.create_task(servable.run("s", feeds(1)))
        await until_in_loop(lambda: recorder.sizes == [1])
        begin = time.perf_counter()
        with pytest.raises((DeadlineExceededError, UnavailableError)):
            await servable.run("s", feeds(2), timeout_s=0.1)
        waited = time.perf_counter() - begin
        await first
        return waited

    assert asyncio.run(run()) < 0.25
    servable.close()
    assert recorder.sizes == [1]


def test_what_cannot_finish_in_time_is_refused_at_once() -> None:
    recorder = Recorder(lambda x: x, seconds=0.1)
    servable = recorder.servable(inline_s=0.0, threads=1, batching=None)

    async def run() -> None:
        waiting = [asyncio.create_task(servable.run("s", feeds(1))) for _ in range(5)]
        await until_in_loop(lambda: bool(recorder.sizes))
        begin = time.perf_counter()
        with pytest.raises(UnavailableError, match=r"could not answer in 0\.2 s: 4 requests wait"):
            await servable.run("s", feeds(2), timeout_s=0.2)
        assert time.perf_counter() - begin < 0.05
        await asyncio.gather(*waiting)

    asyncio.run(run())
    servable.close()


def test_a_call_that_was_cancelled_in_the_queue_never_runs() -> None:
    recorder = Recorder(lambda x: x, seconds=0.05)
    servable = recorder.servable(inline_s=0.0, threads=1, batching=None)

    async def run() -> None:
        first = asyncio.create_task(servable.run("s", feeds(1)))
        await until_in_loop(lambda: recorder.sizes == [1])
        second = asyncio.create_task(servable.run("s", feeds(2, 2)))
        await asyncio.sleep(0)  # it sends its request
        second.cancel()
        await first
        await servable.run("s", feeds(3, 3, 3))

    asyncio.run(run())
    servable.close()
    assert recorder.sizes == [1, 3]


def test_long_runs_go_on_side_by_side() -> None:
    both = threading.Barrier(2, timeout=5)

    def run(x: Any) -> Any:
        if x[0] > 0:
            both.wait()
        return x

    servable = Recorder(run).servable(inline_s=0.0, threads=2, batching=None)
    results = gather(servable, [feeds(1), feeds(2)])
    servable.close()
    assert [r["y"].tolist() for r in results] == [[1], [2]]


def test_rows_that_cost_nothing_are_found_out() -> None:
    """A run takes as long with many rows as with one: batches grow although one is slow already."""
    sizes: list[int] = []

    def run(given: Arrays) -> Arrays:
        sizes.append(len(given["x"]))
        time.sleep(0.01)
        return {"y": given["x"]}

    model = NumpyModel({"x": ROWS}, {"y": ROWS}, run, is_pure=True)
    servable = Servable(
        "m",
        1,
        LoadedModel({"s": model}),
        batching=BatchOptions(max_run_s=0.001),
        inline_s=10.0,
        checks_batches=False,
    )
    servable.warm_up({"s": feeds(0.0)})
    gather(servable, [feeds(i) for i in range(64)])
    servable.close()
    assert sum(sizes) == 65
    assert max(sizes) >= 16


def test_what_cannot_be_done_in_time_is_refused_until_once_the_measure_is_old() -> None:
    recorder = Recorder(lambda x: x, seconds=0.05)
    servable = recorder.servable()
    gather(servable, [feeds(1)], timeout_s=10)
    (refused,) = gather(servable, [feeds(1)], timeout_s=0.01)
    assert isinstance(refused, UnavailableError)
    assert "such a request takes about" in str(refused)
    assert recorder.sizes == [1]
    servable.lanes["s"]._measured_at -= 60
    recorder._seconds = 0.0
    (answered,) = gather(servable, [feeds(1)], timeout_s=0.04)
    assert answered["y"].tolist() == [1]
    (answered,) = gather(servable, [feeds(1)], timeout_s=0.04)
    assert answered["y"].tolist() == [1]


def test_many_rows_are_not_refused_for_what_one_row_took() -> None:
    recorder = Recorder(lambda x: x, seconds=0.02)
    servable = recorder.servable()
    gather(servable, [feeds(1)], timeout_s=10)
    recorder._seconds = 0.0
    (answered,) = gather(servable, [{"x": np.zeros(2**12, np.float32)}], timeout_s=10)
    assert isinstance(answered, dict)  # 82 s, if rows took as long together as one by one
    assert answered["y"].shape == (2**12,)
    servable.close()


def test_trials_end_though_two_threads_end_them_at_once() -> None:
    both = threading.Barrier(2, timeout=30)

    def double(x: Any) -> Any:
        if len(x) == 2 and not both.broken:
            both.wait()  # two batches run, each for the last trial
        return x * 2

    recorder = Recorder(double, seconds=0.02)
    options = BatchOptions(max_batch_size=2, max_run_s=10.0)
    servable = recorder.servable(batching=options, inline_s=0.0, threads=2)
    servable.lanes["s"]._trials = 1
    gather(servable, [feeds(float(i)) for i in range(4)])
    assert sorted(recorder.sizes) == [1, 1, 1, 1, 2, 2]
    both.abort()
    recorder.sizes.clear()
    results = gather(servable, [feeds(1), feeds(2)])
    assert [r["y"].tolist() for r in results] == [[2], [4]]
    assert recorder.sizes == [2]


def test_a_call_alone_may_run_longer_on_the_loop_than_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []

    def note(x: Any) -> Any:
        threads.append(threading.current_thread().name)
        return x

    recorder = Recorder(note)
    servable = recorder.servable(checks_batches=False, inline_s=0.001)
    main = threading.current_thread().name
    # Halfway between the limits of several calls and of one, on any machine.
    monkeypatch.setattr(RunTimes, "expect", lambda *_: 0.003)
    threads.clear()
    gather(servable, [feeds(1)])
    assert threads == [main]
    gather(servable, [feeds(1), feeds(2)])
    assert threads[1:] != [main]
    assert len(threads) == 2


def test_a_long_text_does_not_run_on_the_loop_because_short_ones_did() -> None:
    threads: list[str] = []

    def note(given: Arrays) -> Arrays:
        threads.append(threading.current_thread().name)
        return {"y": given["x"]}

    texts = TensorSpec([None], "string")
    model = NumpyModel({"x": texts}, {"y": texts}, note, is_pure=True)
    servable = Servable("m", 1, LoadedModel({"s": model}), checks_batches=False, inline_s=0.01)
    short, long = np.array([b"short"], object), np.array([b"long" * 2**20], object)
    servable.warm_up({"s": {"x": short}})
    main = threading.current_thread().name
    threads.clear()
    gather(servable, [{"x": short}])
    gather(servable, [{"x": long}])
    assert threads[0] == main
    assert main not in threads[1:]
    # Nor because another one of its length took no time.
    for _ in range(5):
        gather(servable, [{"x": long}])
    assert main not in threads[1:]


def test_a_thread_goes_on_with_what_waits_though_the_loop_is_busy() -> None:
    begun, others_wait, ended = threading.Event(), threading.Event(), threading.Event()

    def note(x: Any) -> Any:
        if x[0] == 1:
            begun.set()
            assert others_wait.wait(30)
        if x[-1] == 3:
            ended.set()
        return x

    recorder = Recorder(note)
    servable = recorder.servable(inline_s=0.0, threads=1, checks_batches=False)

    async def run() -> list[Any]:
        calls = [asyncio.create_task(servable.run("s", feeds(1)))]
        await until_in_loop(begun.is_set)
        calls += [asyncio.create_task(servable.run("s", feeds(i))) for i in (2, 3)]
        for _ in range(2):  # they send requests, and the iteration ends
            await asyncio.sleep(0)
        others_wait.set()
        assert ended.wait(30)  # the loop is idle meanwhile
        return await asyncio.gather(*calls)

    results = asyncio.run(run())
    servable.close()
    assert [r["y"].tolist() for r in results] == [[1], [2], [3]]
    assert recorder.sizes == [1, 2]


def test_a_thread_is_given_back_where_another_signature_waits_for_it() -> None:
    order: list[str] = []

    def noting(name: str) -> NumpyModel:
        def run(given: Arrays) -> Arrays:
            order.append(name)
            time.sleep(0.01)
            return {"y": given["x"]}

        return NumpyModel({"x": ROWS}, {"y": ROWS}, run)

    model = LoadedModel({"a": noting("a"), "b": noting("b")})
    servable = Servable("m", 1, model, threads=1, inline_s=0.0)

    async def run() -> None:
        calls = [asyncio.create_task(servable.run("a", feeds(1))) for _ in range(6)]
        calls.append(asyncio.create_task(servable.run("b", feeds(1))))
        await asyncio.gather(*calls)

    asyncio.run(run())
    servable.close()
    assert sorted(order) == ["a"] * 6 + ["b"]
    assert order.index("b") < 6


def test_a_call_that_is_alone_for_long_does_not_wait_for_others() -> None:
    recorder = Recorder(lambda x: x)
    servable = recorder.servable(checks_batches=False)

    async def alone() -> bool:
        task = asyncio.create_task(servable.run("s", feeds(1)))
        await asyncio.sleep(0)  # the task sends its request; the iteration has not ended
        ran = len(recorder.sizes)
        await task
        await asyncio.sleep(0)
        recorder.sizes.clear()
        return ran == 1

    async def run() -> None:
        at_once = [await alone() for _ in range(20)]
        assert not at_once[0]
        assert at_once[-1]
        for expected in ([1, 7], [8]):  # a call that came with others waits for them again
            await asyncio.gather(*(servable.run("s", feeds(i)) for i in range(8)))
            await asyncio.sleep(0)
            assert recorder.sizes == expected
            recorder.sizes.clear()

    asyncio.run(run())
