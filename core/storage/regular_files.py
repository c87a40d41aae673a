"""Opening regular files only: folders, devices or pipes may never end."""

from __future__ import annotations

import os
import stat
from typing import IO, TYPE_CHECKING

from pinnace.framework.errors import FailedPreconditionError

if TYPE_CHECKING:
    from pinnace.storage.atomic import StrPath


def open_regular(path: StrPath) -> IO[bytes]:
    """The file, open for reading.

    Raises:
        FailedPreconditionError: `path` is something else than a file.
        OSError: the system does not open it.
    """
    # Opening a pipe would wait for somebody to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb", closefd=True)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise FailedPreconditionError(f"cannot read {path}: it is not a file")
    return file
