"""A version that hangs while it is loaded does not block others."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from pinnace.framework.errors import AbortedError, NotFoundError, OpError, UnavailableError
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.load_queue import LoadQueue
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which
from pinnace.serving.models.versions import State
from support.hungry_models import save_endless, save_hungry
from support.waiting import until
from unit.serving.numpy_models import read_version, write_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pinnace.serving.models.loaded_model import LoadedModel

HANG_S = 60.0  # a test that waits for it fails
LATE_S = 20.0


class Hanging:
    """A loader: version 666 of any model hangs, and ignores requests to stop.

    Attributes:
        go: releases the hanging loads.
        at_once: the most simultaneous loads, except hanging ones.
    """

    def __init__(self) -> None:
        self.go = threading.Event()
        self.at_once = 0
        self.order: list[tuple[str, str]] = []
        self._running = 0
        self._lock = threading.Lock()

    def __call__(self, path: Path) -> LoadedModel:
        if path.name == "666":
            self.go.wait(HANG_S)
            return read_version(path)
        with self._lock:
            self._running += 1
            self.at_once = max(self.at_once, self._running)
            self.order.append((path.parent.name, path.name))
        try:
            return read_version(path)
        finally:
            with self._lock:
                self._running -= 1


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    loader = Hanging()
    yield loader
    loader.go.set()


def make(base: Path, names: list[str], loader: Any, **options: Any) -> Repository:
    models = tuple(ModelConfig(name, str(base / name)) for name in names)
    settings: dict[str, Any] = {"file_system_poll_s": 0.0, "max_load_s": 3.0, **options}
    return Repository(Settings(models=models, **settings), loader)


def version_of(repository: Repository, name: str) -> int:
    try:
        return repository.get(Which(name)).version
    except NotFoundError:
        return 0


def state_of(repository: Repository, name: str, version: int) -> State | None:
    found = [s for s in repository.all_statuses(name) if s.version == version]
    return found[0].state if found else None


def in_time(work: Callable[[], object]) -> object:
    """The result of the work; an error if it waits for a load that hangs."""
    with_thread = ThreadPoolExecutor(1)
    try:
        return with_thread.submit(work).result(LATE_S)
    finally:
        with_thread.shutdown(wait=False)


def test_twenty_models_of_which_two_hang(tmp_path: Path, hanging: Hanging) -> None:
    names = [f"m{n:02}" for n in range(20)]
    for name in names:
        write_version(tmp_path / name, 1)
    repository = make(tmp_path, names, hanging, max_load_s=HANG_S / 2, file_system_poll_s=0.05)
    repository._queue._slow_after_s = 0.3
    repository.start()
    try:
        hung = {"m00", "m07"}
        for name in names:
            write_version(tmp_path / name, 666 if name in hung else 2)
        good = [name for name in names if name not in hung]
        until(lambda: all(version_of(repository, name) == 2 for name in good), LATE_S)
        for name in hung:
            assert version_of(repository, name) == 1
            assert state_of(repository, name, 666) is State.LOADING
        for name in good:  # and again, while they still hang
            write_version(tmp_path / name, 3)
        until(lambda: all(version_of(repository, name) == 3 for name in good), LATE_S)
        assert hanging.at_once == 1  # others are loaded one after another
        hanging.go.set()
        until(lambda: all(version_of(repository, name) == 666 for name in hung), LATE_S)
    finally:
        hanging.go.set()
        repository.close()


@pytest.mark.parametrize("hung", ["a", "z"])
def test_the_start_goes_on_without_one_that_hangs(
    hung: str, tmp_path: Path, hanging: Hanging
) -> None:
    write_version(tmp_path / hung, 666)
    for name in ("m", "n"):
        write_version(tmp_path / name, 1)
    repository = make(tmp_path, sorted([hung, "m", "n"]), hanging, max_load_s=10.0)
    try:
        in_time(repository.start)
        assert (version_of(repository, "m"), version_of(repository, "n")) == (1, 1)
        assert version_of(repository, hung) == 0
        assert state_of(repository, hung, 666) is State.LOADING
        assert not repository.is_ready()
        hanging.go.set()
        until(lambda: version_of(repository, hung) == 666, LATE_S)
        assert repository.is_ready()
    finally:
        repository.close()


def test_a_start_that_fails_keeps_nothing_of_what_hangs(tmp_path: Path, hanging: Hanging) -> None:
    write_version(tmp_path / "h", 666)
    write_version(tmp_path / "m", 1)
    write_version(tmp_path / "bad", 1, None)
    repository = make(tmp_path, ["h", "m", "bad"], hanging, max_load_s=10.0)
    with pytest.raises(OpError, match="model 'bad' version 1"):
        in_time(repository.start)
    hanging.go.set()
    until(lambda: not repository._queue.is_pending("h"), LATE_S)
    assert version_of(repository, "h") == 0
    assert repository.servables() == []
    repository.close()


def started_beside(base: Path, hanging: Hanging) -> Repository:
    """Models m and n, with a version of m that hangs."""
    for name in ("m", "n"):
        write_version(base / name, 1)
    repository = make(base, ["m", "n"], hanging, max_load_s=HANG_S / 2, file_system_poll_s=0.05)
    repository._queue._slow_after_s = 0.2
    repository.start()
    write_version(base / "m", 666)
    until(lambda: state_of(repository, "m", 666) is State.LOADING, LATE_S)
    return repository


def test_a_model_is_unloaded_while_a_version_hangs(tmp_path: Path, hanging: Hanging) -> None:
    repository = started_beside(tmp_path, hanging)
    try:
        in_time(lambda: repository.unload("m"))
        assert version_of(repository, "m") == 0
        hanging.go.set()
        until(lambda: not repository._queue.is_pending("m"), LATE_S)
        assert version_of(repository, "m") == 0  # the late version is discarded
        assert state_of(repository, "m", 666) is State.END
        repository.load("m")
        assert version_of(repository, "m") == 666
    finally:
        repository.close()


def test_a_model_is_loaded_again_after_what_hung_was_unloaded(
    tmp_path: Path, hanging: Hanging
) -> None:
    repository = started_beside(tmp_path, hanging)
    try:
        in_time(lambda: repository.unload("m"))
        (tmp_path / "m" / "666").rename(tmp_path / "aside")
        in_time(lambda: repository.load("m"))
        assert version_of(repository, "m") == 1
    finally:
        repository.close()


def test_others_are_loaded_unloaded_and_replaced_while_one_hangs(
    tmp_path: Path, hanging: Hanging
) -> None:
    repository = started_beside(tmp_path, hanging)
    configs = {n: ModelConfig(n, str(tmp_path / n)) for n in ("m", "n", "new")}
    try:
        in_time(lambda: repository.unload("n"))
        in_time(lambda: repository.load("n"))
        assert version_of(repository, "n") == 1
        write_version(tmp_path / "new", 5)
        asked = threading.Thread(target=repository.replace_models, args=(list(configs.values()),))
        asked.start()  # it waits for the new version of m
        until(lambda: version_of(repository, "new") == 5, LATE_S)
        in_time(lambda: repository.unload("new"))
        # Another list is applied, and m is dropped with its load.
        in_time(lambda: repository.replace_models([configs["n"]]))
        assert repository.names() == ["n"]
        hanging.go.set()
        asked.join(LATE_S)
        assert not asked.is_alive()
        assert version_of(repository, "m") == 0
    finally:
        repository.close()


def test_a_list_with_a_model_that_hangs_holds_up_no_others(
    tmp_path: Path, hanging: Hanging
) -> None:
    for name, version in (("m", 1), ("n", 1), ("bad", 666)):
        write_version(tmp_path / name, version)
    repository = make(tmp_path, ["m", "n"], hanging, max_load_s=3.0, file_system_poll_s=0.05)
    repository.start()
    refused: list[OpError] = []

    def replace() -> None:
        names = ("m", "n", "bad")
        try:
            repository.replace_models([ModelConfig(x, str(tmp_path / x)) for x in names])
        except OpError as error:
            refused.append(error)

    asked = threading.Thread(target=replace)
    asked.start()
    try:
        write_version(tmp_path / "m", 2)
        until(lambda: version_of(repository, "m") == 2, LATE_S)
        assert asked.is_alive()
        asked.join(LATE_S)
        assert "was not loaded within 3 s" in str(refused[0])
        assert repository.names() == ["m", "n"]
        assert version_of(repository, "m") == 2
    finally:
        hanging.go.set()
        repository.close()


def test_the_end_does_not_wait_for_what_hangs(tmp_path: Path, hanging: Hanging) -> None:
    repository = started_beside(tmp_path, hanging)
    asked = ThreadPoolExecutor(1).submit(repository.load, "m")
    until(lambda: any(task.name == "m" for task in repository._queue._waiting), LATE_S)
    in_time(repository.close)
    assert isinstance(asked.exception(LATE_S), UnavailableError)
    assert repository.servables() == []
    hanging.go.set()
    until(lambda: not repository._queue.is_pending("m"), LATE_S)
    assert repository.servables() == []
    with pytest.raises(UnavailableError):
        repository.load("n")


def test_saved_models_whose_initialiser_never_ends(tmp_path: Path) -> None:
    """With the real loader, a run is told to end, and does."""
    for name in ("m", "n"):
        save_hungry(tmp_path / name / "1", side=2)
    models = tuple(ModelConfig(name, str(tmp_path / name)) for name in ("m", "n"))
    repository = Repository(Settings(models=models, file_system_poll_s=0.1, max_load_s=20.0))
    repository._queue._slow_after_s = 0.3
    repository.start()
    try:
        save_endless(tmp_path / "m" / "2")
        until(lambda: state_of(repository, "m", 2) is State.LOADING, LATE_S)
        save_hungry(tmp_path / "n" / "2", side=2)
        until(lambda: version_of(repository, "n") == 2, LATE_S)
        assert state_of(repository, "m", 2) is State.LOADING
        repository.unload("m")
        until(lambda: state_of(repository, "m", 2) is State.END, LATE_S)
        until(lambda: "pinnace-load" not in [t.name for t in threading.enumerate()], LATE_S)
    finally:
        repository.close()


class TestQueue:
    """Tasks without models."""

    def test_tasks_of_a_model_keep_their_order_and_one_is_done_at_a_time(self) -> None:
        queue = LoadQueue(HANG_S)
        done: list[tuple[str, int]] = []
        running = Counter[str]()

        def work(name: str, number: int) -> None:
            running["now"] += 1
            assert running["now"] == 1
            done.append((name, number))
            running["now"] -= 1

        tasks = [queue.add(n, lambda n=n, k=k: work(n, k)) for k in range(20) for n in "abc"]  # type: ignore[misc]
        for task in tasks:
            task.result(LATE_S)
        for name in "abc":
            assert [k for n, k in done if n == name] == list(range(20))
        queue.close()

    def test_what_is_slow_is_passed_by_others_and_never_by_its_own(self) -> None:
        queue = LoadQueue(0.05)
        go, done = threading.Event(), []

        def hang() -> None:
            with queue.loading("a", "a/1"):
                go.wait(HANG_S)
            done.append("a1")

        first = queue.add("a", hang)
        second = queue.add("a", lambda: done.append("a2"))
        queue.add("b", lambda: done.append("b")).result(LATE_S)
        assert done == ["b"]
        assert not second.done()
        go.set()
        first.result(LATE_S)
        second.result(LATE_S)
        assert done == ["b", "a1", "a2"]
        assert not queue.is_pending("a")

    def test_so_many_that_are_slow_are_passed_and_no_more(self) -> None:
        queue = LoadQueue(0.02)
        go, begun = threading.Event(), []

        def hang(name: str) -> None:
            with queue.loading(name, name):
                begun.append(name)
                go.wait(HANG_S)

        names = [str(n) for n in range(12)]
        tasks = [queue.add(name, lambda name=name: hang(name)) for name in names]  # type: ignore[misc]
        until(lambda: len(begun) == 9, LATE_S)
        assert not threading.Event().wait(0.2)
        assert begun == names[:9]
        go.set()
        for task in tasks:
            task.result(LATE_S)
        assert begun == names

    def test_what_a_task_raises_is_for_who_waits(self) -> None:
        queue = LoadQueue(HANG_S)

        def fail() -> None:
            raise AbortedError("no")

        assert isinstance(queue.add("a", fail).exception(LATE_S), AbortedError)
        assert queue.add("a", lambda: None).result(LATE_S) is None
        queue.close()
        assert isinstance(queue.add("a", fail).exception(LATE_S), UnavailableError)
