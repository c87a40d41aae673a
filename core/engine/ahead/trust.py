"""Decides which machine code in files may be run.

A folder is trusted if it belongs to the user or the superuser, and nobody else may write to it.
That says who wrote the files, not who made them: a downloaded model belongs to the user too, and
was never meant to run code. So libraries stored with a model must be vouched for as well: `pinnace
compile` records the digest of their table in the cache folder, from which machine code is loaded
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

# Larger files are not read into memory: no library is this large.
_MOST_BYTES = 1 << 30


class RefusedError(Exception):
    """Machine code that is not used; the message says why."""


def is_safe(folder: Path) -> bool:
    """Whether only the user, or the superuser, can have written the files in a folder."""
    try:
        facts = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and _is_ours(facts)


def _is_ours(facts: os.stat_result) -> bool:
    # The superuser may change any code that runs here anyway.
    return not hasattr(os, "getuid") or (
        facts.st_uid in {os.getuid(), 0} and not facts.st_mode & 0o022
    )


def content_of(path: Path) -> bytes:
    """The content of a file that only the user or the superuser can have written.

    Raises:
        RefusedError: others can have written it, or it cannot be read.
    """
    if not is_safe(path.parent):
        raise RefusedError(
            f"{path.parent} must belong to the user or the superuser, and nobody else may write to "
            "it"
        )
    try:
        # Opening a pipe would block.
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
    """The SHA-256 of bytes, as in a table."""
    return hashlib.sha256(content).hexdigest()


def vouch(digest: str) -> Path:
    """Record that content with this digest was compiled here; returns the record's file.

    Raises:
        FailedPreconditionError: there is no trusted, writable cache folder.
    """
    folder = _folder()
    if folder is None:
        raise FailedPreconditionError(
            "nothing can be vouched for: PINNACE_CACHE is empty\n  Try: PINNACE_CACHE=FOLDER"
        )
    folder.mkdir(parents=True, exist_ok=True)
    # Readable by all users who run the model: it is not secret.
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
    """Whether this user, or the superuser, has vouched for this digest."""
    if digest in config.settings.trusted_kernels:
        return True
    folder = _folder()
    return folder is not None and is_safe(folder) and (folder / digest).is_file()


def _folder() -> Path | None:
    base = config.settings.cache
    return None if base is None else base / "vouched"
