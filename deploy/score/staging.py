"""Staged files: hidden beside their target while they are written, then renamed."""

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
    """A hidden temporary file, which its process keeps locked from `create` on as long as it lives.

    A signal may raise between any two bytecodes. Code that must not leave a file behind registers
    its removal before it is created: `with` does so, and `stack.push(staged); staged.create()`.

    Args:
        folder: the folder of the target, which must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Set before the file exists, so that `discard` always finds it.
        self.path = _new_path(folder)
        self._file: IO[bytes] | None = None
        self._is_published = False

    @property
    def file(self) -> IO[bytes]:
        """The file, open for reading and writing."""
        if self._file is None:
            raise RuntimeError(f"{self.path} was not created")
        return self._file

    def create(self) -> None:
        """Create the file.

        Raises:
            OpError: the folder is not writable, or the disk is full.
        """
        with explained("write", self._folder):
            while not self._try_to_create():
                self.file.close()
                self.path = _new_path(self._folder)

    def _try_to_create(self) -> bool:
        """Create and lock a file; False if another process removed it before it was locked."""
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
            return True  # without file locks no other process can sweep it

    def publish(self, target: Path) -> None:
        """Sync the file and rename it to the target, which is replaced.

        Raises:
            OpError: the disk is full, or the folder was removed.
        """
        with explained("write", target):
            sync_file(self.file)
            if fcntl is None:
                self.file.close()  # Windows cannot rename open files
            self.path.replace(target)
            self._is_published = True
            self.file.close()
            sync_folder(target.parent)

    def finish(self) -> None:
        """Flush the file, for readers that open it by its path.

        Raises:
            OpError: the disk is full.
        """
        with explained("write", self.path):
            self.file.flush()

    def discard(self) -> None:
        """Remove the file unless it was published or does not exist."""
        if not self._is_published:
            with contextlib.suppress(OSError):
                self.path.unlink()
        if self._file is not None:
            with contextlib.suppress(OSError):  # buffered data may find no space again
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
    """Remove the files of dead processes in a folder; return their number.

    The file of a living process is locked, also on other machines. On systems without file locks
    nothing is removed.
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
