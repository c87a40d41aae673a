"""Temporary files and folders of a test."""

from __future__ import annotations

import enum
import os
import tempfile
from pathlib import Path
from typing import IO, Any


class TempFileCleanup(enum.Enum):
    """When the files of a test are removed."""

    ALWAYS = "always"
    SUCCESS = "success"
    OFF = "off"


class _Temporary:
    """A file or folder in a test's folder, usable as its path."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = str(path)

    @property
    def full_path(self) -> str:
        """The path."""
        return self._path

    def __fspath__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"<{type(self).__name__[1:]} {self._path}>"


class TempFile(_Temporary):
    """A file of a test."""

    def read_text(self, encoding: str = "utf8", errors: str = "strict") -> str:
        """The file's contents as text."""
        return Path(self).read_text(encoding, errors)

    def read_bytes(self) -> bytes:
        """The file's contents."""
        return Path(self).read_bytes()

    def write_text(
        self, text: str, mode: str = "w", encoding: str = "utf8", errors: str = "strict"
    ) -> None:
        """Write a text into it.

        Args:
            text: the text to write.
            mode: as `open` has it.
            encoding: encoding of the text.
            errors: the treatment of characters that the encoding lacks.
        """
        with Path(self).open(mode, encoding=encoding, errors=errors) as file:
            file.write(text)

    def write_bytes(self, data: bytes, mode: str = "wb") -> None:
        """Write bytes into it.

        Args:
            data: the data to write.
            mode: as `open` has it.
        """
        with Path(self).open(mode) as file:
            file.write(data)

    def open_text(self, mode: str = "rt", encoding: str = "utf8", errors: str = "strict") -> Any:
        """The file, opened for text; use it in a `with` statement."""
        if "b" in mode:
            raise ValueError(
                f"open_text: mode must be one for text, got {mode!r}\n  Try: open_bytes"
            )
        return Path(self).open(mode, encoding=encoding, errors=errors)

    def open_bytes(self, mode: str = "rb") -> IO[Any]:
        """The file, opened for bytes; use it in a `with` statement."""
        if "b" not in mode:
            raise ValueError(
                f"open_bytes: mode must be one for bytes, got {mode!r}\n  Try: open_text"
            )
        return Path(self).open(mode)


class TempDir(_Temporary):
    """A folder of a test."""

    def create_file(
        self,
        file_path: str | None = None,
        content: str | bytes | None = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
    ) -> TempFile:
        """A file in it; folders on the path are created.

        Args:
            file_path: below this folder; any name if None.
            content: its content; empty if None.
            mode: as `open` has it.
            encoding: encoding of the text.
            errors: the treatment of characters that the encoding lacks.
        """
        if file_path is None:
            handle, name = tempfile.mkstemp(dir=self)
            os.close(handle)
            made = TempFile(name)
        else:
            made = TempFile(Path(self) / file_path)
            Path(made).parent.mkdir(parents=True, exist_ok=True)
            Path(made).touch()
        if isinstance(content, bytes):
            made.write_bytes(content, mode if "b" in mode else f"{mode}b")
        elif content is not None:
            made.write_text(content, mode, encoding, errors)
        return made

    def mkdir(self, dir_path: str | None = None) -> TempDir:
        """A folder in it.

        Args:
            dir_path: below this folder; any name if None.
        """
        if dir_path is None:
            return TempDir(tempfile.mkdtemp(dir=self))
        path = Path(self) / dir_path
        path.mkdir(parents=True, exist_ok=True)
        return TempDir(path)
