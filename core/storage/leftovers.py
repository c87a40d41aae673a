"""Removal of hidden files and folders left by killed processes.

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
# Folders that this process has searched, and when; searched again once the table is full.
_looked: dict[tuple[int, int], float] = {}
_AGAIN_S = 3600.0
_MOST_LOOKED = 4096


def hold(handle: int) -> None:
    """Protect an open file or folder from `remove_leftovers` until its handle is closed."""
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_leftovers(folder: Path, now: float) -> None:
    """Remove leftovers of killed processes from a folder, which is searched once an hour.

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
    """The tokens of files that an unfinished two-step overwrite needs, until it is repaired."""
    journals = (folder / name for name in names if name.endswith(_JOURNAL_ENDING))
    return {one.read_bytes()[:16].decode("ascii", "replace") for one in journals}


def _remove_unheld(path: Path, now: float) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if now - _last_change(path) < _AGE_S:
            return
        handle = os.open(path, flags)
    except OSError:  # removed meanwhile, a link, or no permission
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
        return  # a process is writing it
    except OSError as error:
        _log.debug("could not remove %s: %s", path, error)
    finally:
        os.close(handle)


def _last_change(path: Path) -> float:
    """The time of the latest change at or below a path."""
    newest = path.lstat().st_mtime
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            newest = max(newest, Path(parent, name).lstat().st_mtime)
    return newest
