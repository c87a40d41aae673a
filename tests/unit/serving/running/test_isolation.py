"""Models that load slowly, run for long or never end affect themselves only."""

import asyncio
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import DeadlineExceededError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.ops.running import Stop
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.patience import done_within
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.servable import Servable
from pinnace.serving.models.tables import Which
from pinnace.serving.models.versions import State
from pinnace.serving.running.limits import RunLimits
from pinnace.serving.running.signatures import Arrays
from pinnace.serving.running.threads import RunThreads
from support.changed_models import write_changed
from support.waiting import until_in_loop
from unit.serving.memory_server import running
from unit.serving.numpy_models import NumpyModel, read_version, write_version

M = Which("m")
ROWS = TensorSpec([None], "float32")


class Looping(tf.Module):
    """A signature that never ends for zeros, and one that always ends."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def endless(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        i = tf.constant(0.0)
        while i < 1.0:
            i = i + tf.reduce_sum(x)
        return {"y": x + i}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def half(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x / 2 + 2}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinnace.serving.models.warmup._ZEROS_S", 0.5)


@pytest.fixture(scope="module")
def looping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looping")
    model = Looping()
    signatures = {"serving_default": model.half, "endless": model.endless}
    tf.saved_model.save(model, str(folder / "1"), signatures=signatures)
    return folder


def without_kernel(source: Path, target: Path) -> None:
    """A copy of a model whose divisions are replaced by unknown ops."""
    shutil.copytree(source, target)
    path = target / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for function in message.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "RealDiv":
                node.op = "Nobody>Knows"
    write_changed(path, message)


def settings_of(base: Path, **options: Any) -> Settings:
    return Settings(models=(ModelConfig("m", str(base)),), file_system_poll_s=0, **options)


def test_a_loop_that_never_ends_on_zeros_does_not_keep_a_model_from_being_served(
    looping: Path,
) -> None:
    begin = time.monotonic()
    with running(settings_of(looping, max_run_s=1.0), load_model) as server:
        assert time.monotonic() - begin < 20
        assert server.predict({"instances": [1.0]}).json() == {"predictions": [2.5]}
        good = server.predict({"instances": [2.0]}, signature="endless")
        assert good.json() == {"predictions": [4.0]}
        assert server.predict({"instances": [0.0]}, signature="endless").status_code == 504


def test_a_load_that_never_ends_is_given_up_and_others_are_loaded(tmp_path: Path) -> None:
    for name in ("m", "n"):
        write_version(tmp_path / name, 1)
    never = threading.Event()

    def load(path: Path) -> LoadedModel:
        if path.parent.name == "m" and path.name == "2":
            never.wait()
        return read_version(path)

    models = tuple(ModelConfig(name, str(tmp_path / name)) for name in ("m", "n"))
    settings = Settings(models=models, file_system_poll_s=0, max_load_s=0.3, load_retry_s=0)
    repository = Repository(settings, load)
    repository.start()
    try:
        for name in ("m", "n"):
            write_version(tmp_path / name, 2)
        for _ in range(3):
            repository.refresh()
        assert repository.get(Which("n")).version == 2
        assert repository.get(M).version == 1
        (status,) = repository.status(Which("m", 2))
        assert status.state is State.END
        assert "was not loaded within 0.3 s" in status.message
        hanging = [thread for thread in threading.enumerate() if thread.name == "pinnace-load"]
        assert len(hanging) == 1  # a hanging load is not retried
    finally:
        never.set()
        repository.close()


def test_a_version_with_an_op_that_cannot_run_does_not_replace_one_that_works(
    looping: Path, tmp_path: Path
) -> None:
    shutil.copytree(looping, tmp_path / "m")
    repository = Repository(settings_of(tmp_path / "m"), load_model)
    repository.start()
    try:
        without_kernel(looping / "1", tmp_path / "m" / "2")
        repository.refresh()
        assert repository.get(M).version == 1
        assert repository.is_ready()
        (status,) = repository.status(Which("m", 2))
        assert (status.state, status.code_name) == (State.END, "UNIMPLEMENTED")
        assert "signature 'serving_default': no kernel for Nobody>Knows" in status.message
        assert "'endless'" not in status.message
        shutil.rmtree(tmp_path / "m" / "2")
        repository.refresh()
        assert [s.version for s in repository.status(M)] == [1]  # removed versions are forgotten
    finally:
        repository.close()


def test_what_can_run_of_a_model_is_served_where_that_is_asked_for(
    looping: Path, tmp_path: Path
) -> None:
    without_kernel(looping / "1", tmp_path / "1")
    with pytest.raises(UnimplementedError, match="partial_models"):
        Repository(settings_of(tmp_path), load_model).start()
    with running(settings_of(tmp_path, partial_models=True), load_model) as server:
        assert server.predict({"instances": [2.0]}, signature="endless").status_code == 200
        assert server.predict({"instances": [2.0]}).status_code == 400


def failing_at_first(error: Exception) -> LoadedModel:
    def run(_: Arrays) -> Arrays:
        raise error

    return LoadedModel({"serving_default": NumpyModel({"x": ROWS}, {"y": ROWS}, run, True)})


@pytest.mark.parametrize(
    ("error", "is_served"),
    [
        (UnimplementedError("no kernel"), False),
        (tf.errors.FailedPreconditionError("variable 'v' has no value"), False),
        (tf.errors.InvalidArgumentError("zeros make no sense"), True),
        (ValueError("nor here"), True),
    ],
)
def test_a_first_run_that_would_fail_for_every_request_fails_the_load(
    tmp_path: Path, error: Exception, is_served: bool
) -> None:
    write_version(tmp_path, 1)
    repository = Repository(settings_of(tmp_path), read_version)
    repository.start()
    try:
        write_version(tmp_path, 2)
        repository._updater._versions._loader = lambda _: failing_at_first(error)
        repository.refresh()
        assert repository.get(M).version == (2 if is_served else 1)
    finally:
        repository.close()


def stuck(release: threading.Event, entered: threading.Semaphore) -> NumpyModel:
    """A kernel without checks: for 1 it blocks until it is released."""

    def run(feeds: Arrays) -> Arrays:
        if feeds["x"][0] == 1:
            entered.release()
            release.wait()
        return {"y": feeds["x"]}

    return NumpyModel({"x": ROWS}, {"y": ROWS}, run)


def test_a_kernel_that_never_ends_loses_its_thread_and_the_model_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pinnace.serving.running.lanes._GRACE_S", 0.1)
    release, entered = threading.Event(), threading.Semaphore(0)
    model = LoadedModel({"s": stuck(release, entered)})
    servable = Servable("m", 1, model, threads=2, inline_s=0.0)

    async def ask(value: float, timeout_s: float) -> Any:
        return await servable.run("s", {"x": np.float32([value])}, timeout_s)

    async def work() -> None:
        for turn in range(3):
            late = [ask(1, 0.1) for _ in range(2)]  # as many as there are threads
            for outcome in await asyncio.gather(*late, return_exceptions=True):
                assert isinstance(outcome, DeadlineExceededError)
            # Calls of this and another signature get new threads.
            assert (await ask(7, 10.0))["y"].tolist() == [7], turn
        assert servable.stuck_runs == 6
        late = [ask(1, 0.1) for _ in range(4)]
        await asyncio.gather(*late, return_exceptions=True)
        await until_in_loop(lambda: servable.stuck_runs >= 8)
        assert servable.stuck_runs == 8  # no more than that
        release.set()
        await until_in_loop(lambda: not servable.stuck_runs)
        for value in range(2, 10):
            assert (await ask(value, 10.0))["y"].tolist() == [value]

    asyncio.run(work())


def test_a_short_deadline_is_kept_behind_a_long_one() -> None:
    release, entered = threading.Event(), threading.Semaphore(0)
    model = LoadedModel({"s": stuck(release, entered)})
    servable = Servable("m", 1, model, threads=1, inline_s=0.0)

    async def work() -> None:
        feeds = {"x": np.float32([1])}
        first = asyncio.create_task(servable.run("s", feeds, 60.0))
        assert await asyncio.to_thread(entered.acquire, timeout=60)
        begin = time.monotonic()
        with pytest.raises(DeadlineExceededError):
            await servable.run("s", feeds, 0.1)
        assert time.monotonic() - begin < 5
        release.set()
        await first

    asyncio.run(work())


def test_a_deadline_ends_the_run_of_a_loop(looping: Path) -> None:
    limits = RunLimits(60.0, 0)
    servable = Servable("m", 1, load_model(looping / "1"), threads=1, guard=limits.guard)

    async def work() -> None:
        begin = time.monotonic()
        for _ in range(3):  # the only thread is free again each time
            with pytest.raises(DeadlineExceededError):
                await servable.run("endless", {"x": np.zeros(1, np.float32)}, 0.2)
        found = await servable.run("endless", {"x": np.float32([3])}, 10.0)
        assert found["y"].tolist() == [6.0]
        assert time.monotonic() - begin < 5

    asyncio.run(work())
    assert servable.stuck_runs == 0


def test_a_client_that_leaves_ends_the_run_of_a_loop(looping: Path) -> None:
    limits = RunLimits(60.0, 0)
    servable = Servable("m", 1, load_model(looping / "1"), threads=1, guard=limits.guard)

    async def work() -> None:
        task = asyncio.create_task(servable.run("endless", {"x": np.zeros(1, np.float32)}))
        await asyncio.sleep(0.1)
        task.cancel()
        found = await servable.run("endless", {"x": np.float32([3])}, 10.0)
        assert found["y"].tolist() == [6.0]

    asyncio.run(work())


def test_threads_come_and_go_as_they_are_needed() -> None:
    runners = RunThreads("test", 2)
    done = threading.Semaphore(0)
    seen: set[str] = set()

    def work() -> None:
        seen.add(threading.current_thread().name)
        done.release()

    for _ in range(50):
        runners.start(work)
        assert done.acquire(timeout=5)
    assert len(seen) <= 2
    runners.close()
    runners.start(work)  # late callers are served
    assert done.acquire(timeout=5)


def test_work_that_ends_in_time_gives_what_it_gives() -> None:
    assert done_within(lambda: 5, 10.0, "it", Stop()) == 5
    with pytest.raises(ValueError, match="no"):
        done_within(lambda: int("no"), 10.0, "it", Stop())


def test_what_never_ends_is_counted(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with running(settings_of(tmp_path), read_version) as server:
        (servable,) = server.repository.newest()
        path = "/monitoring/prometheus/metrics"
        assert "stuck_runs{" not in server.ask("GET", path).text
        assert servable._runners.lose(8)
        text = server.ask("GET", path).text
        assert 'pinnace:serving:stuck_runs{model_name="m",version="1"} 1.0' in text
