"""Folders of this machine and of object stores: what is in them, and files put there whole."""

from __future__ import annotations

import contextlib
import glob
import io
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from pinnace.deploy.score.staging import Staged, sweep
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+(?:::|://)")
_WILD = re.compile(r"[*?\[]")
_FILE_URL = "file://"


@dataclass(frozen=True, slots=True)
class Found:
    """A file.

    Attributes:
        name: below the folder that was asked for, with `/`.
        location: its path or URL.
    """

    name: str
    location: str


def is_url(text: str) -> bool:
    """Whether a place is in a store and not on this machine."""
    return _URL.match(text) is not None and not text.startswith(_FILE_URL)


def local_path(text: str) -> str:
    """A path that may be written as a `file://` URL."""
    return text.removeprefix(_FILE_URL)


def find_files(pattern: str) -> list[Found]:
    """The files that a path, a pattern with `*`, `?`, `[` and `**`, or a folder means, by name.

    Hidden files, and those that begin with `_`, are no data: they are left out of folders.

    Raises:
        NotFoundError: there are none.
        UnavailableError: the store does not answer.
    """
    found = _find_in_store(pattern) if is_url(pattern) else _find_here(local_path(pattern))
    if not found:
        raise NotFoundError(f"--input: there is no file at {_shown(pattern)}")
    return sorted(found, key=lambda one: one.name)


def open_location(location: str) -> IO[bytes]:
    """A file of this machine or of a store, open for reading; it can be sought in.

    Raises:
        NotFoundError: it is gone.
        UnavailableError: the store does not answer.
    """
    if not is_url(location):
        with explained("read", location):
            return open_regular(location)
    from pinnace.serving.models.remote import asking, open_store

    store, path = open_store(location)
    with asking(location):
        opened = store.open(path, "rb")
    return cast("IO[bytes]", io.BufferedReader(_Asked(opened, location), 1 << 20))


class _Asked(io.RawIOBase):
    """A file of a store whose errors are those of this library."""

    def __init__(self, file: Any, location: str) -> None:
        self._file = file
        self._location = location

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        from pinnace.serving.models.remote import asking

        with asking(self._location):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class Output(Protocol):
    """Where results go.

    Attributes:
        shown: for messages.
    """

    shown: str

    def names(self) -> set[str]:
        """The files in it, but hidden ones, by their names with `/`."""

    def read(self, name: str) -> bytes | None:
        """A small file; None if it is not there."""

    def stage(self, name: str) -> Staged:
        """A file in the making that can become the one of that name."""

    def publish(self, staged: Staged, name: str) -> None:
        """Put it there, whole."""

    def create(self, name: str, content: bytes) -> None:
        """Put a small file there, unless there is one."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def sweep(self) -> int:
        """Remove files in the making of dead processes; how many."""

    def contains(self, location: str) -> bool:
        """Whether a file is below it."""


def open_output(place: str) -> Output:
    """The folder that results go to; it is made.

    Raises:
        FailedPreconditionError: it is no folder.
        UnavailableError: the store does not answer.
    """
    return StoreOutput(place) if is_url(place) else FolderOutput(Path(local_path(place)))


class FolderOutput:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.shown = os.fspath(folder)
        self._folder = folder
        with explained("make", folder):
            if folder.exists() and not folder.is_dir():
                raise FailedPreconditionError(f"--output: {folder} is a file, not a folder")
            folder.mkdir(parents=True, exist_ok=True)

    def names(self) -> set[str]:
        """As `Output.names`."""
        return {one.name for one in _walk(self._folder, hidden=False)}

    def read(self, name: str) -> bytes | None:
        """As `Output.read`."""
        with explained("read", self._folder / name):
            try:
                return (self._folder / name).read_bytes()
            except FileNotFoundError:
                return None

    def stage(self, name: str) -> Staged:
        """As `Output.stage`: in the folder that the file will be in."""
        folder = (self._folder / name).parent
        with explained("make", folder):
            folder.mkdir(parents=True, exist_ok=True)
        return Staged(folder)

    def publish(self, staged: Staged, name: str) -> None:
        """As `Output.publish`: it gets another name."""
        staged.publish(self._folder / name)

    def create(self, name: str, content: bytes) -> None:
        """As `Output.create`: of several processes one is first."""
        with explained("write", self._folder / name), self.stage(name) as staged:
            staged.file.write(content)
            staged.finish()
            try:
                (self._folder / name).hardlink_to(staged.path)
            except FileExistsError:
                return
            except OSError:  # a file system without such links
                if not (self._folder / name).exists():
                    staged.publish(self._folder / name)

    def remove(self, name: str) -> None:
        """As `Output.remove`."""
        with explained("remove", self._folder / name):
            (self._folder / name).unlink(missing_ok=True)

    def sweep(self) -> int:
        """As `Output.sweep`."""
        folders = [self._folder, *(path for path in self._folder.rglob("*") if path.is_dir())]
        return sum(sweep(folder) for folder in folders)

    def contains(self, location: str) -> bool:
        """As `Output.contains`."""
        if is_url(location):
            return False
        return Path(location).resolve().is_relative_to(self._folder.resolve())


class StoreOutput:
    """A folder of an object store. Nothing can be renamed there: files are put under their keys.

    They are written on this machine, in the folder for temporary files, and sent when complete.
    """

    def __init__(self, url: str) -> None:
        from pinnace.serving.models.remote import open_store

        self.shown = _shown(url)
        self._url = url.rstrip("/")
        self._store, path = open_store(url)
        self._path = path.rstrip("/")

    def names(self) -> set[str]:
        """As `Output.names`."""
        with self._asking():
            self._store.invalidate_cache()
            try:
                paths = self._store.find(self._path)
            except FileNotFoundError:
                return set()
        below = {str(path)[len(self._path) :].lstrip("/") for path in paths}
        return {name for name in below if name and not _is_hidden(name, ".")}

    def read(self, name: str) -> bytes | None:
        """As `Output.read`."""
        with self._asking():
            self._store.invalidate_cache()
            try:
                return bytes(self._store.cat_file(f"{self._path}/{name}"))
            except FileNotFoundError:
                return None

    def stage(self, name: str) -> Staged:
        """As `Output.stage`: on this machine."""
        del name
        return Staged(Path(tempfile.gettempdir()))

    def publish(self, staged: Staged, name: str) -> None:
        """As `Output.publish`: sent in one piece, or in pieces that count when all are there."""
        staged.finish()
        with self._asking(name):
            self._store.put_file(os.fspath(staged.path), f"{self._path}/{name}")

    def create(self, name: str, content: bytes) -> None:
        """As `Output.create`; of two processes at one time both may write, and should read it."""
        if self.read(name) is None:
            with self._asking(name):
                self._store.pipe_file(f"{self._path}/{name}", content)

    def remove(self, name: str) -> None:
        """As `Output.remove`."""
        with self._asking(name), contextlib.suppress(FileNotFoundError):
            self._store.rm_file(f"{self._path}/{name}")

    def sweep(self) -> int:
        """As `Output.sweep`."""
        return sweep(Path(tempfile.gettempdir()))

    def contains(self, location: str) -> bool:
        """As `Output.contains`."""
        return location.startswith(f"{self._url}/")

    @contextlib.contextmanager
    def _asking(self, name: str = "") -> Iterator[None]:
        from pinnace.serving.models.remote import asking

        try:
            with asking(self._url, f"{self.shown}/{name}".rstrip("/")):
                yield
        except NotFoundError as error:  # a bucket that is not there
            raise UnavailableError(str(error)) from None


def _find_here(pattern: str) -> list[Found]:
    if not _WILD.search(pattern) or Path(pattern).exists():
        path = Path(pattern)
        if path.is_dir():
            return list(_walk(path, hidden=True))
        return [Found(path.name, pattern)] if path.exists() else []
    root = Path(*_fixed(Path(pattern).parts))
    found: list[Found] = []
    for text in glob.glob(pattern, recursive=True):  # noqa: PTH207 - patterns from `/` on, too
        path = Path(text)
        name = path.relative_to(root).as_posix()
        if path.is_dir():
            if not pattern.endswith("**"):  # else its files match themselves
                found += [
                    Found(f"{name}/{one.name}", one.location) for one in _walk(path, hidden=True)
                ]
        elif not _is_hidden(name):
            found.append(Found(name, text))
    return list({one.location: one for one in found}.values())


def _fixed(parts: tuple[str, ...]) -> list[str]:
    """The first parts of a pattern, up to the first that is none of a path."""
    found: list[str] = []
    for part in parts[:-1]:
        if _WILD.search(part):
            break
        found.append(part)
    return found


def _find_in_store(pattern: str) -> list[Found]:
    from pinnace.serving.models.remote import asking, open_store

    store, path = open_store(pattern)
    with asking(pattern):
        if not _WILD.search(path):
            if store.isdir(path):
                root, paths = path.rstrip("/"), store.find(path)
            else:
                exists = store.exists(path)
                root, paths = str(PurePosixPath(path).parent), [path] if exists else []
        else:
            fixed = _fixed(PurePosixPath(path).parts)
            root = str(PurePosixPath(*fixed)) if fixed else ""
            paths = [one for one in store.glob(path) if not store.isdir(one)]
        found = []
        for one in paths:
            name = str(one)[len(root) :].lstrip("/") if str(one).startswith(root) else str(one)
            if name and not _is_hidden(name):
                found.append(Found(name, store.unstrip_protocol(one)))
    return found


def _walk(folder: Path, *, hidden: bool) -> Iterator[Found]:
    """The files below a folder; `hidden` leaves out those that begin with `_`, too."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not _is_hidden(name, "._" if hidden else ".") and path.is_file():
            yield Found(name, os.fspath(path))


def _is_hidden(name: str, marks: str = "._") -> bool:
    return any(part[0] in marks for part in name.split("/") if part)


def _shown(place: str) -> str:
    if not is_url(place):
        return place
    from pinnace.serving.config.urls import public_url

    return public_url(place)


def check_place(option: str, place: str) -> None:
    """Refuse a place that cannot be one.

    Raises:
        InvalidArgumentError: it is empty.
    """
    if not place.strip():
        raise InvalidArgumentError(f"{option} must be a folder, a file or a URL, got nothing")
