"""The number of connections per port: by flag, or by the limit of open files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.serving.config.settings import Settings

_MOST_CONNECTIONS = 8192
_SPARE_FILES = 256  # for models, and files opened later


def most_connections(settings: Settings) -> int:
    """The connections that each port of a server may have at once.

    By default all ports together may use the limit of open files minus a reserve.
    """
    if settings.max_connections:
        return settings.max_connections
    ports = 1 if settings.grpc_port is None else 2
    files = open_files_limit()
    return min(_MOST_CONNECTIONS, max(files - _SPARE_FILES, files // 2) // ports)


def open_files_limit() -> int:
    """The process's limit of open files."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return 2 * _MOST_CONNECTIONS + _SPARE_FILES
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2 * _MOST_CONNECTIONS + _SPARE_FILES if soft == resource.RLIM_INFINITY else soft


def raise_open_files_limit() -> None:
    """Raise the soft limit of open files, up to the hard limit or what the server can use."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _MOST_CONNECTIONS + _SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
