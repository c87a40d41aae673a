"""The differences between the names of TensorFlow 1 and 2.

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
    """The rewriting of a function's calls that need more than new names.

    Attributes:
        way: a name of `ways.WAYS`.
        argument: the argument that it concerns.
        value: the value of that argument.
        fine: the values that need no change: `text`, `True` or `False`.
        remove: whether the argument is removed if its value is fine.
    """

    way: str
    argument: str = ""
    value: str = ""
    fine: str = ""
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts, by names such as `tf.log`; `*.minimize` is a method of any object.

    Attributes:
        renames: name -> name in version 2.
        keywords: function -> keyword -> new keyword; None if it was removed.
        orders: function -> the keyword for the argument at each position; None where the position
            is unchanged.
        reasons: name -> level and reason of advice.
        argument_reasons: function -> keyword, position and level of arguments with advice.
        modules: removed namespaces -> level and reason.
        addons: name -> its place in TensorFlow Addons.
        ways: function -> the rewriting of its calls.
        version_1_spaces: namespaces of version 1 only.
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
        """Whether a name or its arguments differ in version 2."""
        return (
            name in self.renames
            or name in self.keywords
            or name in self.orders
            or name in self.ways
            or name in self.version_1_spaces
        )

    def new_name(self, name: str, places: int | None) -> str | None:
        """The name in version 2; None if it is unchanged.

        If the new name exists in version 1 with other arguments, the next upgrade would change it
        again: the name in compat.v1 is returned then.

        Args:
            name: a name such as `tf.log`.
            places: the number of positional arguments; None if it is not called.
        """
        new = self.renames.get(name)
        if new is None or not self.doubtful(name):
            return new
        if name.startswith(_CONTRIB):  # contrib is not in compat.v1
            return self.renames.get(new, new)
        order = self.orders.get(new, [])
        kept = next((place for place, keyword in enumerate(order) if keyword), len(order))
        if new in self.renames or new in self.ways or (places or 0) > kept:
            return f"tf.compat.v1.{name.removeprefix('tf.')}"
        return new

    def doubtful(self, name: str) -> bool:
        """Whether the new name is another function of version 1."""
        new = self.renames.get(name, "")
        moved_on = new in self.renames and name not in self.orders
        return moved_on or (
            name not in self.orders
            and name not in self.ways
            and (new in self.orders or new in self.ways)
        )

    def space_of(self, name: str) -> str | None:
        """The innermost removed namespace that contains the name, or None."""
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
