"""An unpacked .keras file: a folder with its members as files."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from pinnace.framework.errors import DataLossError
from pinnace.keras.saving.archive import CONFIG, WEIGHTS, about, json_of
from pinnace.storage.atomic import Content, Writer, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def is_unzipped(path: str) -> bool:
    """Whether it is the folder of an unpacked .keras file."""
    return all(os.path.isfile(os.path.join(path, name)) for name in (CONFIG, WEIGHTS))  # noqa: PTH113, PTH118 (a text)


class Folder:
    """The folder, with the interface of an `Archive`.

    Args:
        path: path of the folder.
        who: the reader's name, for messages.
    """

    def __init__(self, path: str, who: str = "load_model") -> None:
        self.path = path
        self._who = who
        self._root = Path(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __contains__(self, name: str) -> bool:
        return (self._root / name).is_file()

    def inside(self, folder: str) -> list[str]:
        """The names of the files in a folder."""
        files = sorted(path for path in (self._root / folder).rglob("*") if path.is_file())
        return [path.relative_to(self._root).as_posix() for path in files]

    def read(self, name: str) -> bytes:
        """The bytes of a file.

        Raises:
            DataLossError: the file is missing.
        """
        if name not in self:
            raise DataLossError(f"{self._who}: {self.path!r} has no file {name!r}")
        return (self._root / name).read_bytes()

    def json(self, name: str) -> Any:
        """A file as JSON.

        Raises:
            DataLossError: the file is not JSON.
        """
        try:
            return json_of(self.read(name))
        except (ValueError, RecursionError) as error:
            raise DataLossError(
                f"{self._who}: {self.path!r}: {name!r} is no JSON: {error}"
            ) from None

    def open(self, name: str) -> IO[bytes]:
        """A file to read and seek in."""
        return io.BytesIO(self.read(name))


def write_folder(
    path: str, version: str, config: Any, members: Mapping[str, Callable[[IO[bytes]], None]]
) -> None:
    """Write the folder; each file is written atomically.

    Args:
        path: path of the folder.
        version: version of Keras, whose format it is.
        config: a JSON value.
        members: name -> what writes it to a file.
    """
    root = Path(path)
    files: dict[str, Content | Writer] = {**about(version, config), **members}
    for name, content in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, content)
