"""Local folders and object stores: listing files, and publishing complete ones."""

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
    """A file that was found.

    Attributes:
        name: its path below the folder, with `/`.
        location: its path or URL.
    """

    name: str
    location: str


def is_url(text: str) -> bool:
    """Whether a location is in a store."""
    return _URL.match(text) is not None and not text.startswith(_FILE_URL)


def local_path(text: str) -> str:
    """A local path, which may be given as a `file://` URL."""
    return text.removeprefix(_FILE_URL)


def find_files(pattern: str) -> list[Found]:
    """Find the files of a path, a pattern with `*`, `?`, `[` and `**`, or a folder, sorted by name.

    Hidden files, and those that begin with `_`, are ignored in folders.

    Raises:
        NotFoundError: no file matches.
        UnavailableError: the store does not answer.
    """
    found = _find_in_store(pattern) if is_url(pattern) else _find_here(local_path(pattern))
    if not found:
        raise NotFoundError(f"--input: there is no file at {_shown(pattern)}")
    return sorted(found, key=lambda one: one.name)


def open_location(location: str) -> IO[bytes]:
    """Open a local file or one in a store for reading; the result is seekable.

    Raises:
        NotFoundError: the file does not exist.
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
    """A file of a store that raises errors of this library."""

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
    """A place that results are written to.

    Attributes:
        shown: its name in messages.
    """

    shown: str

    def names(self) -> set[str]:
        """The names of its files with `/`, without hidden ones."""

    def read(self, name: str) -> bytes | None:
        """The content of a small file; None if it does not exist."""

    def stage(self, name: str) -> Staged:
        """A staged file that can be published under the name."""

    def publish(self, staged: Staged, name: str) -> None:
        """Publish a complete file."""

    def create(self, name: str, content: bytes) -> None:
        """Write a small file unless it exists."""

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""

    def sweep(self) -> int:
        """Remove staged files of dead processes; return their number."""

    def contains(self, location: str) -> bool:
        """Whether a file is below it."""


def open_output(place: str) -> Output:
    """Open the folder of the results; it is created if it does not exist.

    Raises:
        FailedPreconditionError: the path is not a folder.
        UnavailableError: the store does not answer.
    """
    return StoreOutput(place) if is_url(place) else FolderOutput(Path(local_path(place)))


class FolderOutput:
    """A local folder."""

    def __init__(self, folder: Path) -> None:
        self.shown = os.fspath(folder)
        self._folder = folder
        with explained("make", folder):
            if folder.exists() and not folder.is_dir():
                raise FailedPreconditionError(f"--output: {folder} is a file, not a folder")
            folder.mkdir(parents=True, exist_ok=True)

    def names(self) -> set[str]:
        """See `Output.names`."""
        return {one.name for one in _walk(self._folder, hidden=False)}

    def read(self, name: str) -> bytes | None:
        """See `Output.read`."""
        with explained("read", self._folder / name):
            try:
                return (self._folder / name).read_bytes()
            except FileNotFoundError:
                return None

    def stage(self, name: str) -> Staged:
        """See `Output.stage`; the temporary file is in the folder of the final one."""
        folder = (self._folder / name).parent
        with explained("make", folder):
            folder.mkdir(parents=True, exist_ok=True)
        return Staged(folder)

    def publish(self, staged: Staged, name: str) -> None:
        """See `Output.publish`; the file is renamed."""
        staged.publish(self._folder / name)

    def create(self, name: str, content: bytes) -> None:
        """See `Output.create`; if several processes call it at once, one of them writes."""
        with explained("write", self._folder / name), self.stage(name) as staged:
            staged.file.write(content)
            staged.finish()
            try:
                (self._folder / name).hardlink_to(staged.path)
            except FileExistsError:
                return
            except OSError:  # a file system without hard links
                if not (self._folder / name).exists():
                    staged.publish(self._folder / name)

    def remove(self, name: str) -> None:
        """See `Output.remove`."""
        with explained("remove", self._folder / name):
            (self._folder / name).unlink(missing_ok=True)

    def sweep(self) -> int:
        """See `Output.sweep`."""
        folders = [self._folder, *(path for path in self._folder.rglob("*") if path.is_dir())]
        return sum(sweep(folder) for folder in folders)

    def contains(self, location: str) -> bool:
        """See `Output.contains`."""
        if is_url(location):
            return False
        return Path(location).resolve().is_relative_to(self._folder.resolve())


class StoreOutput:
    """A folder of an object store, which cannot rename: files are uploaded under their keys.

    They are written to a local temporary folder, and uploaded when complete.
    """

    def __init__(self, url: str) -> None:
        from pinnace.serving.models.remote import open_store

        self.shown = _shown(url)
        self._url = url.rstrip("/")
        self._store, path = open_store(url)
        self._path = path.rstrip("/")

    def names(self) -> set[str]:
        """See `Output.names`."""
        with self._asking():
            self._store.invalidate_cache()
            try:
                paths = self._store.find(self._path)
            except FileNotFoundError:
                return set()
        below = {str(path)[len(self._path) :].lstrip("/") for path in paths}
        return {name for name in below if name and not _is_hidden(name, ".")}

    def read(self, name: str) -> bytes | None:
        """See `Output.read`."""
        with self._asking():
            self._store.invalidate_cache()
            try:
                return bytes(self._store.cat_file(f"{self._path}/{name}"))
            except FileNotFoundError:
                return None

    def stage(self, name: str) -> Staged:
        """See `Output.stage`; the temporary file is on this machine."""
        del name
        return Staged(Path(tempfile.gettempdir()))

    def publish(self, staged: Staged, name: str) -> None:
        """See `Output.publish`; an upload in parts becomes visible when all parts are there."""
        staged.finish()
        with self._asking(name):
            self._store.put_file(os.fspath(staged.path), f"{self._path}/{name}")

    def create(self, name: str, content: bytes) -> None:
        """See `Output.create`; concurrent callers may all write, so read the file afterwards."""
        if self.read(name) is None:
            with self._asking(name):
                self._store.pipe_file(f"{self._path}/{name}", content)

    def remove(self, name: str) -> None:
        """See `Output.remove`."""
        with self._asking(name), contextlib.suppress(FileNotFoundError):
            self._store.rm_file(f"{self._path}/{name}")

    def sweep(self) -> int:
        """See `Output.sweep`."""
        return sweep(Path(tempfile.gettempdir()))

    def contains(self, location: str) -> bool:
        """See `Output.contains`."""
        return location.startswith(f"{self._url}/")

    @contextlib.contextmanager
    def _asking(self, name: str = "") -> Iterator[None]:
        from pinnace.serving.models.remote import asking

        try:
            with asking(self._url, f"{self.shown}/{name}".rstrip("/")):
                yield
        except NotFoundError as error:  # the bucket does not exist
            raise UnavailableError(str(error)) from None


def _find_here(pattern: str) -> list[Found]:
    if not _WILD.search(pattern) or Path(pattern).exists():
        path = Path(pattern)
        if path.is_dir():
            return list(_walk(path, hidden=True))
        return [Found(path.name, pattern)] if path.exists() else []
    root = Path(*_fixed(Path(pattern).parts))
    found: list[Found] = []
    for text in glob.glob(pattern, recursive=True):  # noqa: PTH207 - absolute patterns
        path = Path(text)
        name = path.relative_to(root).as_posix()
        if path.is_dir():
            if not pattern.endswith("**"):  # else all files match
                found += [
                    Found(f"{name}/{one.name}", one.location) for one in _walk(path, hidden=True)
                ]
        elif not _is_hidden(name):
            found.append(Found(name, text))
    return list({one.location: one for one in found}.values())


def _fixed(parts: tuple[str, ...]) -> list[str]:
    """The first parts of a pattern, up to the first one with a wildcard."""
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
    """Yield the files below a folder; `hidden=False` also skips names that begin with `_`."""
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
    """Refuse an empty location.

    Raises:
        InvalidArgumentError: the location is empty.
    """
    if not place.strip():
        raise InvalidArgumentError(f"{option} must be a folder, a file or a URL, got ''")
