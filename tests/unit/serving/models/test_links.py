"""Links in a served model: no file except the model's own is ever returned."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pinnace.framework.errors import PermissionDeniedError, UnavailableError
from pinnace.serving.models import private_copy, version_files
from pinnace.serving.models.private_copy import copy_privately
from support.linked_models import REFUSED, SERVED, save_words
from support.waiting import until
from unit.serving.test_process import process, read_url

SECRET = "root:x:0:0"

COMMAND = "import sys\nfrom pinnace.serving.command import main\nsys.exit(main(sys.argv[1:]))\n"


class Place:
    """A running server, with the folders of its versions and of a file outside."""

    def __init__(self, url: str, base: Path, outside: Path) -> None:
        self.url, self.base, self.outside = url, base, outside
        self._newest = 1

    def add(self, change: Any) -> int:
        """Create a version, changed before the server sees it; return its number."""
        self._newest += 1
        part = self.base / f"part-{self._newest}"
        save_words(part)
        target = self.base / str(self._newest)
        outside = self.outside / target.name
        outside.mkdir()
        (outside / "secret.txt").write_text(SECRET)
        # In another folder of the same depth, so that relative links stay valid.
        stage = self.base.parent / "stage"
        stage.mkdir(exist_ok=True)
        part.rename(stage / target.name)
        change(stage / target.name, outside)
        for entry in sorted(stage.iterdir(), key=lambda one: one.name == target.name):
            entry.rename(self.base / entry.name)
        return self._newest

    def status(self, version: int) -> tuple[str, str]:
        """Return a version's state and message, once it is final."""
        found: list[tuple[str, str]] = []

        def is_decided() -> bool:
            reply = httpx.get(f"{self.url}/v1/models/m", timeout=20).json()
            found.extend(
                (one["state"], one["status"]["error_message"])
                for one in reply["model_version_status"]
                if one["version"] == str(version) and one["state"] in ("AVAILABLE", "END")
            )
            return bool(found)

        until(is_decided)
        return found[0]

    def ask(self, version: int) -> httpx.Response:
        """Return the answer of a version, or of the newest if that one is not served."""
        path = f"{self.url}/v1/models/m/versions/{version}:predict"
        return httpx.post(path, json={"instances": [0]}, timeout=20)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server process."""
    folder = tmp_path_factory.mktemp("links")
    base, outside = folder / "m", folder / "outside"
    save_words(base / "1")
    outside.mkdir()
    program = folder / "serve.py"
    program.write_text(COMMAND)
    config = folder / "models.config"
    text = f'name: "m" base_path: {json.dumps(str(base))} model_version_policy {{ all {{}} }}'
    config.write_text(f"model_config_list {{ config {{ {text} }} }}")
    flags = [f"--model_config_file={config}", "--rest_api_port=0", "--port=0"]
    flags += ["--file_system_poll_wait_seconds=0.2"]
    with process(*flags, program=program) as server:
        url, _ = read_url(server)
        yield Place(url, base, outside)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_leads_out_of_a_model_is_not_served(kind: str, place: Place) -> None:
    named, change = REFUSED[kind]
    version = place.add(change)
    state, message = place.status(version)
    assert state == "END"
    assert str(place.base / str(version) / named) in message
    assert SECRET not in message
    reply = place.ask(version)
    assert reply.status_code == 404
    assert SECRET not in reply.text
    assert place.ask(1).json() == {"predictions": ["own"]}


@pytest.mark.parametrize("kind", SERVED)
def test_links_within_a_model_are_served(kind: str, place: Place) -> None:
    version = place.add(SERVED[kind])
    assert place.status(version)[0] == "AVAILABLE"
    assert place.ask(version).json() == {"predictions": ["own"]}


def test_the_named_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    save_words(tmp_path / "store" / "m")
    (tmp_path / "m").symlink_to(tmp_path / "store" / "m")
    copy = copy_privately(tmp_path / "m")
    assert copy is not None
    assert (copy.path / "assets" / "words.txt").read_text() == "own\nother\n"
    copy.release()


@pytest.mark.parametrize("kind", REFUSED)
def test_without_a_base_folder_the_version_is_its_own(kind: str, tmp_path: Path) -> None:
    """A secret beside a version that is named directly is outside of it."""
    if kind == "the whole version":
        pytest.skip("it is what the user names")
    model, outside = save_words(tmp_path / "1"), tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    REFUSED[kind][1](model, outside)
    with pytest.raises(Exception, match=str(model)) as caught:
        copy_privately(model)
    assert caught.type.__module__ == PermissionDeniedError.__module__


@pytest.mark.parametrize("part", ["assets/words.txt", "assets"])
def test_what_becomes_a_link_while_it_is_copied_is_not_followed(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is replaced by a link between the check and the copy."""
    model, outside = save_words(tmp_path / "m"), tmp_path / "outside" / "assets"
    outside.mkdir(parents=True)
    (outside / "words.txt").write_text(SECRET)
    copied: list[bytes] = []
    listed, copy_bytes = private_copy.list_files, private_copy._copy_bytes

    def list_and_exchange(path: Path) -> version_files.Files:
        files = listed(path)
        old = model / part
        if not old.is_symlink():
            old.rename(tmp_path / "old")
            old.symlink_to(tmp_path / "outside" / part)
        return files

    def noting(source: int, target: int) -> None:
        copied.append(os.pread(source, 100, 0))
        copy_bytes(source, target)

    monkeypatch.setattr(private_copy, "list_files", list_and_exchange)
    monkeypatch.setattr(private_copy, "_copy_bytes", noting)
    with pytest.raises(UnavailableError, match="changes while it is read"):
        copy_privately(model)
    assert not any(SECRET.encode() in data for data in copied)


def test_links_that_come_and_go_never_give_another_file(tmp_path: Path) -> None:
    """The same by chance: a thread replaces the file by a link and back all the time."""
    model, secret = save_words(tmp_path / "m"), tmp_path / "secret.txt"
    secret.write_text(SECRET)
    words = model / "assets" / "words.txt"
    (tmp_path / "link").symlink_to(secret)
    stop = threading.Event()

    def exchange() -> None:
        from pinnace.storage.atomic import exchange

        while not stop.is_set():
            exchange(words, tmp_path / "link")

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(100):
            try:
                copy = copy_privately(model)
            except (UnavailableError, PermissionDeniedError):
                continue
            assert copy is not None
            assert (copy.path / "assets" / "words.txt").read_text() == "own\nother\n"
            copy.release()
    finally:
        stop.set()
        thread.join()
