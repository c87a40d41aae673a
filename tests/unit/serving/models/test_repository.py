import gc
import logging
import shutil
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.engine import allocation
from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnknownError,
)
from pinnace.serving.config.model_config import All, Latest, ModelConfig, Specific, VersionPolicy
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.servable import Servable
from pinnace.serving.models.tables import Which
from pinnace.serving.models.versions import find_versions
from support.waiting import until
from unit.serving.numpy_models import half_plus_two, read_version, write_version

M = Which("m")
LATEST = Latest()


def repository(
    base: Path,
    policy: VersionPolicy = LATEST,
    labels: dict[str, int] | None = None,
    **settings: Any,
) -> Repository:
    config = ModelConfig("m", str(base), policy, labels or {})
    options = {"file_system_poll_s": 0.0, "load_retry_s": 1000.0, **settings}
    return Repository(Settings(models=(config,), **options), read_version)


def started(base: Path, *args: Any, **settings: Any) -> Repository:
    models = repository(base, *args, **settings)
    models.start()
    return models


def answer(models: Repository, which: Which = M) -> float:
    outputs = models.get(which).run_now("serving_default", {"x": np.float32([0])})
    return float(outputs["y"][0])


def states(models: Repository) -> dict[int, str]:
    return {status.version: status.state.name for status in models.status(M)}


def test_versions_are_folders_with_a_number(tmp_path: Path) -> None:
    for name in ("1", "00000123", "x", "1.5", "-3", "9" * 25, "\u0664"):
        (tmp_path / name).mkdir()
    (tmp_path / "7").write_text("a file")
    assert find_versions(str(tmp_path)) == {1: tmp_path / "1", 123: tmp_path / "00000123"}


def test_a_saved_model_itself_is_version_1(tmp_path: Path) -> None:
    folder = write_version(tmp_path, "m", 5)
    assert find_versions(str(folder)) == {1: folder}
    assert answer(started(folder)) == 5


def test_the_newest_version_answers(tmp_path: Path) -> None:
    for version in (1, 2, 10):
        write_version(tmp_path, version, version)
    models = started(tmp_path)
    assert answer(models) == 10
    assert models.get(M).version == 10
    assert states(models) == {10: "AVAILABLE"}
    assert models.names() == ["m"]
    assert "m" in models
    assert "n" not in models
    assert models.is_ready()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(Latest(2), [2, 1]), (All(), [2, 1, 0]), (Specific(frozenset({0, 2, 8})), [2, 0])],
)
def test_a_policy_says_which_versions_are_loaded(
    tmp_path: Path, policy: VersionPolicy, expected: list[int]
) -> None:
    for version in range(3):
        write_version(tmp_path, version, version)
    models = started(tmp_path, policy)
    assert [status.version for status in models.status(M)] == expected
    assert [answer(models, Which("m", version)) for version in expected] == expected


def test_what_is_not_loaded_is_not_found(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    models = started(tmp_path, labels={"stable": 1})
    assert models.get(Which("m", None, "stable")).version == 1
    for which, message in (
        (Which("n"), r"^Servable not found for request: Latest\(n\)$"),
        (Which("m", 7), r"^Servable not found for request: Specific\(m, 7\)$"),
    ):
        with pytest.raises(NotFoundError, match=message):
            models.get(which)
    for which, message in (
        (Which("n"), "^Could not find any versions of model n$"),
        (Which("m", 7), "^Could not find version 7 of model m$"),
    ):
        with pytest.raises(NotFoundError, match=message):
            models.status(which)
    for look in (models.get, models.status):
        with pytest.raises(InvalidArgumentError, match="Unrecognized servable version label: l"):
            look(Which("m", None, "l"))
    with pytest.raises(NotFoundError):
        models.get(Which("n", None, "stable"))


def test_a_new_version_takes_over_and_the_old_one_ends(tmp_path: Path) -> None:
    write_version(tmp_path, 1, 1)
    models = started(tmp_path)
    held = models.get(M)
    write_version(tmp_path, 2, 2)
    models.refresh()
    assert answer(models) == 2
    assert states(models) == {2: "AVAILABLE", 1: "END"}
    assert held.run_now("serving_default", {"x": np.float32([0])})["y"] == 1  # it still runs
    with pytest.raises(NotFoundError):
        models.get(Which("m", 1))


def test_an_old_version_gives_its_memory_back(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    models = started(tmp_path)
    old = weakref.ref(models.get(M))
    write_version(tmp_path, 2)
    models.refresh()
    gc.collect()
    assert old() is None


def test_a_version_goes_with_the_last_who_holds_it_and_its_weights_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[int] = []

    def load(folder: Path) -> LoadedModel:
        model = read_version(folder)
        return replace(model, forget=lambda: forgotten.append(int(folder.name)))

    monkeypatch.setattr(gc, "collect", lambda: None)  # it is freed without a collection
    gc.disable()
    try:
        write_version(tmp_path, 1)
        config = ModelConfig("m", str(tmp_path))
        models = Repository(Settings(models=(config,), file_system_poll_s=0), load)
        models.start()
        held = models.get(M)
        held.remember("wire", held)
        write_version(tmp_path, 2)
        models.refresh()
        assert forgotten == []
        assert answer(models) == held.run_now("serving_default", {"x": np.float32([0])})["y"][0]
        held.remember("wire", held)
        del held
        assert forgotten == [1]
        models.close()
        del models
        assert forgotten == [1, 2]
    finally:
        gc.enable()


def test_python_looks_for_the_rest_a_small_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinnace.serving.models.version_updater._COLLECT_EVERY", 1e9)
    looked: list[int] = []
    collect = gc.collect
    monkeypatch.setattr(gc, "collect", lambda: looked.append(collect()))
    write_version(tmp_path, 1)
    models = started(tmp_path)
    for version in (2, 3, 4):
        write_version(tmp_path, version)
        models.refresh()
    assert len(looked) == 1
    models._updater._collect_at = 0.0
    models.refresh()
    models.refresh()
    assert len(looked) == 2
    models.close()


def test_python_looks_at_once_where_the_process_has_grown_by_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinnace.serving.models.version_updater._COLLECT_EVERY", 1e9)
    looked: list[int] = []
    collect, megabytes = gc.collect, [100]
    monkeypatch.setattr(gc, "collect", lambda: looked.append(collect()))
    monkeypatch.setattr(allocation, "resident", lambda: megabytes[0] << 20)
    write_version(tmp_path, 1)
    models = started(tmp_path)
    for version, size in ((2, 100), (3, 163), (4, 164), (5, 227), (6, 228)):
        megabytes[0] = size
        write_version(tmp_path, version)
        models.refresh()
    assert len(looked) == 3  # the first time, and after each 64 MiB
    models.close()


def test_a_broken_version_is_refused_and_the_old_one_answers(tmp_path: Path) -> None:
    write_version(tmp_path, 1, 1)
    models = started(tmp_path)
    write_version(tmp_path, 2, None)
    models.refresh()
    assert answer(models) == 1
    status = models.status(Which("m", 2))[0]
    assert (status.state.name, status.code_name) == ("END", "DATA_LOSS")
    assert status.message == f"{tmp_path / '2' / 'saved_model.pb'}: damaged"
    assert models.is_ready()


def test_a_broken_version_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_version(tmp_path, 1, 1)
    write_version(tmp_path, 2, None)
    models = started(tmp_path)
    write_version(tmp_path, 3, None)
    for _ in range(3):
        models.refresh()
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "model 'm' version 2 was not loaded",
        "model 'm' version 3 was not loaded",
    ]


def test_a_broken_version_is_tried_again_when_it_changes(tmp_path: Path) -> None:
    write_version(tmp_path, 1, 1)
    (tmp_path / "2").mkdir()  # a copy in progress
    models = started(tmp_path)
    assert answer(models) == 1
    assert "saved_model.pb is missing" in models.status(Which("m", 2))[0].message
    shutil.rmtree(tmp_path / "2")
    write_version(tmp_path, 2, 2)
    models.refresh()
    assert answer(models) == 2
    assert states(models) == {2: "AVAILABLE", 1: "END"}


def test_a_broken_version_is_tried_a_few_times(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    write_version(tmp_path, 2, None)
    loads: list[str] = []

    def load(folder: Path) -> LoadedModel:
        loads.append(folder.name)
        return read_version(folder)

    settings = Settings(
        models=(ModelConfig("m", str(tmp_path)),),
        file_system_poll_s=0,
        load_retry_s=0,
        max_load_retries=2,
    )
    models = Repository(settings, load)
    models.start()
    for _ in range(5):
        models.refresh()
    assert loads.count("2") == 3
    assert loads.count("1") == 1


def test_whatever_a_loader_raises_stays_with_its_version(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    write_version(tmp_path, 2)

    def load(folder: Path) -> LoadedModel:
        if folder.name == "2":
            raise RecursionError("deep")
        return read_version(folder)

    models = Repository(
        Settings(models=(ModelConfig("m", str(tmp_path)),), file_system_poll_s=0), load
    )
    models.start()
    assert models.get(M).version == 1
    status = models.status(Which("m", 2))[0]
    assert (status.code_name, status.message) == ("INTERNAL", "RecursionError: deep")


def test_a_version_that_is_removed_is_unloaded(tmp_path: Path) -> None:
    for version in (1, 2):
        write_version(tmp_path, version, version)
    models = started(tmp_path)
    shutil.rmtree(tmp_path / "2")
    models.refresh()
    assert answer(models) == 1
    shutil.rmtree(tmp_path / "1")
    models.refresh()
    assert states(models) == {2: "END", 1: "END"}
    assert not models.is_ready()
    with pytest.raises(NotFoundError, match=r"Latest\(m\)"):
        models.get(M)


def test_a_base_path_that_vanishes_leaves_what_is_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_version(tmp_path / "m", 1, 1)
    models = started(tmp_path / "m")
    (tmp_path / "m").rename(tmp_path / "away")
    for _ in range(3):
        models.refresh()
    assert answer(models) == 1
    assert len(caplog.records) == 1  # not one per second
    (tmp_path / "away").rename(tmp_path / "m")
    write_version(tmp_path / "m", 2, 2)
    models.refresh()
    assert answer(models) == 2


@pytest.mark.parametrize(
    ("prepare", "kind", "message"),
    [
        (lambda _: None, NotFoundError, "model 'm': {base}: cannot be read: No such file"),
        (
            lambda base: base.mkdir(),
            NotFoundError,
            "model 'm': no version under {base}: there must",
        ),
        (
            lambda base: write_version(base, 3, None),
            DataLossError,
            "model 'm' version 3: {base}/3/saved",
        ),
        (
            lambda base: base.write_text(""),
            NotFoundError,
            "model 'm': {base}: is a file; a model that is served is a SavedModel",
        ),
    ],
)
def test_a_start_without_any_version_is_one_error(
    tmp_path: Path, prepare: Callable[[Path], object], kind: type[Exception], message: str
) -> None:
    base = tmp_path / "m"
    prepare(base)
    with pytest.raises(kind, match=message.format(base=base)):
        repository(base).start()


def test_labels_name_versions_that_are_there(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    with pytest.raises(FailedPreconditionError, match="'m': label 'stable' names version 3, which"):
        repository(tmp_path, labels={"stable": 3}).start()
    models = started(tmp_path, labels={"stable": 3}, allow_labels_for_unavailable_versions=True)
    with pytest.raises(NotFoundError, match=r"Specific\(m, 3\)"):
        models.get(Which("m", None, "stable"))
    write_version(tmp_path, 3)
    models.refresh()
    assert models.get(Which("m", None, "stable")).version == 3


def test_starting_twice_and_closing_twice_is_once(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    models = repository(tmp_path)
    models.start()
    first = models.get(M)
    models.start()
    assert models.get(M) is first
    models.close()
    models.close()
    assert states(models) == {1: "END"}


def test_a_thread_looks_for_new_versions(tmp_path: Path) -> None:
    write_version(tmp_path, 1)
    models = started(tmp_path, file_system_poll_s=0.01)
    write_version(tmp_path, 2)
    wait_for(lambda: models.get(M).version == 2)
    models.close()
    assert not any(thread.name == "pinnace-models" for thread in threading.enumerate())


def test_no_look_up_fails_while_versions_change(tmp_path: Path) -> None:
    write_version(tmp_path, 0, 0)
    models = started(tmp_path)
    failures: list[Exception] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            try:
                servable = models.get(M)
                outputs = servable.run_now("serving_default", {"x": np.float32([0])})
                assert outputs["y"][0] == servable.version
                assert models.status(M)
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for version in range(1, 10):
        write_version(tmp_path, version, version)
        models.refresh()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert models.get(M).version == 9


def test_a_list_of_ended_versions_is_bounded(tmp_path: Path) -> None:
    write_version(tmp_path, 0)
    models = started(tmp_path)
    for version in range(1, 120):
        shutil.rmtree(tmp_path / str(version - 1))
        write_version(tmp_path, version)
        models.refresh()
    assert len(models.status(M)) == 101


class TestConfigurationFile:
    @staticmethod
    def write(path: Path, *models: tuple[str, Path]) -> None:
        entries = [f'config {{ name: "{name}" base_path: "{base}" }}' for name, base in models]
        path.write_text(f"model_config_list {{ {' '.join(entries)} }}")

    def test_a_change_replaces_the_models(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        for name in ("a", "b", "c"):
            write_version(tmp_path / name, 1, ord(name))
        path = tmp_path / "models.config"
        self.write(path, ("a", tmp_path / "a"), ("b", tmp_path / "b"))
        settings = Settings(
            model_config_file=str(path), model_config_file_poll_s=0.01, file_system_poll_s=0
        )
        models = Repository(settings, read_version)
        models.start()
        a = models.get(Which("a"))
        assert models.names() == ["a", "b"]
        self.write(path, ("a", tmp_path / "a"), ("c", tmp_path / "c"))
        wait_for(lambda: models.names() == ["a", "c"])
        assert models.get(Which("a")) is a  # not affected
        assert answer(models, Which("c")) == ord("c")
        self.write(path, ("a", tmp_path / "b"), ("c", tmp_path / "late"))
        wait_for(lambda: "did not become available" in caplog.text)
        assert models.get(Which("a")) is a  # an invalid path changes nothing
        assert answer(models, Which("c")) == ord("c")
        write_version(tmp_path / "late", 1, 7)
        wait_for(lambda: answer(models, Which("a")) == ord("b"))  # until it is valid
        assert answer(models, Which("c")) == 7
        assert caplog.text.count("did not become available") == 1
        path.write_text("")  # as for a moment while it is overwritten
        models._reread_config()
        assert models.names() == ["a", "c"]
        path.write_text("damaged {")
        wait_for(lambda: "the models stay as they are" in caplog.text)
        assert models.names() == ["a", "c"]
        models.close()

    def test_a_model_of_the_flags_stays(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            write_version(tmp_path / name, 1)
        path = tmp_path / "models.config"
        self.write(path, ("b", tmp_path / "b"))
        settings = Settings(
            models=(ModelConfig("a", str(tmp_path / "a")),),
            model_config_file=str(path),
            file_system_poll_s=0,
        )
        models = Repository(settings, read_version)
        models.start()
        assert models.names() == ["a", "b"]
        assert [servable.name for servable in models.newest()] == ["a", "b"]
        models.close()


class TestReplacing:
    """A list of models is served completely, or nothing changes."""

    @pytest.fixture
    def models(self, tmp_path: Path) -> Repository:
        for name in ("m", "n"):
            write_version(tmp_path / name, 1, 1)
        configs = tuple(ModelConfig(name, str(tmp_path / name)) for name in ("m", "n"))
        models = Repository(Settings(models=configs, file_system_poll_s=0), read_version)
        models.start()
        return models

    @pytest.mark.parametrize(
        ("name", "policy", "reason"),
        [
            ("junk", LATEST, "damaged"),
            ("missing", LATEST, "cannot be read"),
            ("empty", LATEST, "no version under"),
            ("m", Specific(frozenset({99})), "no version under"),
            ("m", Specific(frozenset({3, 4})), r"of versions \[3, 4\] none"),
        ],
    )
    def test_a_model_that_does_not_load_changes_nothing(
        self, models: Repository, tmp_path: Path, name: str, policy: VersionPolicy, reason: str
    ) -> None:
        write_version(tmp_path / "junk", 1, None)
        write_version(tmp_path / "m", 2, 2)
        write_version(tmp_path / "m", 3, None)
        write_version(tmp_path / "good", 1, 5)
        (tmp_path / "empty").mkdir()
        held = models.get(M)
        bad = ModelConfig(name, str(tmp_path / name), policy)
        good = ModelConfig("good", str(tmp_path / "good"))
        kept = () if name == "m" else (ModelConfig("m", str(tmp_path / "m")),)
        with pytest.raises(UnknownError, match=f"^1 model.s. did not become available: .*{reason}"):
            models.replace_models((*kept, good, bad))
        assert models.names() == ["m", "n"]
        assert models.get(M) is held
        assert answer(models) == 1
        assert answer(models, Which("n")) == 1
        assert [status.state.name for status in models.status(Which("n"))] == ["AVAILABLE"]
        shutil.rmtree(tmp_path / "m" / "3")
        models.replace_models((ModelConfig("m", str(tmp_path / "m")), good))
        assert models.names() == ["good", "m"]
        assert answer(models) == 2
        assert states(models) == {2: "AVAILABLE", 1: "END"}

    def test_a_label_that_is_refused_changes_nothing(
        self, models: Repository, tmp_path: Path
    ) -> None:
        base = str(tmp_path / "m")
        write_version(tmp_path / "m", 2, 2)
        with pytest.raises(FailedPreconditionError, match="'x' names version 99"):
            models.replace_models([ModelConfig("m", base, All(), {"x": 99, "y": 1})])
        assert models.names() == ["m", "n"]
        assert answer(models) == 1
        assert models.labels("m") == {}
        other = write_version(tmp_path / "junk", 1, None).parent
        with pytest.raises(UnknownError) as refusal:  # for the path, not for the label before it
            models.replace_models([ModelConfig("m", str(other))])
        assert "names version" not in str(refusal.value)
        models.replace_models([ModelConfig("m", base, All(), {"y": 1, "z": 2})])
        assert models.get(Which("m", None, "y")).version == 1
        assert models.get(Which("m", None, "z")).version == 2
        with pytest.raises(FailedPreconditionError, match="'y' names version 1"):
            models.replace_models([ModelConfig("m", base, Latest(1), {"y": 1})])  # unloads it
        assert models.get(Which("m", None, "y")).version == 1

    def test_what_was_loaded_in_vain_is_closed(
        self, models: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed: list[tuple[str, int]] = []
        close = Servable.close
        monkeypatch.setattr(
            Servable, "close", lambda self: (closed.append((self.name, self.version)), close(self))
        )
        write_version(tmp_path / "good", 3, 5)
        with pytest.raises(UnknownError):
            models.replace_models(
                [
                    ModelConfig("m", str(tmp_path / "m")),
                    ModelConfig("good", str(tmp_path / "good")),
                    ModelConfig("bad", str(tmp_path / "bad")),
                ]
            )
        assert closed == [("good", 3)]
        models.replace_models([ModelConfig("m", str(tmp_path / "m"))])
        assert closed == [("good", 3), ("n", 1)]


def test_a_loader_that_never_ends_does_not_stop_answers(tmp_path: Path) -> None:
    write_version(tmp_path, 1, 1)
    goes_on = threading.Event()

    def load(folder: Path) -> LoadedModel:
        if folder.name == "2":
            goes_on.wait(10)
        return LoadedModel({"serving_default": half_plus_two(float(folder.name))})

    models = Repository(
        Settings(models=(ModelConfig("m", str(tmp_path)),), file_system_poll_s=0.01), load
    )
    models.start()
    write_version(tmp_path, 2, 2)
    wait_for(lambda: states(models).get(2) == "LOADING")
    assert answer(models) == 1
    goes_on.set()
    wait_for(lambda: answer(models) == 2)
    models.close()


def wait_for(condition: Callable[[], bool]) -> None:
    """Return once the condition holds; errors for missing models count as False."""
    logging.getLogger("pinnace.serving").setLevel(logging.INFO)

    def holds() -> bool:
        try:
            return condition()
        except NotFoundError:
            return False

    until(holds)
