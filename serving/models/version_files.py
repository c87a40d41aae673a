"""The files of a version: links are resolved, and files outside the model are refused.

The author of a model chooses its links, and the server opens them with its own permissions. A file
may therefore be a link to anything below the model's base folder (Kubernetes mounts volumes this
way), but to nothing else. Files are opened step by step from that folder, without following links,
so that a link that is created after the check has no effect. A hard link cannot be distinguished
from its file.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_ENTRIES = 100_000  # folders that link to each other would not end
_WEIGHTS = (".data", "_data", ".bin", ".weights")
_BASE: ContextVar[Path | None] = ContextVar("base", default=None)
_REPLACED = (errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.ENXIO)
# The errors of links without a target.
_NOWHERE = (errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.ENAMETOOLONG)
_NOT_REGULAR = "neither a file nor a folder"


@dataclass(frozen=True, slots=True)
class VersionFile:
    """A file of a version.

    Attributes:
        real: its path below the base folder, without links.
        facts: values that change with the file.
    """

    real: Path
    facts: tuple[int, ...]

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.facts[2]


Files: TypeAlias = dict[Path, VersionFile]


@contextmanager
def links_within(base: Path) -> Iterator[None]:
    """A context in which links of versions may lead to anything below a folder.

    Args:
        base: the folder of a model's versions.
    """
    token = _BASE.set(base)
    try:
        yield
    finally:
        _BASE.reset(token)


def base_of(path: Path) -> Path:
    """The resolved folder below which all files of a version must be.

    Args:
        path: the version: a folder, or an ONNX file. Outside a base folder, its target counts;
            below one, the target must be there, too.
    """
    base = _BASE.get()
    if base is None or base == path:
        facts = _facts_at(path)
        is_folder = facts is not None and stat.S_ISDIR(facts.st_mode)
        return _followed(path if is_folder else path.parent)
    return _followed(base)


def list_files(path: Path) -> Files:
    """Return the files of a version, by their path in its folder.

    Args:
        path: a folder, or a file, which is listed with those whose names begin with its own, such
            as the weights of a large ONNX model.

    Raises:
        PermissionDeniedError: a file is a link out of the model's base folder; it is named.
        FailedPreconditionError: a file is a pipe, a socket or a device.
        InvalidArgumentError: there are too many files, or the path is invalid.
        NotFoundError: the path does not exist.
        UnavailableError: the files change meanwhile, or cannot be read.
    """
    try:
        base = base_of(path)
        named = _facts_at(path)
        if named is None:
            raise NotFoundError(f"{path}: there is nothing")
        if stat.S_ISREG(named.st_mode):
            return dict(_beside(path, base))
        return dict(_below(path, _resolved(path, base), base))
    except OSError as error:
        if isinstance(error, OpError):
            raise
        if error.errno in _REPLACED:  # a folder was removed or replaced meanwhile
            raise changing(path) from error
        raise UnavailableError(
            f"{error.filename or path}: cannot be looked at: {error.strerror}"
        ) from error


def _beside(path: Path, base: Path) -> Iterator[tuple[Path, VersionFile]]:
    for name in sorted(os.listdir(path.parent)):  # noqa: PTH208 - names, not paths
        file = path.parent / name
        facts = _facts_at(file) if file == path or _is_beside(name, path) else None
        if facts is not None and stat.S_ISREG(facts.st_mode):
            # A path that the user gives may lead out of the base folder.
            real = _followed(file) if file == path else _resolved(file, base)
            yield Path(name), VersionFile(real, facts_of(real.stat()))


def _facts_at(path: Path) -> os.stat_result | None:
    """The facts about the file at a path; None if it does not exist, or is a dangling link."""
    try:
        return path.stat()
    except OSError as error:
        if error.errno not in _NOWHERE:
            raise
    except ValueError as error:
        raise InvalidArgumentError(f"{str(path)!r} is no path: {error}") from None
    return None


def _below(folder: Path, real: Path, base: Path) -> Iterator[tuple[Path, VersionFile]]:
    left = [(folder, real, frozenset((real,)))]
    entries = 0
    while left:
        shown, where, above = left.pop()
        for name in sorted(os.listdir(where)):  # noqa: PTH208 - names, not paths
            entries += 1
            if entries > _MOST_ENTRIES:
                raise InvalidArgumentError(f"{folder}: more than {_MOST_ENTRIES} files")
            inner, target = shown / name, where / name
            if target.is_symlink():
                target = _resolved(inner, base)
            facts = _facts_at(target)
            if facts is None:  # a dangling link, or removed already
                continue
            if stat.S_ISDIR(facts.st_mode):
                if target in above:
                    raise InvalidArgumentError(f"{inner}: a link to a folder that it is in")
                left.append((inner, target, above | {target}))
            elif stat.S_ISREG(facts.st_mode):
                yield inner.relative_to(folder), VersionFile(target, facts_of(facts))
            else:
                raise FailedPreconditionError(f"{inner}: {_NOT_REGULAR}")


def _resolved(path: Path, base: Path) -> Path:
    """Resolve a path.

    Raises:
        PermissionDeniedError: the path leads out of the base folder.
        UnavailableError: a link was replaced by a file meanwhile.
    """
    real = _followed(path)
    if not real.is_relative_to(base):
        raise PermissionDeniedError(
            f"{path}: a link to {str(real)!r}, outside the model's folder {str(base)!r}\n"
            "  Try: copy the model with `cp -rL`, if you trust it, so that its files are its own"
        )
    return real


def _followed(path: Path) -> Path:
    """Resolve a path and all links in it.

    Raises:
        UnavailableError: a link was replaced by a file meanwhile.
        InvalidArgumentError: the path is not valid.
    """
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        if error.errno != errno.EINVAL:  # a link was replaced by a file meanwhile
            raise
        raise changing(path) from None
    except ValueError as error:
        raise InvalidArgumentError(f"{str(path)!r} is no path: {error}") from None


def facts_of(facts: os.stat_result) -> tuple[int, ...]:
    """A file's identity and modification facts, which change when it does."""
    times = (facts.st_mtime_ns, facts.st_ctime_ns)
    return (facts.st_dev, facts.st_ino, facts.st_size, *times)


def _is_beside(name: str, file: Path) -> bool:
    """Whether a file has the weights of an ONNX file, by the names that exporters use."""
    return name.startswith(file.name) or name in {file.stem + end for end in _WEIGHTS}


def open_listed(file: VersionFile, shown: Path) -> int:
    """Return a descriptor of exactly the file that was listed.

    Args:
        file: from `list_files`.
        shown: its path in messages.

    Raises:
        UnavailableError: the file was replaced or changed.
        OSError: the file cannot be opened.
    """
    # A folder may permit traversal without permitting reading.
    way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(file.real.anchor, way)
    try:
        *above, name = file.real.parts[1:]
        for part in above:
            inner = os.open(part, way, dir_fd=folder)
            os.close(folder)
            folder = inner
        # Opening a pipe would wait for its writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        found = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in _REPLACED:
            raise changing(shown) from error
        raise
    finally:
        os.close(folder)
    if facts_of(os.fstat(found)) != file.facts:
        os.close(found)
        raise changing(shown)
    return found


def changing(path: Path) -> UnavailableError:
    """Return the error for a version that changed after its files were listed."""
    return UnavailableError(f"{path}: changes while it is read; trying again later")
