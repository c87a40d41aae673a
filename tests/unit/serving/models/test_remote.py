"""Models at URLs are downloaded completely, cached, and never loaded in part."""

import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.framework import config
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnavailableError,
)
from pinnace.serving.command import parse_settings
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models import remote
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.private_copy import locked
from pinnace.serving.models.remote import RemoteVersion, find_remote_versions
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.sources import find_places, is_remote
from pinnace.serving.models.tables import Which
from pinnace.serving.models.version_loader import Loader
from support.waiting import until
from unit.serving.numpy_models import read_version, write_version

fsspec = pytest.importorskip("fsspec")
BASE = "memory://models/m"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for the test."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(config.settings, "cache", folder)
    return folder


@pytest.fixture
def store() -> Iterator[Any]:
    """An empty store in memory."""
    found = fsspec.filesystem("memory")
    found.store.clear()
    found.pseudo_dirs[:] = [""]
    yield found
    found.store.clear()


def put(store: Any, tmp_path: Path, version: int, offset: float = 2.0) -> None:
    """A version in the store."""
    shutil.rmtree(tmp_path / "made", ignore_errors=True)
    write_version(tmp_path / "made", version, offset)
    target = f"/models/m/{version}"
    if store.exists(target):
        store.rm(target, recursive=True)
    store.put(str(tmp_path / "made" / str(version)), target, recursive=True)


def repository(base: str = BASE, loader: Loader = read_version, **more: Any) -> Repository:
    settings = Settings(
        models=(ModelConfig("m", base),), file_system_poll_s=0, remote_poll_s=0, **more
    )
    return Repository(settings, loader)


def look(models: Repository) -> None:
    """Check for versions at URLs until those found are loaded."""
    models._look_at_urls()
    until(lambda: not models._queue.is_pending("m"))


def answer(models: Repository) -> float:
    servable = models.get(Which("m"))
    return float(servable.run_now("serving_default", {"x": np.float32([2])})["y"][0])


def test_what_is_a_url() -> None:
    for url in ("s3://bucket/m", "gs://b/m", "HTTP://host/m", "memory://m", "simplecache::s3://b"):
        assert is_remote(url), url
    for path in ("m", "/models/m", "file:///models/m", "./a:b", "c:/models", "c://models", ""):
        assert not is_remote(path), path


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    write_version(tmp_path / "m", 3)
    (place,) = find_places(f"file://{tmp_path}/m").values()
    with place.fetched() as path:
        assert path == tmp_path / "m" / "3"


def test_versions_are_served_and_replaced(store: Any, tmp_path: Path) -> None:
    put(store, tmp_path, 1)
    store.pipe_file("/models/m/notes.txt", b"no version")
    models = repository()
    models.start()
    assert answer(models) == 3.0
    put(store, tmp_path, 2, 5.0)
    look(models)
    assert answer(models) == 6.0
    assert [s.state.name for s in models.all_statuses("m")] == ["AVAILABLE", "END"]
    models.close()


def test_a_thread_looks_for_new_versions(store: Any, tmp_path: Path) -> None:
    put(store, tmp_path, 1)
    settings = Settings(models=(ModelConfig("m", BASE),), file_system_poll_s=0, remote_poll_s=0.01)
    models = Repository(settings, read_version)
    models.start()
    put(store, tmp_path, 2, 5.0)
    waiting = threading.Event()
    for _ in range(1000):
        if answer(models) == 6.0:
            break
        waiting.wait(0.01)
    assert answer(models) == 6.0
    models.close()


def test_a_version_is_fetched_once(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, tmp_path, 1)
    fetched: list[str] = []
    get_file = type(store).get_file

    def count(self: Any, path: str, to: str, **options: Any) -> None:
        fetched.append(path)
        get_file(self, path, to, **options)

    monkeypatch.setattr(type(store), "get_file", count)
    for _ in range(3):  # a server that restarts
        models = repository()
        models.start()
        assert answer(models) == 3.0
        models.close()
    first = list(fetched)
    assert first
    assert len(first) == len(set(first))
    put(store, tmp_path, 1, 4.0)  # another one with the same number
    models = repository()
    models.start()
    assert answer(models) == 5.0
    assert fetched == first * 2
    models.close()


def test_a_real_model_keeps_its_copy_as_long_as_it_lives(
    store: Any, tmp_path: Path, cache: Path
) -> None:
    import pinnace as tf

    module = tf.Module()
    module.weights = tf.Variable(np.arange(4, dtype=np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def serve(x: Any) -> dict[str, Any]:
        return {"y": x * module.weights}

    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=serve)
    store.put(str(tmp_path / "saved"), "/models/m/7", recursive=True)
    models = repository(loader=load_model)
    models.start()
    (root,) = (cache / "models").iterdir()
    with locked(root):
        remote.sweep(root)
    (copy,) = [path for path in root.iterdir() if path.is_dir()]
    assert copy.name.startswith("7-")
    outputs = models.get(Which("m")).run_now("serving_default", {"x": np.ones((1, 4), np.float32)})
    assert outputs["y"].tolist() == [[0, 1, 2, 3]]
    models.close()


def test_copies_that_nobody_uses_go_but_for_the_last(
    store: Any, tmp_path: Path, cache: Path
) -> None:
    for version in range(1, 8):
        put(store, tmp_path, version)
        models = repository()
        models.start()
        models.close()
    (root,) = (cache / "models").iterdir()
    left = sorted(path.name.split("-")[0] for path in root.iterdir() if path.is_dir())
    assert len(left) == remote._KEPT + 1
    assert left[-1] == "7"


def test_without_a_cache_folder_nothing_stays(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    put(store, tmp_path, 1)
    models = repository()
    models.start()
    assert answer(models) == 3.0
    models.close()
    (root,) = tmp_path.glob("pinnace-*")
    assert [path for path in root.iterdir() if path.is_dir()] == []


def test_a_saved_model_and_an_onnx_file_are_version_1(store: Any) -> None:
    store.pipe_file("/models/m/saved_model.pb", b"x")
    store.pipe_file("/models/one.onnx", b"onnx")
    (place,) = find_remote_versions(BASE).values()
    with place.fetched() as path:
        assert (path / "saved_model.pb").read_bytes() == b"x"
    (place,) = find_remote_versions("memory://models/one.onnx").values()
    with place.fetched() as path:
        assert (path.name, path.read_bytes()) == ("one.onnx", b"onnx")


def test_a_store_that_fails_leaves_what_is_loaded(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(store, tmp_path, 1)
    models = repository()
    models.start()

    def fail(*_: object, **__: object) -> Any:
        raise ConnectionResetError("gone")

    monkeypatch.setattr(type(store), "ls", fail)
    for _ in range(3):
        look(models)
    assert answer(models) == 3.0
    text = "ConnectionResetError: gone; the loaded versions stay"
    assert sum(text in record.message for record in caplog.records) == 1
    models.close()


def test_a_new_version_that_cannot_be_fetched_is_in_the_status(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, tmp_path, 1)
    models = repository()
    models.start()
    put(store, tmp_path, 2, 5.0)
    get_file = type(store).get_file

    def cut(self: Any, path: str, to: str, **options: Any) -> None:
        get_file(self, path, to, **options)
        Path(to).write_bytes(Path(to).read_bytes()[:-1])

    monkeypatch.setattr(type(store), "get_file", cut)
    look(models)
    newest, old = models.all_statuses("m")
    assert (newest.code_name, newest.state.name, old.state.name) == (
        "DATA_LOSS",
        "END",
        "AVAILABLE",
    )
    assert "came" in newest.message
    assert answer(models) == 3.0
    monkeypatch.undo()
    models.close()


@pytest.mark.parametrize("what", ["changes", "escapes", "is too many", "cannot be read"])
def test_what_is_fetched_is_judged(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, cache: Path
) -> None:
    put(store, tmp_path, 1)
    (place,) = find_remote_versions(BASE).values()
    kind: type[OpError] = UnavailableError
    if what == "changes":
        get_file = type(store).get_file

        def change(self: Any, path: str, to: str, **options: Any) -> None:
            get_file(self, path, to, **options)
            store.pipe_file(f"{path}.more", b"more")

        monkeypatch.setattr(type(store), "get_file", change)
    elif what == "escapes":
        listed = [{"name": "/models/m/1/../../../etc/passwd", "size": 1, "type": "file"}]
        monkeypatch.setattr(type(store), "ls", lambda *_, **__: listed)
        kind = InvalidArgumentError
    elif what == "is too many":
        monkeypatch.setattr(remote, "_MAX_FILES", 0)
        kind = InvalidArgumentError
    else:

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError("no")

        monkeypatch.setattr(type(store), "get_file", refuse)
    with pytest.raises(kind), place.fetched():
        pass
    assert not [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]


def test_errors_say_what_to_do(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    del store
    with pytest.raises(NotFoundError, match="memory://nowhere/m: there is no such file or folder"):
        find_remote_versions("memory://nowhere/m")
    with pytest.raises(InvalidArgumentError, match=r"nosuch://x.*[Pp]rotocol"):
        find_remote_versions("nosuch://x")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(FailedPreconditionError, match=r"pip install (-e )?'.*\[s3\]'"):
        find_remote_versions("s3://bucket/m")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(FailedPreconditionError, match=r"pip install (-e )?'.*\[remote\]'"):
        find_remote_versions("gs://bucket/m")


def test_a_start_from_nowhere_is_one_error(store: Any) -> None:
    del store
    with pytest.raises(NotFoundError, match="model 'm': memory://models/m: there is no such"):
        repository().start()


def test_models_over_http(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    write_version(tmp_path / "served" / "m", 4)
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler = partial(quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        models = repository(f"http://127.0.0.1:{server.server_port}/m")
        models.start()
        assert (answer(models), models.get(Which("m")).version) == (3.0, 4)
        models.close()
        server.shutdown()


def test_flags_take_urls() -> None:
    argv = ["--model", "m=s3://bucket/a=b/m", "gs://bucket/n", "--remote_poll_wait_seconds=5"]
    settings, _ = parse_settings(argv)
    assert [(model.name, model.base_path) for model in settings.models] == [
        ("m", "s3://bucket/a=b/m"),
        ("n", "gs://bucket/n"),
    ]
    assert settings.remote_poll_s == 5.0


def test_a_version_is_loaded_from_the_copy_itself(store: Any, tmp_path: Path) -> None:
    put(store, tmp_path, 1)
    seen: list[Path] = []

    def load(path: Path) -> LoadedModel:
        seen.append(path)
        return read_version(path)

    models = repository(loader=load)
    models.start()
    (place,) = find_remote_versions(BASE).values()
    assert isinstance(place, RemoteVersion)
    with place.fetched() as path:
        assert [path] == seen
    models.close()
