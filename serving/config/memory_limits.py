"""The memory limit of this process, and the default shares of runs and requests."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

_RUN_PART = 2  # the share of memory that one run may take
# The share for all request bodies: each is held several times while it is read and joined.
_REQUESTS_PART = 8
_MOST_REQUESTS = 2**30
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")
_FILES = ("memory.max", "memory.high", "memory.limit_in_bytes")


@functools.cache
def memory_limit() -> int:
    """The bytes of memory that this process may have, by its machine, container and limits.

    Returns:
        0 if unknown.
    """
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0
    for folder in _cgroup_folders():
        for name in _FILES:
            with contextlib.suppress(OSError, ValueError):  # missing, or "max"
                found = min(found, int((folder / name).read_text()))
    with contextlib.suppress(ImportError):  # Windows has no such module
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            limit = resource.getrlimit(kind)[0]
            if limit != resource.RLIM_INFINITY:
                found = min(found, limit)
    return found


def data_limit() -> int:
    """The bytes of address space that this process may allocate; 0 for no limit."""
    with contextlib.suppress(ImportError):  # Windows has no such module
        import resource

        limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
        return 0 if limit == resource.RLIM_INFINITY else limit
    return 0


def default_run_bytes() -> int:
    """The default limit of one run: half of the memory."""
    return memory_limit() // _RUN_PART


def default_inflight_bytes() -> int:
    """The default limit of all request bodies: an eighth of the memory, at most a gigabyte."""
    limit = memory_limit()
    return min(limit // _REQUESTS_PART, _MOST_REQUESTS) if limit else _MOST_REQUESTS


def _cgroup_folders() -> list[Path]:
    """The cgroups of this process, of both versions, and their parents."""
    found = [_CGROUPS, _CGROUPS / "memory"]
    with contextlib.suppress(OSError):
        for line in _OWN_CGROUPS.read_text().splitlines():
            kinds, _, path = line.partition(":")[2].partition(":")
            if kinds and "memory" not in kinds.split(","):
                continue
            folder = (found[1] if kinds else found[0]) / path.lstrip("/")
            found += [one for one in (folder, *folder.parents) if _CGROUPS in one.parents]
    return found
