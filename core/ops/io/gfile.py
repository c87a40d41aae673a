"""`tf.io.gfile`: files and folders at local paths."""

from __future__ import annotations

import glob as globbing
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pinnace.framework.errors import AlreadyExistsError, NotFoundError
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "GFile",
    "copy",
    "exists",
    "get_registered_schemes",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


# How names of local files may begin, as in TensorFlow.
_LOCAL = "file://"


def _path(path: Any) -> str:
    return os.fsdecode(path).removeprefix(_LOCAL)


def get_registered_schemes() -> list[str]:
    """The supported URL schemes: none but `file`."""
    return ["", "file"]


def GFile(name: Any, mode: str = "r") -> IO[Any]:  # noqa: N802 (TensorFlow's name)
    """The file `name`, open: `r`, `w`, `a`, with `b` for bytes.

    Raises:
        NotFoundError: there is no such file.
    """
    with explained("open", _path(name)):
        return open(  # noqa: PTH123 (the name as it is; the caller closes it)
            _path(name), mode, encoding=None if "b" in mode else "utf-8"
        )


def exists(path: Any) -> bool:
    """Whether there is a file or folder."""
    return Path(_path(path)).exists()


def isdir(path: Any) -> bool:
    """Whether there is a folder."""
    return Path(_path(path)).is_dir()


def listdir(path: Any) -> list[str]:
    """The names in a folder, sorted.

    Raises:
        NotFoundError: there is no such folder.
    """
    if not isdir(path):
        raise NotFoundError(f"listdir: there is no folder {_path(path)}")
    return sorted(entry.name for entry in Path(_path(path)).iterdir())


def glob(pattern: Any) -> list[str]:
    """The paths that match, sorted; `pattern` may be a list of patterns."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    found: set[str] = set()
    for one in map(os.fsdecode, patterns):
        begun = _LOCAL if one.startswith(_LOCAL) else ""
        found.update(begun + path for path in globbing.glob(_path(one)))  # noqa: PTH207 (patterns may be absolute)
    return sorted(found)


def join(path: Any, *paths: Any) -> str:
    """The parts, joined.

    Args:
        path: the first part.
        *paths: the others; an absolute one starts anew.
    """
    return os.path.join(os.fsdecode(path), *map(os.fsdecode, paths))  # noqa: PTH118 (a str comes out)


def mkdir(path: Any) -> None:
    """Create a folder, whose parent must exist."""
    with explained("make", _path(path)):
        Path(_path(path)).mkdir(exist_ok=False)


def makedirs(path: Any) -> None:
    """Create a folder and its parents; does nothing if it exists."""
    with explained("make", _path(path)):
        Path(_path(path)).mkdir(parents=True, exist_ok=True)


def remove(path: Any) -> None:
    """Remove a file."""
    with explained("remove", _path(path)):
        Path(_path(path)).unlink()


def rmtree(path: Any) -> None:
    """Remove a folder and its content."""
    if not isdir(path):
        raise NotFoundError(f"rmtree: there is no folder {_path(path)}")
    import shutil

    with explained("remove", _path(path)):
        shutil.rmtree(_path(path))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file or folder another name.

    Args:
        src: path of a file or folder.
        dst: the new path.
        overwrite: whether `dst` may exist.

    Raises:
        AlreadyExistsError: `dst` exists and must not.
    """
    _free(dst, overwrite)
    with explained("rename", _path(src)):
        Path(_path(src)).replace(_path(dst))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Args:
        src: path of a file.
        dst: the path of the copy.
        overwrite: whether `dst` may exist.

    Raises:
        AlreadyExistsError: `dst` exists and must not.
    """
    import shutil

    _free(dst, overwrite)
    with explained("copy", _path(src)):
        shutil.copyfile(_path(src), _path(dst))


def _free(path: Any, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise AlreadyExistsError(f"{_path(path)} exists\n  Try: overwrite=True")


def stat(path: Any) -> os.stat_result:
    """The status of a file: `st_size` and so on."""
    with explained("look at", _path(path)):
        return Path(_path(path)).stat()


def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, names of folders, names of files) for every folder below `top`.

    Args:
        top: path of a folder.
        topdown: whether a folder comes before those in it.
        onerror: called with the OSError of a folder that cannot be read; None passes it over.
    """
    begun = _LOCAL if os.fsdecode(top).startswith(_LOCAL) else ""
    for folder, folders, files in os.walk(_path(top), topdown, onerror):
        yield begun + folder, folders, files
