"""Stores that report wrong names, sizes, folders or hosts; and URLs in messages."""

import http.server
import io
import logging
import tarfile
import threading
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pinnace.framework import config
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from pinnace.serving.config.model_config import ModelConfig, check_models
from pinnace.serving.config.settings import Settings
from pinnace.serving.config.urls import public_text, public_url
from pinnace.serving.models import remote
from pinnace.serving.models.remote import find_remote_versions
from pinnace.serving.models.repository import Repository
from unit.serving.numpy_models import read_version

fsspec = pytest.importorskip("fsspec")
BASE = "memory://models/m"
MEGABYTE = 2**20


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for the test."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(config.settings, "cache", folder)
    return folder


@pytest.fixture
def store() -> Iterator[Any]:
    """A store in memory with one version."""
    found = fsspec.filesystem("memory")
    found.store.clear()
    found.pseudo_dirs[:] = [""]
    found.pipe_file("/models/m/1/saved_model.pb", b"model")
    yield found
    found.store.clear()


def fetched() -> dict[str, bytes]:
    """The files of version 1 after the download."""
    (place,) = find_remote_versions(BASE).values()
    with place.fetched() as path:
        assert not [file for file in path.rglob("*") if file.is_symlink()]
        files = [file for file in path.rglob("*") if file.is_file()]
        return {str(file.relative_to(path)): file.read_bytes() for file in files}


def lists(store: Any, monkeypatch: pytest.MonkeyPatch, within: Any) -> list[str]:
    """Replace the store's listing of a version's folder; return the folders that were listed."""
    real = type(store).ls
    asked: list[str] = []

    def ls(self: Any, path: str, detail: bool = True, **options: Any) -> Any:
        if not path.startswith("/models/m/1"):
            return real(self, path, detail, **options)
        asked.append(path)
        return within(path)

    monkeypatch.setattr(type(store), "ls", ls)
    return asked


def entry(name: str, kind: str = "file", size: Any = 1) -> dict[str, Any]:
    return {"name": name, "type": kind, "size": size}


HOSTILE = {
    "folders without an end": lambda path: [entry(f"{path}/deeper", "directory")],
    "folders without number": lambda path: [entry(f"{path}/{i}", "directory") for i in range(300)],
    "files without number": lambda path: [entry(f"{path}/{i}") for i in range(20_000)],
    "a file above": lambda _: [entry("/models/m/1/../../../etc/passwd")],
    "a file elsewhere": lambda _: [entry("/etc/passwd")],
    "a folder elsewhere": lambda _: [entry("/models", "directory")],
    "a zero in a name": lambda _: [entry("/models/m/1/a\0b")],
    "a name that is too long": lambda path: [entry(f"{path}/{'ü' * 200}")],
    "a file that is a folder": lambda path: [entry(f"{path}/a"), entry(f"{path}/a/b")],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_listing_that_no_model_has_is_refused(
    store: Any, monkeypatch: pytest.MonkeyPatch, what: str, cache: Path
) -> None:
    asked = lists(store, monkeypatch, HOSTILE[what])
    with pytest.raises(InvalidArgumentError, match=r"memory://models/m/1: "):
        fetched()
    assert len(asked) <= 64
    assert not [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]


def test_names_do_not_reach_a_terminal_as_they_are(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists(store, monkeypatch, lambda _: [entry("/etc/\x1b[2J\nERROR all is well\u202e")])
    with pytest.raises(InvalidArgumentError) as caught:
        fetched()
    assert str(caught.value).isprintable()
    assert str(caught.value).isascii()


def test_a_folder_that_holds_itself_or_marks_itself_is_read_once(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def within(_: str) -> list[dict[str, Any]]:
        marks = [entry("/models/m/1", "directory"), entry("/models/m/1/", size=0)]
        return [*marks, entry("/models/m/1/saved_model.pb", size=5)]

    asked = lists(store, monkeypatch, within)
    assert fetched() == {"saved_model.pb": b"model"}
    assert len(asked) == 2  # before and after


@pytest.mark.parametrize("size", [5, 0, -(10**12), None, "5", 2**70])
def test_a_file_that_does_not_end_is_not_fetched(
    store: Any, monkeypatch: pytest.MonkeyPatch, size: Any, cache: Path
) -> None:
    lists(store, monkeypatch, lambda path: [entry(f"{path}/saved_model.pb", size=size)])
    room = namedtuple("room", ["total", "used", "free"])  # noqa: PYI024 - as shutil has it
    free = remote.SPARE_BYTES + 64 * MEGABYTE
    monkeypatch.setattr(remote.shutil, "disk_usage", lambda _: room(free, 0, free))
    sent = 0

    class Endless(io.RawIOBase):
        def read(self, _: int = -1) -> bytes:
            nonlocal sent
            sent += MEGABYTE
            return bytes(MEGABYTE)

    monkeypatch.setattr(type(store), "open", lambda *_, **__: Endless())
    with pytest.raises((DataLossError, ResourceExhaustedError)):
        fetched()
    assert sent <= 65 * MEGABYTE
    assert not [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]


@pytest.mark.parametrize("is_outside", [False, True])
def test_a_link_in_an_archive_is_no_link_here(store: Any, tmp_path: Path, is_outside: bool) -> None:
    """A link within the archive is followed; a link to a file of this machine is refused."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"of this machine")
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        link = tarfile.TarInfo("m/1/saved_model.pb")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret) if is_outside else "plain"
        archive.addfile(link)
        plain = tarfile.TarInfo("m/1/plain")
        plain.size = 4
        archive.addfile(plain, io.BytesIO(b"data"))
    store.pipe_file("/models/m.tar", file.getvalue())
    (place,) = find_remote_versions("tar://m::memory://models/m.tar").values()
    if is_outside:
        with pytest.raises(UnavailableError, match="not found"), place.fetched():
            pass
        return
    if not fsspec.filesystem("tar", fo=io.BytesIO(file.getvalue())).size("m/1/saved_model.pb"):
        # Older releases of fsspec report links as empty, and read their targets.
        with pytest.raises(DataLossError, match="has 0 bytes, and more came"), place.fetched():
            pass
        return
    with place.fetched() as path:
        assert not (path / "saved_model.pb").is_symlink()
        assert (path / "saved_model.pb").read_bytes() == b"data"


@contextmanager
def site(answer: Any) -> Iterator[int]:
    """An HTTP server: `answer(path)` returns a status, headers and a body."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_redirect_to_another_host_is_not_followed() -> None:
    pytest.importorskip("aiohttp")
    asked: list[str] = []

    def inside(path: str) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        return 200, {}, b"what only this host may read"

    def outside(path: str) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/m/"):
            return 302, {"Location": f"http://localhost:{port}/meta-data{path}"}, b""
        return 200, {"Content-Type": "text/html"}, b'<a href="saved_model.pb">x</a>'

    with site(inside) as port, site(outside) as other:
        (place,) = find_remote_versions(f"http://127.0.0.1:{other}/m").values()
        refusal = r"127\.0\.0\.1 sends on to http://localhost"
        with pytest.raises(PermissionDeniedError, match=refusal), place.fetched():
            pass
    assert asked == []


def test_a_redirect_on_the_same_host_is_followed() -> None:
    pytest.importorskip("aiohttp")

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/moved/"):
            return 200, {}, b"model"
        if path.startswith("/m/"):
            return 301, {"Location": f"/moved{path}"}, b""
        return 200, {"Content-Type": "text/html"}, b'<a href="saved_model.pb">x</a>'

    with site(answer) as port:
        (place,) = find_remote_versions(f"http://127.0.0.1:{port}/m").values()
        with place.fetched() as path:
            assert (path / "saved_model.pb").read_bytes() == b"model"


SECRETS = {
    "https://me:hush%21hush@host/m?sig=s3cret&x=1": "https://…@host/m?…",
    "s3://AKIA:hushhush@bucket/m": "s3://…@bucket/m",
    "simplecache::s3://id:hushhush@bucket/m": "simplecache::s3://…@bucket/m",
    "gs://bucket/m": "gs://bucket/m",
    "models/a?b": "models/a?b",
    "/models/me:you@home": "/models/me:you@home",
}


@pytest.mark.parametrize("url", SECRETS)
def test_what_lets_others_in_is_not_shown(url: str) -> None:
    assert public_url(url) == SECRETS[url]


def test_errors_of_libraries_are_shown_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "environment-secret")
    monkeypatch.setenv("FSSPEC_HTTP_TOKEN", "another-secret")
    url = "https://me:hush%21hush@host/m?sig=s3cret"
    text = (
        "401 for https://me:hush%21hush@host/m?sig=s3cret, tried hush!hush, "
        "environment-secret and another-secret"
    )
    shown = public_text(text, url)
    for secret in ("hush", "s3cret", "environment", "another-secret"):
        assert secret not in shown
    assert shown.startswith("401 for https://…@host/m")


def test_credentials_reach_neither_log_nor_status(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A store whose errors repeat the URL, at the start and later."""
    url = "https://me:hushhush@host/m?sig=s3cret"

    class Store:
        fails = True

        def invalidate_cache(self) -> None:
            pass

        def isfile(self, _: str) -> bool:
            return False

        def ls(self, path: str, **_: object) -> list[dict[str, Any]]:
            if self.fails or "/1" in path:
                raise ConnectionError(f"401, url='{url}', password hushhush, token s3cret")
            return [entry("https://host/m/1", "directory")]

    store = Store()
    monkeypatch.setattr(remote, "open_store", lambda _: (store, "https://host/m"))
    with caplog.at_level(logging.DEBUG):
        settings = Settings(
            models=(ModelConfig("m", url),),
            file_system_poll_s=0,
            remote_poll_s=0,
            max_load_retries=0,
        )
        said = []
        for fails in (True, False):
            store.fails = fails
            models = Repository(settings, read_version)
            with pytest.raises(OpError) as caught:
                models.start()
            said += [str(caught.value), *(one.message for one in models.all_statuses("m"))]
            models.close()
        with pytest.raises(InvalidArgumentError) as twice:
            check_models([ModelConfig("m", url)] * 2)
        said.append(str(twice.value))
    text = "\n".join([*said, caplog.text])
    assert "https://…@host/m" in text
    assert "hushhush" not in text
    assert "s3cret" not in text


def test_a_store_that_is_asked_too_much_is_unavailable(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ls(*_: object, **__: object) -> Any:
        raise TimeoutError("SlowDown")

    monkeypatch.setattr(type(store), "ls", ls)
    with pytest.raises(UnavailableError, match="TimeoutError: SlowDown"):
        find_remote_versions(BASE)
