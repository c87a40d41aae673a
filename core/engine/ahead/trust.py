"""Which machine code of a file may be run.

A folder counts if it is the user's own or the superuser's, and nobody else may write to it. That
says who put files there, not whose they are: a model that was fetched and unpacked is the user's
own, too, and was never meant to run code. So what lies beside a model must be vouched for as well:
`pinnace compile` notes the digest of its table in the cache folder, from which machine code is read
anyway; or the environment has it in PINNACE_KERNELS.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from pinnace.framework import config
from pinnace.framework.errors import FailedPreconditionError
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from pathlib import Path

# Nobody compiles so much: what is larger is not read into memory.
_MOST_BYTES = 1 << 30


class RefusedError(Exception):
    """Machine code that is not used; the message says why."""


def is_safe(folder: Path) -> bool:
    """Whether only the user, or the superuser, can have written what lies in a folder."""
    try:
        facts = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and _is_ours(facts)


def _is_ours(facts: os.stat_result) -> bool:
    # The superuser may change whatever runs here anyway.
    return not hasattr(os, "getuid") or (
        facts.st_uid in {os.getuid(), 0} and not facts.st_mode & 0o022
    )


def content_of(path: Path) -> bytes:
    """What a file holds, if only the user or the superuser can have written it.

    Raises:
        RefusedError: others can, or it cannot be read.
    """
    if not is_safe(path.parent):
        raise RefusedError(
            f"{path.parent} must belong to the user or the superuser, and nobody else may write to "
            "it"
        )
    try:
        # A pipe would have its opener wait.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or not _is_ours(facts):
                raise RefusedError(
                    f"{path} must be a file of the user or the superuser, and nobody else may "
                    "write to it"
                )
            if facts.st_size > _MOST_BYTES:
                raise RefusedError(f"{path} is too large")
            return file.read()
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror}") from error


def digest_of(content: bytes) -> str:
    """The SHA-256 of bytes, as a table names it."""
    return hashlib.sha256(content).hexdigest()


def vouch(digest: str) -> Path:
    """Note that what has this digest was made here; the note.

    Raises:
        FailedPreconditionError: there is no cache folder that can be trusted and written to.
    """
    folder = _folder()
    if folder is None:
        raise FailedPreconditionError(
            "nothing can be vouched for: PINNACE_CACHE is empty\n  Try: PINNACE_CACHE=FOLDER"
        )
    folder.mkdir(parents=True, exist_ok=True)
    # Whoever runs the model reads it: there is nothing secret in it.
    folder.chmod(0o755)
    if not is_safe(folder):
        raise FailedPreconditionError(
            f"nothing can be vouched for in {folder}; it must be the user's own, and writable by "
            "nobody else\n  Try: PINNACE_CACHE=FOLDER"
        )
    path = folder / digest
    write_file(path, b"")
    path.chmod(0o644)
    return path


def is_vouched(digest: str) -> bool:
    """Whether this user, or the superuser, has said that what has this digest may be run."""
    if digest in config.settings.trusted_kernels:
        return True
    folder = _folder()
    return folder is not None and is_safe(folder) and (folder / digest).is_file()


def _folder() -> Path | None:
    base = config.settings.cache
    return None if base is None else base / "vouched"
