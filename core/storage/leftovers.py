"""Removal of hidden files and folders that killed processes have left.

A writer holds a lock on its files, which the system releases when the process ends in any way. A
file is removed if nobody holds its lock, nothing in it has changed for a day and no journal names
it: the day is for file systems whose locks other machines do not see, and for complete files that
wait for others.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing tells what is somebody's, so nothing is removed
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

_NAME = re.compile(r"\.pinnace-([0-9a-f]{16})\.(?:tmp|new)\Z")
_JOURNAL_ENDING = ".pinnace-journal"
_AGE_S = 86_400.0
# Folders that this process has looked through, and when; all again when there are this many.
_looked: dict[tuple[int, int], float] = {}
_AGAIN_S = 3600.0
_MOST_LOOKED = 4096


def hold(handle: int) -> None:
    """Hold an open file or folder, until its handle is closed, against `remove_leftovers`."""
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks: nobody else has one
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_leftovers(folder: Path, now: float) -> None:
    """Remove what killed processes left in a folder; it is looked through once in an hour.

    Args:
        folder: the folder; what is below it is not looked at.
        now: the time of something that was just made there: the clock of its file system.
    """
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        status = folder.stat()
        key = (status.st_dev, status.st_ino)
        if time.monotonic() - _looked.get(key, -_AGAIN_S) < _AGAIN_S:
            return
        if len(_looked) >= _MOST_LOOKED:
            _looked.clear()
        _looked[key] = time.monotonic()
        with os.scandir(folder) as entries:
            names = [one.name for one in entries if ".pinnace-" in one.name]
        found = [(name, match[1]) for name in names if (match := _NAME.match(name))]
        if found:
            kept = _tokens_of_journals(folder, names)
            for name, token in found:
                if token not in kept:
                    _remove_unheld(folder / name, now)


def _tokens_of_journals(folder: Path, names: list[str]) -> set[str]:
    """The files that an unfinished overwrite in two steps needs, until `repair_folder` runs."""
    journals = (folder / name for name in names if name.endswith(_JOURNAL_ENDING))
    return {one.read_bytes()[:16].decode("ascii", "replace") for one in journals}


def _remove_unheld(path: Path, now: float) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if now - _last_change(path) < _AGE_S:
            return
        handle = os.open(path, flags)
    except OSError:  # gone meanwhile, a link, or not ours to open
        return
    try:
        mode = os.fstat(handle).st_mode
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISDIR(mode):
            import shutil

            shutil.rmtree(path)
        elif stat.S_ISREG(mode):
            path.unlink()
        else:
            return
        _log.info("removed %s, which a killed process had left", path)
    except BlockingIOError:
        return  # somebody writes it
    except OSError as error:
        _log.debug("could not remove %s: %s", path, error)
    finally:
        os.close(handle)


def _last_change(path: Path) -> float:
    """When the newest thing at or below a path was changed."""
    newest = path.lstat().st_mtime
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            newest = max(newest, Path(parent, name).lstat().st_mtime)
    return newest
