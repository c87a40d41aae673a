"""Finds, verifies and loads the library of the installation."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.engine.ahead import calling, processors, systems, table
from pinnace.engine.ahead.table import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.engine.ahead.table import Library


class _Looked(NamedTuple):
    """The result of this process's search for a library.

    Attributes:
        library: its entry in the table; None if there is none for this process.
        reason: why there is none; empty if there is one.
    """

    library: Library | None
    reason: str


# The library of the general kernels (`installing`): as trusted as the code of the package.
INSTALLED = Path(__file__).parents[1] / "library"
# The commands that compile a library for this processor, in an installation with the kernels'
# sources and in one without them; the command that restores a library.
_MAKE = "python -m pinnace.engine.ahead.installing"
COMPILE = "pip install --force-reinstall --no-deps --no-binary pinnace pinnace"
_RESTORE = "pip install --force-reinstall --no-deps pinnace"

_lock = threading.Lock()
_looked: _Looked | None = None


def has_sources() -> bool:
    """Whether the kernels' sources are installed; wheels with libraries omit them."""
    return importlib.util.find_spec("pinnace.engine.ahead.sources") is not None


def functions() -> dict[str, Callable[..., Any]]:
    """The general kernels by name: all of them, or none if there is no library for this process.

    The reason why there is none is logged once.
    """
    global _looked
    with _lock:
        found: dict[str, Callable[..., Any]] = {}
        try:
            chosen, found = _loaded()
            _looked = _Looked(chosen, "")
        except RefusedError as error:
            _looked = _Looked(None, str(error))
            import logging  # imported here: most processes never get here

            logging.getLogger("pinnace").warning("%s", _told(str(error)))
        return found


def installed() -> tuple[Library | None, str]:
    """The library that this process uses, or None and the reason.

    Before the first request for a kernel, it is the library that would be used.
    """
    looked = _looked
    if looked is None:
        try:
            looked = _Looked(_chosen(), "")
        except RefusedError as error:
            looked = _Looked(None, str(error))
    return looked.library, looked.reason


def notes() -> list[str]:
    """A line about the library of this process, or its absence; none before the first request."""
    looked = _looked
    if looked is None:
        return []
    if looked.library is None:
        return [_told(looked.reason)]
    count, name = len(looked.library.kernels), looked.library.processor
    return [f"machine code: {count} kernels for {name} in {INSTALLED}"]


def _told(reason: str) -> str:
    return f"no machine code in this process, NumPy's kernels answer: {reason}"


def _one_is_made() -> str:
    return f"{_MAKE if has_sources() else COMPILE} makes one"


def _it_is_made_again() -> str:
    return f"{_MAKE} makes it again" if has_sources() else f"{_RESTORE} restores it"


def _loaded() -> tuple[Library, dict[str, Callable[..., Any]]]:
    chosen = _chosen()
    file = INSTALLED / chosen.file
    # Loaded by its path, so that processes share its pages.
    try:
        code = ctypes.CDLL(str(file))
    except OSError as error:
        raise RefusedError(f"{file} cannot be loaded: {error}; {_it_is_made_again()}") from error
    return chosen, {name: _function(code, symbol) for name, symbol in chosen.kernels.items()}


def _chosen() -> Library:
    if not (INSTALLED / table.FILE).is_file():
        raise RefusedError(f"there is no library; {_one_is_made()}")
    if not calling.can_call():
        raise RefusedError(f"NumPy {np.__version__} or this Python has another layout of arrays")
    content = _content(INSTALLED / table.FILE)
    version, symbols = _of_sources()
    try:
        libraries = table.read(content, version)
    except RefusedError as error:
        raise RefusedError(f"{error}; {_it_is_made_again()}") from error
    try:
        chosen = fitting(libraries)
    except RefusedError as error:
        raise RefusedError(f"{error}; {_one_is_made()}") from error
    file = INSTALLED / chosen.file
    if symbols not in (None, chosen.kernels):
        raise RefusedError(f"{file} has other kernels than this version; {_it_is_made_again()}")
    if table.digest_of(_content(file)) != chosen.sha256:
        raise RefusedError(f"{file} is damaged; {_it_is_made_again()}")
    return chosen


def _of_sources() -> tuple[str | None, dict[str, str] | None]:
    """The version and the symbols that the sources require; None and None without sources."""
    if not has_sources():
        return None, None
    from pinnace.engine.ahead import sources  # wheels with libraries are without it

    return sources.version(), sources.symbols()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise RefusedError(
            f"{file} cannot be read: {error.strerror}; {_it_is_made_again()}"
        ) from error


def _function(code: ctypes.CDLL, symbol: str) -> Callable[..., Any]:
    def address(name: str) -> int:
        return ctypes.addressof(ctypes.c_char.in_dll(code, name))

    try:
        return calling.function_of(symbol, address)
    except ValueError as error:  # the library lacks the symbol
        raise RefusedError(f"{error}; {_it_is_made_again()}") from error


def fitting(libraries: list[Library]) -> Library:
    """The library with the most demanding requirements that this machine fulfils.

    Raises:
        RefusedError: no library is for this processor.
    """
    reasons = [(one, _what_it_lacks(one)) for one in libraries]
    fitting = [one for one, reason in reasons if not reason]
    if not fitting:
        told = "; ".join(f"{one.processor} needs {reason}" for one, reason in reasons)
        raise RefusedError(f"none is for this processor: {told or 'there are none'}")
    return max(fitting, key=lambda one: len(one.requires))


def _what_it_lacks(library: Library) -> str:
    """The requirements of a library that this machine does not fulfil; empty if it can be used."""
    if library.machine != systems.machine():
        return library.machine
    if library.system != sys.platform:
        return f"{library.system}, and this is {sys.platform}"
    return ", ".join(sorted(set(library.requires) - processors.flags()))
