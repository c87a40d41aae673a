"""Functions of version 2 with version 1's names and arguments."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import as_dtype
from pinnace.framework.parsing import parsed

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE = "earlier_signatures.txt"


@dataclass(frozen=True, slots=True)
class Earlier:
    """A function of version 1.

    Attributes:
        name: its name, such as `reduce_sum`.
        takes: its arguments, in Python's syntax.
        renamed: old name of an argument -> new name; empty if version 2 dropped it.
        of: its name in version 2, without `tf.`.
    """

    name: str
    takes: str
    renamed: dict[str, str]
    of: str

    def made(self) -> Callable[..., Any]:
        """The function, with the signature of version 1."""
        signature = self._signature()
        target: Any = importlib.import_module("pinnace")
        for part in self.of.split("."):
            target = getattr(target, part)

        def call(*args: Any, **options: Any) -> Any:
            given = signature.bind(*args, **options).arguments
            return target(**self._now(given))

        call.__name__ = call.__qualname__ = self.name
        call.__doc__ = f"`tf.{self.of}`, with the arguments of version 1."
        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__wrapped__ = target  # type: ignore[attr-defined]
        return call

    def _now(self, given: dict[str, Any]) -> dict[str, Any]:
        now: dict[str, Any] = {}
        for old, value in given.items():
            new = self.renamed.get(old, old)
            if value is None or not new:
                continue  # None is "not given" in all of version 1
            if new in now:
                raise ValueError(
                    f"{self.name}: {new} was given twice; {old} is its old name: give one of them"
                )
            now[new] = value
        return now

    def _signature(self) -> inspect.Signature:
        made = parsed(f"def f({self.takes}): pass").body[0]
        assert isinstance(made, ast.FunctionDef)  # noqa: S101 (it was written so)
        listed = [one.arg for one in made.args.args]
        defaults = dict(zip(reversed(listed), reversed(made.args.defaults), strict=False))
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=_default(defaults[name]) if name in defaults else inspect._empty,
                )
                for name in listed
            ]
        )


def _default(node: ast.expr) -> Any:
    text = ast.unparse(node)
    return as_dtype(text.removeprefix("tf.")) if text.startswith("tf.") else ast.literal_eval(node)


def earlier_functions(space: str) -> dict[str, Earlier]:
    """The functions of a namespace, by name.

    Args:
        space: `tf.nn`.
    """
    return _all().get(space, {})


@functools.cache
def _all() -> dict[str, dict[str, Earlier]]:
    found: dict[str, dict[str, Earlier]] = {}
    space = ""
    for line in resources.files("pinnace.compat.v1").joinpath(_FILE).read_text().splitlines():
        if line.startswith("["):
            space = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, rest = line.partition("(")
            takes, _, words = rest.rpartition("):")
            pairs = [word for word in words.split() if ">" in word]
            others = [word for word in words.split() if ">" not in word]
            renamed = dict(pair.split(">", 1) for pair in pairs)
            of = others[0] if others else f"{space}.{name}".removeprefix("tf.")
            found.setdefault(space, {})[name] = Earlier(name, takes, renamed, of)
    return found
