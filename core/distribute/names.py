"""Canonical device names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACE = re.compile(
    r"(/?job:(?P<job>\w+))?(/?replica:(?P<replica>\d+))?(/?task:(?P<task>\d+))?"
    r"/?(device:)?(?P<kind>[A-Za-z]\w*?)(:(?P<number>\d+))?",
    re.IGNORECASE,
)


def device_names(who: str, given: Sequence[str]) -> tuple[str, ...]:
    """Full names of devices, such as `/job:localhost/replica:0/task:0/device:CPU:1`.

    Args:
        who: name of the caller in messages.
        given: names such as "/CPU:1", "cpu:1", "GPU:0".

    Raises:
        ValueError: a name that is none, or one that comes twice.
    """
    names = []
    for one in given:
        found = _PLACE.fullmatch(str(getattr(one, "name", one)))
        if found is None:
            raise ValueError(f"{who}: a device must look like '/CPU:0', got {one!r}")
        names.append(
            f"/job:{found['job'] or 'localhost'}/replica:{found['replica'] or 0}"
            f"/task:{found['task'] or 0}/device:{found['kind'].upper()}:{found['number'] or 0}"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"{who}: No duplicates allowed in `devices` argument: {tuple(names)}")
    return tuple(names)
