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
    """A new hidden file, which its process holds locked for as long as it lives.

    Args:
        folder: where it is; it must exist.

    Raises:
        OpError: the folder is not writable, or its disk full.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with explained("write", folder):
            self.path, self.file = _create(folder)

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
            self.file.close()
            sync_folder(target.parent)

    def finish(self) -> None:
        """Have all that was written in the file, for who opens it by its path.

        Raises:
            OpError: the disk is full.
        """
        with explained("write", self.path):
            self.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it, if it was not published."""
        if not self.file.closed:
            with contextlib.suppress(OSError):
                self.path.unlink()
            with contextlib.suppress(OSError):  # what is not yet written may find no space again
                self.file.close()


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


def _create(folder: Path) -> tuple[Path, IO[bytes]]:
    while True:
        path = folder / f"{_PREFIX}{os.urandom(8).hex()}{_ENDING}"
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(path, flags, 0o666), "w+b")
        if fcntl is None:
            return path, file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another process may have swept it before it was locked.
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return path, file
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError:
            return path, file  # a file system without locks: no sweep can lock it either
        file.close()
