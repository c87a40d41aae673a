"""The public names of pinnace, each with a line of its docstring: api.md of `make pages`."""

import importlib
import inspect
import re
from functools import cache
from types import ModuleType
from typing import Any

from public_names import exports

HEAD = """# Names

Everything public of pinnace, with the first line of its documentation; `help(tf.NAME)` shows the
rest: shapes, types, errors. Written by `make pages`.
"""
# Folders of the library that are found on the package, and are not for its users.
INNER = {"framework", "functions", "engine", "graph", "storage", "ops", "proto", "late"}
# Families of ops that stand beside their names in a namespace.
FAMILIES = {"bits", "clipping", "einstein", "products", "ranges", "splitting"}
SENTENCE = re.compile(r"(?<=[a-z)`\]]{2}[.:;])\s")
LONGEST = 110  # characters of what is said about a name


def page() -> str:
    """The whole document."""
    spaces: dict[str, ModuleType] = {}
    namespaces(importlib.import_module("pinnace"), "tf", spaces, frozenset())
    first = first_paths(spaces)
    parts = [HEAD]
    for path, space in sorted(spaces.items()):
        home = first[space.__name__]
        rows = [f"| `{name}` | {said(value)} |" for name, value in members(space)]
        if home != path:
            parts.append(f"## {path}\n\nThe same as `{home}`.\n")
        elif rows:
            head = f"## {path}\n\n{said(space)}\n" if path != "tf" else f"## {path}\n"
            parts.append("\n".join([head, "| name | |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


def first_paths(spaces: dict[str, ModuleType]) -> dict[str, str]:
    """Module name -> the path under which it is told: Keras's own, else the shortest."""
    first: dict[str, str] = {}
    for path in sorted(spaces, key=lambda path: (not _is_keras(path), path.count("."), path)):
        first.setdefault(spaces[path].__name__, path)
    return first


def _is_keras(path: str) -> bool:
    return path.startswith("tf.keras")


def namespaces(
    module: ModuleType, path: str, found: dict[str, ModuleType], above: frozenset[str]
) -> None:
    """Adds the module and the namespaces inside: path -> module."""
    found[path] = module
    for name in _exported(module):
        inner = getattr(module, name, None)
        if isinstance(inner, ModuleType) and _is_ours(inner) and inner.__name__ not in above:
            namespaces(inner, f"{path}.{name}", found, above | {module.__name__})


def members(module: ModuleType) -> list[tuple[str, Any]]:
    """(name, value) of what is public and no namespace."""
    values = [(name, getattr(module, name, None)) for name in _exported(module)]
    return [(name, value) for name, value in values if not isinstance(value, ModuleType)]


@cache  # what is given on first use is a name like the others only before that
def _exported(module: ModuleType) -> list[str]:
    names = exports(module)
    hidden = INNER if module.__name__ == "pinnace" else FAMILIES
    return [name for name in names if name not in hidden]


def _is_ours(module: ModuleType) -> bool:
    return module.__name__.startswith("pinnace.")


def said(value: Any) -> str:
    """The first line of the docstring that is the thing's own, not its type's."""
    own = isinstance(value, ModuleType) or inspect.isclass(value) or inspect.isroutine(value)
    text = (inspect.getdoc(value) or "") if own else f"`{value!r}`"
    if not own and len(text) > LONGEST:
        text = f"a `{type(value).__name__}`"
    line = " ".join(text.strip().split("\n\n")[0].split())
    line = SENTENCE.split(line)[0] if len(line) > LONGEST else line
    return line.replace("|", "\\|")
