"""What the process opens: files, sockets and other processes."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# Python's audit events of everything that opens, connects, starts or lists.
_EVENTS = (
    "open", "socket.", "os.", "subprocess.", "shutil.", "glob.", "pathlib.", "ctypes.dlopen",
    "tempfile.", "urllib.", "http.", "mmap.", "webbrowser.", "pty.", "sqlite3.",
)  # fmt: skip
# The machine's load, which kernels that share work read.
_OWN = "/proc/loadavg"
_seen: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None and event.startswith(_EVENTS) and _OWN not in map(str, arguments[:1]):
        _seen.append(f"{event}{arguments!r}")


@contextmanager
def watched() -> Iterator[list[str]]:
    """Yields a list of what the process opens inside the block."""
    global _seen
    _install()
    found: list[str] = []
    _seen = found
    try:
        yield found
    finally:
        _seen = None


def _install() -> None:
    if not getattr(_install, "done", False):
        sys.addaudithook(_hook)  # stays for the lifetime of the process, and records nothing else
        _install.done = True  # type: ignore[attr-defined]
