"""Finds, verifies and loads the library of the installation and those of models.

A file is read once, verified against the table, and executed from memory: it cannot be exchanged in
between, and truncating it later has no effect.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.engine.ahead import calling, processors, table, trust
from pinnace.engine.ahead.trust import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.engine.ahead.table import Library


class Loaded(NamedTuple):
    """A loaded library.

    Attributes:
        folder: where it was found.
        table: the digest of its table of contents.
        entries: its entry in the table.
        code: the library's handle.
    """

    folder: Path
    table: str
    entries: Library
    code: ctypes.CDLL


# The library of the general kernels (`installing`): as trusted as the code of the package.
INSTALLED = Path(__file__).parents[1] / "library"

_lock = threading.Lock()
_libraries: list[Loaded] = []
# Reasons why folders' libraries are not used; each is reported once.
_refused: dict[Path, str] = {}
_made: dict[str, Callable[..., Any]] = {}
_numbers = itertools.count(1)
_has_looked = False


def load(model: Path) -> bool:
    """Load the kernels stored with a model, if some fit this machine and can be trusted.

    The reason for not using them is logged once, and returned by `notes`.

    Args:
        model: its folder.

    Returns:
        Whether kernels were added.
    """
    folder = model / table.FOLDER
    if not (folder / table.FILE).is_file():
        return False
    with _lock:
        try:
            loaded = _loaded(folder)
        except RefusedError as error:
            _refuse(folder, str(error))
            return False
        _refused.pop(folder, None)
        if loaded is None:
            return False
        _libraries.append(loaded)
        return True


def find(text: str) -> Callable[..., Any] | None:
    """A precompiled kernel; None if no library has it.

    Args:
        text: of its module, the header included.
    """
    if not _has_looked:
        _look()
    if not _libraries:
        return None
    digest = table.digest_of_text(text)
    with _lock:
        found = _made.get(digest)
        if found is not None:
            return found
        # The latest first: it was compiled for this model.
        for loaded in reversed(_libraries):
            symbol = loaded.entries.kernels.get(digest)
            if symbol is not None:
                try:
                    found = _made[digest] = _function(loaded.code, symbol)
                except ValueError as error:  # the library lacks the symbol
                    _refuse(loaded.folder, str(error))
                else:
                    return found
    return None


def _look() -> None:
    """Load the library of the installation, if it has one for this machine."""
    global _has_looked
    with _lock:
        if _has_looked:
            return
        _has_looked = True
        if (INSTALLED / table.FILE).is_file():
            try:
                _libraries.insert(0, _installed())
            except (RefusedError, OSError) as error:
                _refuse(INSTALLED, str(error))


def _installed() -> Loaded:
    _require_system()
    content = (INSTALLED / table.FILE).read_bytes()
    chosen = fitting(table.read(content))
    file = INSTALLED / chosen.file
    if trust.digest_of(file.read_bytes()) != chosen.sha256:
        raise RefusedError(f"{chosen.file} is damaged")
    # Loaded by its path, so that processes share its pages.
    return Loaded(INSTALLED, trust.digest_of(content), chosen, ctypes.CDLL(str(file)))


def installed() -> tuple[Library | None, str]:
    """The library of the installation if it is used; else None, and the reason."""
    if not _has_looked:
        _look()
    with _lock:
        for one in _libraries:
            if one.folder == INSTALLED:
                return one.entries, ""
    absent = (
        "there is none in this installation: python -m pinnace.engine.ahead.installing makes it"
    )
    return None, _refused.get(INSTALLED, absent)


def _function(code: ctypes.CDLL, symbol: str) -> Callable[..., Any]:
    def address(name: str) -> int:
        return ctypes.addressof(ctypes.c_char.in_dll(code, name))

    return calling.function_of(symbol, address)


def notes() -> list[str]:
    """Which precompiled libraries this process uses, and which it does not, and why."""
    with _lock:
        found = [
            f"compiled ahead: {len(one.entries.kernels)} kernels for {one.entries.processor} in "
            f"{one.folder}"
            for one in _libraries
        ]
        found += [_told(folder, reason) for folder, reason in _refused.items()]
    return found


def _told(folder: Path, reason: str) -> str:
    return f"kernels compiled ahead in {folder} are not used: {reason}"


def _refuse(folder: Path, reason: str) -> None:
    if _refused.get(folder) != reason:
        import logging  # imported here: most processes never get here

        _refused[folder] = reason
        logging.getLogger("pinnace").warning("%s", _told(folder, reason))


def _loaded(folder: Path) -> Loaded | None:
    """The library for this machine; None if it is loaded already."""
    _require_system()
    if not trust.is_safe(folder.parents[1]):
        raise RefusedError(
            f"{folder.parents[1]} must belong to the user or the superuser, and nobody else may "
            "write to it"
        )
    content = trust.content_of(folder / table.FILE)
    digest = trust.digest_of(content)
    if any(one.table == digest for one in _libraries):
        return None
    if not trust.is_vouched(digest):
        raise RefusedError(
            "nobody vouches for them: `pinnace compile` does, in PINNACE_CACHE, or "
            f"PINNACE_KERNELS={digest}"
        )
    chosen = fitting(table.read(content))
    if Path(chosen.file).name != chosen.file:
        raise RefusedError(f"{chosen.file} is not in the table's folder")
    code = trust.content_of(folder / chosen.file)
    if trust.digest_of(code) != chosen.sha256:
        raise RefusedError(f"{chosen.file} does not match the table")
    library = _opened(code)
    return Loaded(folder, digest, chosen, library)


def _require_system() -> None:
    if sys.platform != "linux":
        raise RefusedError("they are for Linux")
    if not calling.can_call():
        raise RefusedError(f"NumPy {np.__version__} or this Python lays out arrays in another way")


def fitting(libraries: list[Library]) -> Library:
    """The library with the most demanding requirements that this machine fulfils.

    Raises:
        RefusedError: there is none for this processor.
    """
    machine, here = platform.machine(), processors.flags()
    fitting = [one for one in libraries if one.machine == machine and here.issuperset(one.requires)]
    if not fitting:
        reasons = [
            f"{one.processor} needs "
            + (
                ", ".join(sorted(set(one.requires) - here))
                if one.machine == machine
                else one.machine
            )
            for one in libraries
        ]
        raise RefusedError(f"none is for this processor: {'; '.join(reasons) or 'there are none'}")
    return max(fitting, key=lambda one: len(one.requires))


def _opened(code: bytes) -> ctypes.CDLL:
    """Load a library from memory."""
    try:
        descriptor = os.memfd_create("pinnace_kernels", os.MFD_CLOEXEC)
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(code)
            # The loader identifies libraries by path, and descriptor numbers are reused: use unique
            # paths.
            return ctypes.CDLL(f"/proc/self/fd/{'/' * next(_numbers)}{descriptor}")
        finally:
            os.close(descriptor)
    except OSError as error:
        # Its path would differ each time.
        raise RefusedError(f"they cannot be loaded: {str(error).rpartition(': ')[2]}") from error
