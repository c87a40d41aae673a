"""System errors as this project's errors, with the action, the path and a remedy."""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING

from pinnace.framework.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnknownError,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_STATE = {errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ELOOP}
_LATER = {errno.EAGAIN, errno.EBUSY, errno.ETIMEDOUT, errno.ESTALE}


def explain(error: OSError, action: str, path: str | os.PathLike[str], remark: str = "") -> OpError:
    """The library's error for `error`.

    Args:
        error: the system's error.
        action: the action that was tried, "write".
        path: the file or folder.
        remark: a consequence worth knowing, "the old folder is unchanged".
    """
    kind: type[OpError] = UnknownError
    if error.errno in _FULL:
        kind = ResourceExhaustedError
    elif error.errno in _DENIED:
        kind = PermissionDeniedError
    elif error.errno == errno.ENOENT:
        kind = NotFoundError
    elif error.errno == errno.EEXIST:
        kind = AlreadyExistsError
    elif error.errno in _STATE:
        kind = FailedPreconditionError
    elif error.errno in _LATER:
        kind = UnavailableError
    reason = error.strerror or str(error) or type(error).__name__
    message = f"cannot {action} {path}: {reason}"
    # Often a file inside a folder is the one that failed.
    if error.filename is not None and str(error.filename) != str(path):
        message += f"\n  at {error.filename}"
    if remark:
        message += f"\n  {remark}"
    return kind(message)


@contextlib.contextmanager
def explained(action: str, path: str | os.PathLike[str], remark: str = "") -> Iterator[None]:
    """Converts system errors in the block to this library's; see `explain`."""
    try:
        yield
    except OSError as error:
        # Two of this library's errors refine the system's own.
        if isinstance(error, OpError):
            raise
        raise explain(error, action, path, remark) from error
