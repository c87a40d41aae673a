"""Files in the making: hidden beside their place, whole when they get their name."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING

from pinnace.storage.atomic import sync_file, sync_folder
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX, _ENDING = ".pinnace-score-", ".tmp"


class Staged:
    """A hidden file to be, which its process holds locked from `create` for as long as it lives.

    A signal may raise between any two steps of Python. Who must leave no file behind says first
    that it is to be discarded, and creates it then: `with` does so, and
    `stack.push(staged); staged.create()`.

    Args:
        folder: where it will be; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Known before it is there, so that `discard` finds it whenever it is asked.
        self.path = _new_path(folder)
        self._file: IO[bytes] | None = None
        self._is_published = False

    @property
    def file(self) -> IO[bytes]:
        """It, open for reading and writing."""
        if self._file is None:
            raise RuntimeError(f"{self.path} is not created")
        return self._file

    def create(self) -> None:
        """Have the file.

        Raises:
            OpError: the folder is not writable, or its disk full.
        """
        with explained("write", self._folder):
            while not self._try_to_create():
                self.file.close()
                self.path = _new_path(self._folder)

    def _try_to_create(self) -> bool:
        """Make a file and lock it; False if another process swept it before it was locked."""
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        self._file = os.fdopen(os.open(self.path, flags, 0o666), "w+b")
        if fcntl is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return self.path.stat().st_ino == os.fstat(self._file.fileno()).st_ino
        except (BlockingIOError, FileNotFoundError):
            return False
        except OSError:
            return True  # a file system without locks: no sweep can lock it either

    def publish(self, target: Path) -> None:
        """Give it its name, once it is on disk; what was there is replaced.

        Raises:
            OpError: the disk is full, or the folder gone.
        """
        with explained("write", target):
            sync_file(self.file)
            if fcntl is None:
                self.file.close()  # Windows gives open files no other name
            self.path.replace(target)
            self._is_published = True
            self.file.close()
            sync_folder(target.parent)

    def finish(self) -> None:
        """Have all that was written in the file, for who opens it by its path.

        Raises:
            OpError: the disk is full.
        """
        with explained("write", self.path):
            self.file.flush()

    def discard(self) -> None:
        """Remove it, if it is there and was not published."""
        if not self._is_published:
            with contextlib.suppress(OSError):
                self.path.unlink()
        if self._file is not None:
            with contextlib.suppress(OSError):  # what is not yet written may find no space again
                self._file.close()

    def __enter__(self) -> Self:
        try:
            self.create()
        except BaseException:
            self.discard()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def sweep(folder: Path) -> int:
    """Remove what dead processes left in a folder; how many files that were.

    A file whose process lives is locked, wherever that process runs. Where the system knows no
    such locks, nothing is removed.
    """
    count = 0
    if fcntl is None:
        return count
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{_PREFIX}*{_ENDING}"):
            with contextlib.suppress(OSError), path.open("rb+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
                count += 1
    return count


def _new_path(folder: Path) -> Path:
    return folder / f"{_PREFIX}{os.urandom(8).hex()}{_ENDING}"
