"""A private copy of a version's folder, mapped instead of the original.

Weights are memory-mapped. Truncating the file in place (`cp`, `rsync --inplace`, a full disk under
a writer) would end every process that maps it, by SIGBUS; a hard link would be the same file, and
be truncated with it. So the files are copied, whatever their size: on file systems with
copy-on-write (btrfs, xfs) this costs nothing, elsewhere the space of one version in the folder for
temporary files, and a read that loading needs anyway. Workers share one copy, so that the weights
are in memory once. If there is no space, the original is read into the memory of each process, and
the log says so.

A process that uses a copy holds a lock on it, which the system releases if the process is killed.
The next copy removes unused ones.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.errors import OpError
from pinnace.serving.errors import LOG
from pinnace.serving.models.version_files import Files, changing, list_files, open_listed

try:
    import fcntl
except ImportError:  # Windows refuses to truncate a mapped file
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEEDLESS = {"assets.extra"}  # read once, from the original
SPARE_BYTES = 2**24  # that a copy leaves free
_LOCK = ".lock"


class PrivateCopy:
    """A copy in use.

    Args:
        path: the copy's path.
        descriptor: the file descriptor of its folder, locked.
        keeps: whether to keep it when it is unused.
    """

    def __init__(self, path: Path, descriptor: int, keeps: bool = False) -> None:
        self.path = path
        self.keeps = keeps
        self._descriptor = descriptor
        self._process = os.getpid()
        _IN_USE.add(self)

    def release(self) -> None:
        """Release it: the last user deletes it. A second call has no effect."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0 or self._process != os.getpid():
            return
        if not self.keeps:
            with contextlib.suppress(OSError), locked(self.path.parent):
                if _is_unused(descriptor):
                    shutil.rmtree(self.path, ignore_errors=True)
        os.close(descriptor)

    def discard(self) -> None:
        """Delete it, since no other process uses it."""
        descriptor, self._descriptor = self._descriptor, -1
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(descriptor)


_IN_USE: weakref.WeakSet[PrivateCopy] = weakref.WeakSet()


def release_copies() -> None:
    """Release every copy of this process: forked workers end without Python's own clean-up."""
    for copy in list(_IN_USE):
        copy.release()


def held_copy(path: Path) -> PrivateCopy | None:
    """Return the copy at this path if this process uses it already; its use count increases."""
    for copy in list(_IN_USE):
        if copy.path in (path, path.parent):
            return open_copy(copy.path, keeps=copy.keeps)
    return None


def copy_privately(path: Path) -> PrivateCopy | None:
    """Return a copy of a version; None if none can be made, which is logged.

    Args:
        path: a folder, or a file, which is copied with those whose names begin with its own, such
            as the weights of a large ONNX model.

    Raises:
        UnavailableError: the files change while they are copied.
        PermissionDeniedError: a file is a link out of the model's base folder.
        FailedPreconditionError: a file is a pipe, a socket or a device.
    """
    # A version whose files cannot be listed is not read in place, since its links are unchecked.
    files = _needed(list_files(path))
    folder = path.parent if path.is_file() else path
    try:
        if fcntl is None:
            return None
        root = make_root()
        key = _name_files(files)
        with locked(root):
            sweep(root)
            found = open_copy(root / key)
            if found is not None:
                return found
            part = root / f".{key}.{secrets.token_hex(8)}"
            part.mkdir(mode=0o700)
            copy = open_copy(part)
        if copy is None:
            raise FileNotFoundError(2, "was removed", str(part))
        try:
            _copy_files(folder, files, part)
            _check_unchanged(path, files)
            with locked(root):
                return _publish(copy, root / key)
        except BaseException:
            copy.release()
            raise
    except OSError as error:
        if isinstance(error, OpError):
            raise
        LOG.warning(
            "%s: no copy could be made: %s (set TMPDIR to a folder with space). A SavedModel is "
            "read into the memory of each worker instead; an ONNX file must not be cut short",
            path,
            error.strerror or error,
        )
        return None


def _publish(copy: PrivateCopy, path: Path) -> PrivateCopy:
    """Let other processes find a copy; return theirs, if one was faster."""
    found = open_copy(path)
    if found is None:
        copy.path.rename(path)
        copy.path = path
        return copy
    copy.discard()
    return found


def _check_unchanged(path: Path, files: Files) -> None:
    if _needed(list_files(path)) != files:
        raise changing(path)


def _needed(files: Files) -> Files:
    return {path: file for path, file in files.items() if path.parts[0] not in _NEEDLESS}


def _name_files(files: Files) -> str:
    digest = blake2b(digest_size=16)
    for path, file in files.items():
        digest.update(f"{path}\0{file.facts}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def make_root() -> Path:
    """Return the folder of this user's copies, created if necessary."""
    return private_folder(Path(tempfile.gettempdir()) / f"pinnace-{os.getuid()}")


def private_folder(path: Path) -> Path:
    """Return the folder, created if necessary.

    Raises:
        PermissionError: other users may write there.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = path.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise PermissionError(13, f"{path} can be written by others")
    return path


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the lock under which copies are looked up, added and removed."""
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def open_copy(path: Path, keeps: bool = False) -> PrivateCopy | None:
    """Return an existing copy, which is in use from now on; None if it does not exist.

    Args:
        path: the copy's path.
        keeps: whether to keep it when it is unused.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return PrivateCopy(path, descriptor, keeps)


def _is_unused(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sweep(root: Path, spared: int = 0) -> None:
    """Remove unused copies, of killed processes or earlier runs.

    Args:
        root: the copies' folder, locked.
        spared: the number of newest ones to keep.
    """
    unused: list[tuple[int, Path]] = []
    for path in root.iterdir():
        if path.name == _LOCK or not path.is_dir():
            continue
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _is_unused(descriptor):
                is_part = path.name.startswith(".")
                unused.append((-1 if is_part else os.fstat(descriptor).st_mtime_ns, path))
        finally:
            os.close(descriptor)
    parts = sum(time < 0 for time, _ in unused)
    for _, path in sorted(unused)[: max(len(unused) - spared, parts)]:
        shutil.rmtree(path, ignore_errors=True)


def _copy_files(folder: Path, files: Files, to: Path) -> None:
    size = sum(file.size for file in files.values())
    if shutil.disk_usage(to).free < size + SPARE_BYTES:
        raise OSError(28, f"{to.parent} has no space for {size} bytes")
    for path, listed in files.items():
        target = to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        source = open_listed(listed, folder / path)
        try:
            with target.open("xb") as file:
                _copy_bytes(source, file.fileno())
        finally:
            os.close(source)


def _copy_bytes(source: int, target: int) -> None:
    """Copy a file within the system, which shares blocks if possible."""
    if hasattr(os, "copy_file_range"):
        with contextlib.suppress(OSError):  # unsupported between these file systems
            while os.copy_file_range(source, target, 2**30):
                pass
    # Continue from where that ended, if it did not reach the end.
    while data := os.read(source, 2**20):
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]
