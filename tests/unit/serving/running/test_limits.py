"""Limits of runs: a run beyond its time or memory ends, and the server continues."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.allocation import bounded
from pinnace.framework.errors import DeadlineExceededError, ResourceExhaustedError
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loading import load_model
from pinnace.serving.running.limits import RunLimits
from unit.serving.memory_server import running


def save(folder: Path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def endless(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            i = tf.constant(0.0)
            while i < tf.reduce_max(x):
                i = i + tf.reduce_min(x)
            return {"y": x + i}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def huge(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            n = tf.cast(tf.reduce_max(x), tf.int32)
            return {"y": x + tf.reduce_sum(tf.fill([n, n], 1.0))}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def growing(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            y = x
            for _ in tf.range(tf.cast(tf.reduce_max(x), tf.int32)):
                tf.autograph.experimental.set_loop_options(
                    shape_invariants=[(y, tf.TensorShape([None]))]
                )
                y = tf.concat([y, y], 0)
            return {"y": x + tf.reduce_sum(y)}

    model = Model()
    names = ("endless", "huge", "growing")
    signatures = {name: getattr(model, name) for name in names}
    tf.saved_model.save(
        model, str(folder), signatures={**signatures, "serving_default": model.huge}
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits") / "m"
    save(folder / "1")
    return folder


def test_what_is_beyond_a_limit_is_ended_and_nobody_else_disturbed(model: Path) -> None:
    settings = Settings(
        models=(ModelConfig("m", str(model)),),
        file_system_poll_s=0,
        max_run_s=1.5,
        max_run_bytes=50 * 2**20,
        run_threads=1,
    )
    with running(settings, load_model) as server:
        for _ in range(2):  # the model's only thread is free again
            endless = server.predict({"instances": [0, 5]}, signature="endless")
            assert endless.status_code == 504, endless.text
            assert "a run may take 1.5 s, and this one was not done" in endless.json()["error"]
            good = server.predict({"instances": [1, 5]}, signature="endless")
            assert good.json() == {"predictions": [6.0, 10.0]}
            huge = server.predict({"instances": [1e5]}, signature="huge")
            assert huge.status_code == 429, huge.text
            assert "a run may take 52428800 bytes of memory" in huge.json()["error"]
            assert huge.headers["retry-after"] == "1"
            assert server.predict({"instances": [10]}).json() == {"predictions": [110.0]}
            growing = server.predict({"instances": [40]}, signature="growing")
            assert growing.status_code == 429, growing.text
            assert server.predict({"instances": [2]}, signature="growing").json() == {
                "predictions": [10.0]
            }


def test_a_model_with_loops_never_runs_on_the_event_loop(model: Path) -> None:
    settings = Settings(models=(ModelConfig("m", str(model)),), file_system_poll_s=0, max_run_s=1.0)
    with running(settings, load_model) as server:
        for _ in range(3):
            server.predict({"instances": [1, 5]}, signature="endless")
        lanes = server.repository.newest()[0].lanes
        assert lanes["endless"]._inline_s == 0
        assert lanes["huge"]._inline_s > 0


def test_steps_without_loops_are_ended_between_two_of_them() -> None:
    @tf.function(input_signature=[tf.TensorSpec([300, 300], tf.float32)])
    def straight(x: tf.Tensor) -> tf.Tensor:
        for _ in range(3000):
            x = tf.matmul(x, x) * 0.0
        return x

    concrete = straight.get_concrete_function()
    x = np.ones((300, 300), np.float32)
    guarded = RunLimits(0.05, 0).guard(lambda _: {"y": concrete.run([x])[0]})
    for _ in range(5):  # before and after memory is planned for the shape
        with pytest.raises(DeadlineExceededError, match=r"a run may take 0.05 s"):
            guarded({})


def _dequeue(kind: str) -> Callable[[], object]:
    queue: Any
    if kind == "random":
        queue = tf.queue.RandomShuffleQueue(2, 0, [tf.float32], [()])
    elif kind == "priority":
        queue = tf.queue.PriorityQueue(2, [tf.float32], [()])
    elif kind == "padding":
        queue = tf.queue.PaddingFIFOQueue(2, [tf.float32], [()])
    else:
        queue = tf.queue.FIFOQueue(2, [tf.float32], [()])
    if kind == "many":
        return lambda: queue.dequeue_many(2)
    if kind == "full":
        queue.enqueue_many([[1.0, 2.0]])
        return lambda: queue.enqueue(3.0)
    return queue.dequeue  # type: ignore[no-any-return]


def _elements(kind: str, never: threading.Event) -> Callable[[], object]:
    def wait() -> Iterator[float]:
        never.wait()
        yield 1.0

    found = tf.data.Dataset.from_generator(wait, output_signature=tf.TensorSpec([], tf.float32))
    if kind == "prefetch":
        found = found.prefetch(2)
    else:
        found = found.map(lambda x: x + 1, num_parallel_calls=2).prefetch(1)
    return lambda: next(iter(found))


@pytest.mark.parametrize("kind", ["fifo", "random", "priority", "padding", "many", "full"])
@pytest.mark.parametrize("graph", [False, True])
def test_waiting_for_an_element_that_never_comes_ends(kind: str, graph: bool) -> None:
    take = _dequeue(kind)
    if graph:
        take = tf.function(take)
    guarded = RunLimits(0.2, 0).guard(lambda _: {"y": take()})  # type: ignore[dict-item]
    for _ in range(2):
        with pytest.raises(DeadlineExceededError, match=r"a run may take 0.2 s"):
            guarded({})


@pytest.mark.parametrize("kind", ["prefetch", "map"])
def test_waiting_for_a_dataset_ends(kind: str) -> None:
    never = threading.Event()
    take = _elements(kind, never)
    guarded = RunLimits(0.2, 0).guard(lambda _: {"y": take()})  # type: ignore[dict-item]
    try:
        with pytest.raises(DeadlineExceededError, match=r"a run may take 0.2 s"):
            guarded({})
    finally:
        never.set()


def test_waiting_for_a_critical_section_ends() -> None:
    section = tf.CriticalSection()
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        section.execute(lambda: (entered.set(), leave.wait(), tf.constant(1.0))[-1])

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert entered.wait(20)
        guarded = RunLimits(0.2, 0).guard(
            lambda _: {"y": section.execute(lambda: tf.constant(2.0))}  # type: ignore[dict-item]
        )
        with pytest.raises(DeadlineExceededError, match=r"a run may take 0.2 s"):
            guarded({})
    finally:
        leave.set()
        thread.join(20)


def test_without_limits_nothing_stands_between() -> None:
    def run(_: object) -> dict[str, np.ndarray]:
        return {}

    assert RunLimits(0, 0).guard(run) is run  # type: ignore[comparison-overlap]


def test_memory_that_is_given_back_may_be_taken_again() -> None:
    with bounded(2**24):
        for _ in range(100):
            np.ones(2**18)
        with pytest.raises(ResourceExhaustedError, match="may take 16777216 bytes"), bounded(2**24):
            np.ones(2**22)
    np.ones(2**22)


def test_arrays_outlive_the_watch_and_other_threads_are_not_watched() -> None:
    made: list[np.ndarray] = []
    with bounded(2**20):
        kept = np.arange(1000)
        thread = threading.Thread(target=lambda: made.append(np.ones(2**20)))
        thread.start()
        thread.join()
    assert made[0].nbytes == 2**23
    assert kept.sum() == 499500
    kept.resize(2000, refcheck=False)
    assert kept.sum() == 499500


def test_an_array_that_grows_is_watched() -> None:
    with bounded(2**20):
        kept = np.zeros(10)
    with pytest.raises(ResourceExhaustedError), bounded(2**20):
        kept.resize(2**20, refcheck=False)
    assert kept.size == 10
    with pytest.raises(ResourceExhaustedError), bounded(2**20):
        np.zeros(2**20)
