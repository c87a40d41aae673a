"""Whether a tensor of this process has a layout on a mesh (`experimental.dtensor`).

Until one has, an op asks this flag where it takes its general path, and nothing else is done.
"""

from __future__ import annotations

used = False


def begin() -> None:
    """From now on, ops look at the layouts of their inputs."""
    global used
    used = True
