"""The changes between the names of TensorFlow 1 and 2.

The facts are TensorFlow's; `tools/upgrade_facts.py` writes them.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CONTRIB = "tf.contrib."
_FILE = Path(__file__).with_name("facts.json")


@dataclass(frozen=True, slots=True)
class Way:
    """The rewriting of a function's calls, where new names are not enough.

    Attributes:
        way: a name of `ways.WAYS`.
        argument: the argument that it is about.
        value: what is given for it.
        fine: the values with which nothing has to be done: `text`, `True` or `False`.
        remove: whether the argument goes if its value is fine.
    """

    way: str
    argument: str = ""
    value: str = ""
    fine: str = ""
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it, by names as `tf.log`; `*.minimize` is any object's method.

    Attributes:
        renames: name -> name in version 2.
        keywords: function -> keyword -> its new name, None if it is gone.
        orders: function -> the keyword that the argument at each place must be given by; None where
            the place is still the same.
        reasons: name -> level and reason of what a person must look at.
        argument_reasons: function -> keyword, place and level of such arguments.
        modules: namespaces that are gone -> level and reason.
        addons: name -> where TensorFlow Addons has it.
        ways: function -> the way its calls are changed.
        version_1_spaces: namespaces that version 1 alone has.
    """

    renames: dict[str, str]
    keywords: dict[str, dict[str, str | None]]
    orders: dict[str, list[str | None]]
    reasons: dict[str, tuple[str, str]]
    argument_reasons: dict[str, list[tuple[str, int, str]]]
    modules: dict[str, tuple[str, str]]
    addons: dict[str, str]
    ways: dict[str, Way]
    version_1_spaces: frozenset[str]

    def changes(self, name: str) -> bool:
        """Whether a name, or what it is called with, is another one in version 2."""
        return (
            name in self.renames
            or name in self.keywords
            or name in self.orders
            or name in self.ways
            or name in self.version_1_spaces
        )

    def new_name(self, name: str, places: int | None) -> str | None:
        """The name in version 2; None if it is the same.

        What has the new name in version 1, too, and with other arguments, would be changed again by
        the next upgrade: the name is that of compat.v1 then.

        Args:
            name: as `tf.log`.
            places: how many arguments it is called with by place; None: it is not called.
        """
        new = self.renames.get(name)
        if new is None or not self.doubtful(name):
            return new
        if name.startswith(_CONTRIB):  # not in compat.v1; the name it got moved on
            return self.renames.get(new, new)
        order = self.orders.get(new, [])
        kept = next((place for place, keyword in enumerate(order) if keyword), len(order))
        if new in self.renames or new in self.ways or (places or 0) > kept:
            return f"tf.compat.v1.{name.removeprefix('tf.')}"
        return new

    def doubtful(self, name: str) -> bool:
        """Whether the new name of a name is another function of version 1."""
        new = self.renames.get(name, "")
        moved_on = new in self.renames and name not in self.orders
        return moved_on or (
            name not in self.orders
            and name not in self.ways
            and (new in self.orders or new in self.ways)
        )

    def space_of(self, name: str) -> str | None:
        """The namespace that is gone in which the name is; the innermost of several."""
        parts = name.split(".")
        above = (".".join(parts[:count]) for count in range(len(parts), 1, -1))
        return next((space for space in above if space in self.modules), None)


@functools.cache
def facts() -> Facts:
    """The facts, read once."""
    found: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    found["ways"] = {name: Way(**settings) for name, settings in found["ways"].items()}
    found["version_1_spaces"] = frozenset(found["version_1_spaces"])
    return Facts(**found)
