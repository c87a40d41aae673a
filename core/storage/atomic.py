"""Atomic writes: readers find the complete old file or folder, or the complete new one."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NoReturn, TypeAlias

from pinnace.framework.errors import DataLossError, FailedPreconditionError, NotFoundError, OpError
from pinnace.storage.leftovers import hold, remove_leftovers
from pinnace.storage.system_errors import explained

StrPath: TypeAlias = "str | os.PathLike[str]"
Content: TypeAlias = bytes | bytearray | memoryview
Writer: TypeAlias = Callable[[IO[bytes]], object]

_log = logging.getLogger(__name__)

_AT_FDCWD = -100
_LINUX_EXCHANGE = 2  # RENAME_EXCHANGE
_MAC_EXCHANGE = 2  # RENAME_SWAP
_RENAMEAT2 = {"x86_64": 316, "aarch64": 276, "ppc64le": 357, "s390x": 347, "riscv64": 276}
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_TOKEN = re.compile(r"[0-9a-f]{16}\Z")


def write_file(path: StrPath, content: Content | Writer) -> None:
    """Write the new content to disk completely, or leave `path` as it was.

    Args:
        path: the file, which need not exist; its folder must. A symbolic link stays one.
        content: the bytes, or a function that writes them to the open file it is given.

    Raises:
        NotFoundError: the folder does not exist.
        FailedPreconditionError: `path` is a device, a pipe or the like.
        PermissionDeniedError: the folder is not writable.
        ResourceExhaustedError: the disk or a quota is full.
    """
    target = Path(os.path.realpath(path))
    refuse_device(target)
    with explained("write", path, "what was there is unchanged"):
        temporary, file = create_sibling(target)
        try:
            with file:
                if callable(content):
                    content(file)
                else:
                    file.write(content)
                sync_file(file)
            _keep_mode(target, temporary)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)


def refuse_device(target: Path) -> None:
    """Raise for a device, a pipe or a socket, which a file must not replace.

    Raises:
        FailedPreconditionError: `target` is neither a file nor a folder, but exists.
    """
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise FailedPreconditionError(
            f"cannot write {target}: it is a device, a pipe or a socket, not a file"
        )


def _token() -> str:
    """A random token; `secrets` would do the same, but imports ten modules."""
    return os.urandom(8).hex()


def create_sibling(target: Path) -> tuple[Path, IO[bytes]]:
    """A new, hidden file in the folder of `target`, and that file open for writing."""
    # Not the target's name with a suffix, which may exceed the system's limit of a name's length.
    path = target.parent / f".pinnace-{_token()}.tmp"
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    hold(handle)
    remove_leftovers(path.parent, os.fstat(handle).st_mtime)
    return path, os.fdopen(handle, "wb")


def sync_file(file: IO[bytes]) -> None:
    """Wait until the data written to `file` are on disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on disk; does nothing if the system has no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(handle)


def _keep_mode(old: Path, new: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        new.chmod(stat.S_IMODE(old.stat().st_mode))


@contextlib.contextmanager
def replace_folder(target: StrPath, *, journal: bool = False) -> Iterator[Path]:
    """A folder to fill; when the block ends, it atomically replaces `target`.

    If the block raises, `target` is unchanged and nothing else remains. A process that is killed
    inside the block leaves a hidden folder beside `target`, which is never taken for the target,
    and which a save into the same parent removes a day later.

    Args:
        target: the folder, which need not exist; its parent must. A symbolic link stays one.
        journal: where folders cannot be exchanged in one step, overwrite in two, with a journal
            by which `repair_folder` finishes what was begun.

    Raises:
        NotFoundError: the parent does not exist.
        FailedPreconditionError: `target` is not a folder; or it exists, the system cannot exchange
            folders in one step, and `journal` is false.
        PermissionDeniedError: the parent is not writable.
        ResourceExhaustedError: the disk or a quota is full.
    """
    place = Path(os.path.realpath(target))
    token = _token()
    stage = _beside(place, token, "new")
    held = contextlib.ExitStack()
    with held, _unchanged(target), explained("save to", target):
        _check(place, target)
        if journal:
            repair_folder(place)
        stage.mkdir()
        try:
            held.enter_context(_held(stage))
            remove_leftovers(place.parent, stage.stat().st_mtime)
            in_one_step = not place.exists() or _can_exchange(stage)
            if not (in_one_step or journal):
                _refuse(target)
            yield stage
            _sync_tree(stage)
            if place.exists():
                stage.chmod(stat.S_IMODE(place.stat().st_mode))
            if in_one_step:
                _put(stage, place)
            else:
                _put_in_two_steps(place, token)
        except BaseException:
            import shutil

            shutil.rmtree(stage, ignore_errors=True)
            raise
    # The new folder is in place: errors from here on do not mean that saving failed.
    _discard(stage)
    with contextlib.suppress(OSError):
        sync_folder(place.parent)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """A folder being filled, held while this process lives."""
    if os.name == "nt":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        hold(handle)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _unchanged(target: StrPath) -> Iterator[None]:
    try:
        yield
    except OpError as error:
        error.add_note(f"{target} is unchanged")
        raise


def _check(place: Path, target: StrPath) -> None:
    if not place.parent.is_dir():
        raise NotFoundError(f"cannot save to {target}: {place.parent} is not a folder")
    if place.exists() and not place.is_dir():
        raise FailedPreconditionError(f"cannot save to {target}: it exists and is not a folder")


def _refuse(target: StrPath) -> NoReturn:
    raise FailedPreconditionError(
        f"cannot overwrite {target}: this system cannot exchange two folders in one step\n"
        "  Try: save under a new version number, or allow an overwrite in two steps with a journal"
    )


def repair_folder(target: StrPath) -> bool:
    """Whether an overwrite in two steps had been cut short; if so, it is finished.

    Args:
        target: the folder that was being overwritten. Nothing may be overwriting it now.

    Raises:
        DataLossError: the journal beside `target` is not one.
    """
    place = Path(os.path.realpath(target))
    journal = _journal(place)
    with explained("repair", target):
        try:
            with journal.open("rb") as file:
                token = file.read(17).decode("ascii", "replace")
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
                return False
            raise
        # The token becomes part of two paths.
        if not _TOKEN.match(token):
            raise DataLossError(f"{journal} is not a journal of this library")
        new, old = _beside(place, token, "new"), _beside(place, token, "old")
        if new.is_dir():
            if place.is_dir() and not old.exists():
                place.rename(old)
            new.rename(place)
        elif not place.exists() and old.is_dir():
            old.rename(place)
        sync_folder(place.parent)
        _discard(old)
        journal.unlink(missing_ok=True)
        sync_folder(place.parent)
    return True


def _beside(place: Path, token: str, role: str) -> Path:
    return place.parent / f".pinnace-{token}.{role}"


def _journal(place: Path) -> Path:
    return place.parent / f".{place.name}.pinnace-journal"


def _sync_tree(folder: Path) -> None:
    mode = "r+b" if os.name == "nt" else "rb"  # Windows: only what can be written can be synced
    for parent, _, names in os.walk(folder, onerror=_raise):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - one string, not an object, per file
            if os.path.islink(path):  # noqa: PTH114 - as above
                continue
            with open(path, mode) as file:  # noqa: PTH123 - as above
                os.fsync(file.fileno())
        sync_folder(Path(parent))


def _raise(error: OSError) -> None:
    raise error


def _put(stage: Path, place: Path) -> None:
    """Move `stage` to `place`; a previous `place` is afterwards at `stage`."""
    for _ in range(10):  # another process may create or remove `place` between two calls
        if place.exists():
            with contextlib.suppress(FileNotFoundError):
                exchange(stage, place)
                return
        else:
            try:
                stage.rename(place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            else:
                return
    raise FailedPreconditionError(f"cannot save to {place}: another process keeps changing it")


def _put_in_two_steps(place: Path, token: str) -> None:
    new, old, journal = _beside(place, token, "new"), _beside(place, token, "old"), _journal(place)
    write_file(journal, token.encode())
    try:
        place.rename(old)
        try:
            new.rename(place)
        except OSError:
            old.rename(place)
            raise
    except OSError:
        journal.unlink(missing_ok=True)
        raise
    sync_folder(place.parent)
    _discard(old)
    journal.unlink(missing_ok=True)


def _discard(folder: Path) -> None:
    """Remove an unused folder; failures are logged, not raised."""
    import shutil

    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        _log.warning("could not remove %s, which is not needed any more: %s", folder, error)


def _can_exchange(stage: Path) -> bool:
    """Whether the file system of `stage` (empty) can exchange folders, tested in advance."""
    probe = stage / "probe"
    other = stage / "other"
    probe.mkdir()
    other.mkdir()
    try:
        exchange(probe, other)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    finally:
        probe.rmdir()
        other.rmdir()
    return True


def exchange(a: Path, b: Path) -> None:
    """Exchange two existing files or folders of one file system atomically.

    Raises:
        OSError: ENOSYS or EINVAL where the system or the file system cannot.
    """
    ctypes.set_errno(0)
    if sys.platform.startswith("linux"):
        failed = _renameat2(os.fsencode(a), os.fsencode(b))
    elif sys.platform == "darwin":
        failed = ctypes.CDLL(None, use_errno=True).renamex_np(
            os.fsencode(a), os.fsencode(b), ctypes.c_uint(_MAC_EXCHANGE)
        )
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(b))
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(b))


def _renameat2(a: bytes, b: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    flags = ctypes.c_uint(_LINUX_EXCHANGE)
    try:
        return int(libc.renameat2(_AT_FDCWD, a, _AT_FDCWD, b, flags))
    except AttributeError:  # a C library older than the call
        number = _RENAMEAT2.get(os.uname().machine)
        if number is None:
            ctypes.set_errno(errno.ENOSYS)
            return -1
        cwd = ctypes.c_long(_AT_FDCWD)
        return int(libc.syscall(ctypes.c_long(number), cwd, a, cwd, b, flags))
