"""A version's folder → a copy that nobody else changes, mapped in its place.

Weights are mapped from their file. Whoever cuts that file short in place (`cp`, `rsync --inplace`,
a full disk under a writer) would end every process that maps it, by SIGBUS; a hard link would be
the same file, and be cut with it. So the files are copied, whatever their size: where the file
system shares blocks between copies (btrfs, xfs) this costs nothing, elsewhere the space of one
version in the folder for temporary files, and a read that loading needs anyway. Workers share one
copy, so that the system still keeps the weights once. Where there is no space, the original is
mapped, and the log says so.

A copy is locked by who uses it; the system takes the locks from who is killed, and the next copy
that is made removes those that nobody uses.
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

from pinnace.framework.errors import UnavailableError
from pinnace.serving.errors import LOG

try:
    import fcntl
except ImportError:  # Windows: it lets nobody cut a file that is mapped
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEEDLESS = {"assets.extra"}  # read once, from where it is
_SPARE_BYTES = 2**24  # that a copy leaves to others
_LOCK = ".lock"

_Files = dict[Path, tuple[int, ...]]


class PrivateCopy:
    """A copy in use.

    Args:
        path: of the copy.
        descriptor: of its folder, locked.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._process = os.getpid()
        _IN_USE.add(self)

    def release(self) -> None:
        """Use it no longer: the last one who does removes it. Does nothing the second time."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0 or self._process != os.getpid():
            return
        with contextlib.suppress(OSError), _locked(self.path.parent):
            if _is_unused(descriptor):
                shutil.rmtree(self.path, ignore_errors=True)
        os.close(descriptor)

    def discard(self) -> None:
        """Remove it: nobody else knows it."""
        descriptor, self._descriptor = self._descriptor, -1
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(descriptor)


_IN_USE: weakref.WeakSet[PrivateCopy] = weakref.WeakSet()


def release_copies() -> None:
    """Release every copy of this process: a forked worker ends without Python's own clean-up."""
    for copy in list(_IN_USE):
        copy.release()


def copy_privately(folder: Path) -> PrivateCopy | None:
    """A copy of a version's folder; None where none can be made, and the log says why.

    Args:
        folder: of a SavedModel, or of an ONNX file.

    Raises:
        UnavailableError: the folder changes while it is copied.
    """
    if fcntl is None:
        return None
    try:
        files = _list_files(folder)
        root = _make_root()
        key = _name_files(files)
        with _locked(root):
            _sweep(root)
            found = _open_copy(root / key)
            if found is not None:
                return found
            part = root / f".{key}.{secrets.token_hex(8)}"
            part.mkdir(mode=0o700)
            copy = _open_copy(part)
        if copy is None:
            raise FileNotFoundError(2, "was removed", str(part))
        try:
            _copy_files(folder, files, part)
            _check_unchanged(folder, files)
            with _locked(root):
                return _publish(copy, root / key)
        except BaseException:
            copy.release()
            raise
    except OSError as error:
        LOG.warning(
            "%s is served from its own files, which must not be cut short: no copy could be made: "
            "%s (set TMPDIR to a folder with space)",
            folder,
            error.strerror or error,
        )
        return None


def _publish(copy: PrivateCopy, path: Path) -> PrivateCopy:
    """Let others find a copy; the one of somebody else who was quicker."""
    found = _open_copy(path)
    if found is None:
        copy.path.rename(path)
        copy.path = path
        return copy
    copy.discard()
    return found


def _list_files(folder: Path) -> _Files:
    """The files of a folder, and what changes when they do."""
    found: _Files = {}
    for where, folders, names in os.walk(folder, followlinks=True):
        base = Path(where)
        folders[:] = sorted(set(folders) - _NEEDLESS) if base == folder else sorted(folders)
        for name in sorted(names):
            facts = (base / name).stat()
            if stat.S_ISREG(facts.st_mode):
                times = (facts.st_mtime_ns, facts.st_ctime_ns)
                key = (facts.st_dev, facts.st_ino, facts.st_size, *times)
                found[(base / name).relative_to(folder)] = key
    return found


def _check_unchanged(folder: Path, files: _Files) -> None:
    if _list_files(folder) != files:
        raise UnavailableError(f"{folder}: changes while it is read; trying again later")


def _name_files(files: _Files) -> str:
    digest = blake2b(digest_size=16)
    for path, facts in files.items():
        digest.update(f"{path}\0{facts}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _make_root() -> Path:
    """The folder of the copies of this user."""
    root = Path(tempfile.gettempdir()) / f"pinnace-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    facts = root.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise PermissionError(13, f"{root} can be written by others")
    return root


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Be the only one who looks for, adds and removes copies."""
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open_copy(path: Path) -> PrivateCopy | None:
    """A copy that is there, in use from now on."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return PrivateCopy(path, descriptor)


def _is_unused(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(root: Path) -> None:
    """Remove the copies of processes that were killed."""
    for path in root.iterdir():
        if path.name == _LOCK or not path.is_dir():
            continue
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _is_unused(descriptor):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(descriptor)


def _copy_files(folder: Path, files: _Files, to: Path) -> None:
    size = sum(facts[2] for facts in files.values())
    if shutil.disk_usage(to).free < size + _SPARE_BYTES:
        raise OSError(28, f"{to.parent} has no space for {size} bytes")
    for path in files:
        target = to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("rb") as source, target.open("xb") as file:
            _copy_bytes(source.fileno(), file.fileno())


def _copy_bytes(source: int, target: int) -> None:
    """Copy a file within the system, which shares blocks where it can."""
    if hasattr(os, "copy_file_range"):
        with contextlib.suppress(OSError):  # not between these file systems
            while os.copy_file_range(source, target, 2**30):
                pass
    # From where that ended, if it did not reach the end.
    while data := os.read(source, 2**20):
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]
