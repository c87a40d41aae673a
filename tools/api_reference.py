"""The reference of all public names: a page for each namespace, and one for each class."""

import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import class_page
import docstrings
import source_pages
from api_page import first_paths, members, namespaces, said
from class_examples import Run
from signatures import ADDRESS, signature

if TYPE_CHECKING:
    from types import ModuleType

INDEX = """# Names

Everything public of pinnace, by namespace. `import pinnace as tf`; `help(tf.NAME)` prints the same.
Each class has a page with its shapes, an example and what it printed, and its source.

| namespace | names | |
|---|---|---|
"""


class Reference:
    """The public names, and the page of each.

    Attributes:
        spaces: path -> namespace, each of them once.
        owners: id of a class or function -> the name that it is told under.
        classes: all that have a page.
    """

    def __init__(self) -> None:
        everywhere: dict[str, ModuleType] = {}
        namespaces(importlib.import_module("pinnace"), "tf", everywhere, frozenset())
        homes = first_paths(everywhere)
        self.spaces = {
            path: space for path, space in everywhere.items() if homes[space.__name__] == path
        }
        self._others: dict[str, list[str]] = {}
        for path, space in sorted(everywhere.items()):
            if path not in self.spaces:
                self._others.setdefault(homes[space.__name__], []).append(path)
        self.owners: dict[int, str] = {}
        for path in sorted(self.spaces, key=_preference):
            for name, value in sorted(members(self.spaces[path]), key=_own_name_first):
                if inspect.isclass(value) or inspect.isroutine(value):
                    self.owners.setdefault(id(value), f"{path}.{name}")
        self.classes = class_page.collected(everywhere, self.owners, members)

    def pages(self, runs: Mapping[str, Run], reasons: Mapping[str, str]) -> dict[str, str]:
        """File name -> Markdown.

        Args:
            runs: of the examples, by class.
            reasons: why classes have none.
        """
        written, rows = {}, []
        for path in sorted(self.spaces):
            found = members(self.spaces[path])
            if found:
                written[f"{path}.md"] = self._page(path, found)
                told = docstrings.cell(said(self.spaces[path]))
                rows.append(f"| [{path}]({path}.md) | {len(found)} | {told} |")
        written["index.md"] = INDEX + "\n".join(rows) + "\n"
        for entry in self.classes.entries:
            written[entry.page] = self.classes.page(
                entry, runs.get(entry.name), reasons.get(entry.name, "")
            )
        return written

    def listings(self, into: Path) -> None:
        """Writes the source that the pages of classes link to."""
        places = [source_pages.place(entry.value) for entry in self.classes.entries]
        source_pages.written({place.path for place in places if place}, into)

    def _page(self, path: str, found: list[tuple[str, Any]]) -> str:
        text = inspect.getdoc(self.spaces[path]) or ""
        parts = [f"# {path}", docstrings.markdown(text) if path != "tf" else ""]
        if others := self._others.get(path):
            parts.append(f"Also: {', '.join(f'`{other}`' for other in others)}")
        classes, entries, elsewhere = [], [], []
        for name, value in found:
            full = f"{path}.{name}"
            owner = self.owners.get(id(value), full)
            if owner != full:
                page = owner if inspect.isclass(value) else owner.rpartition(".")[0]
                elsewhere.append(f"| `{name}` | [{owner}]({page}.md#{owner}) |")
            elif inspect.isclass(value):
                classes.append(f"| [`{name}`]({full}.md) | {docstrings.cell(said(value))} |")
            else:
                entries.append(_entry(full, value))
        if classes:
            parts += ["## Classes", "\n".join(["| class | |", "|---|---|", *classes])]
        if classes and entries:
            parts.append("## Functions and values")
        parts += entries
        if elsewhere:
            table = "\n".join(["| name | the same as |", "|---|---|", *elsewhere])
            parts += ["## Also here", table]
        return "\n\n".join(part for part in parts if part) + "\n"


def _preference(path: str) -> tuple[bool, bool, int, str]:
    """The page of an object with several names: not under deprecated names, else its family's."""
    return ".compat." in path, path == "tf", path.count("."), path


def _own_name_first(member: tuple[str, Any]) -> bool:
    """Of several names in one namespace, the object's own."""
    name, value = member
    return name != getattr(value, "__name__", name)


def _entry(full: str, value: Any) -> str:
    heading = f"### {full.rpartition('.')[2]} {{: #{full} }}"
    if not (inspect.isroutine(value) or callable(value)):
        shown = ADDRESS.sub(r"\1", repr(value))
        return f"{heading}\n\n```python\n{full} = {shown[:400]}\n```"
    told = docstrings.markdown(inspect.getdoc(value) or "")
    return "\n\n".join(part for part in (heading, signature(full, value), told) if part)
