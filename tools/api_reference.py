"""The reference of all public names, a page for each namespace: signatures and whole docstrings."""

import enum
import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import docstrings
from api_page import first_paths, members, namespaces, said

INDEX = """# Names

Everything public of pinnace, by namespace. `import pinnace as tf`; `help(tf.NAME)` prints the same.

| namespace | names | |
|---|---|---|
"""
WIDTH = 92
ADDRESS = re.compile(r"<(?:function |class ')?([\w.]+)[^>]*>")


def pages() -> dict[str, str]:
    """File name -> Markdown."""
    spaces: dict[str, ModuleType] = {}
    namespaces(importlib.import_module("pinnace"), "tf", spaces, frozenset())
    homes = first_paths(spaces)
    shown = {path: space for path, space in spaces.items() if homes[space.__name__] == path}
    owners: dict[int, str] = {}
    for path in sorted(shown, key=_preference):
        for name, value in members(shown[path]):
            if inspect.isclass(value) or inspect.isroutine(value):
                owners.setdefault(id(value), f"{path}.{name}")
    written, rows = {}, []
    for path in sorted(shown):
        found = members(shown[path])
        if found:
            written[f"{path}.md"] = _page(path, shown[path], found, owners)
            rows.append(
                f"| [{path}]({path}.md) | {len(found)} | {docstrings.cell(said(shown[path]))} |"
            )
    written["index.md"] = INDEX + "\n".join(rows) + "\n"
    return written


def _preference(path: str) -> tuple[bool, bool, int, str]:
    """Where a thing with several names is told: not under old names, else at its family's."""
    return ".compat." in path, path == "tf", path.count("."), path


def _page(
    path: str, space: ModuleType, found: list[tuple[str, Any]], owners: dict[int, str]
) -> str:
    parts = [f"# {path}", docstrings.markdown(inspect.getdoc(space) or "") if path != "tf" else ""]
    elsewhere = []
    for name, value in found:
        full = f"{path}.{name}"
        owner = owners.get(id(value), full)
        if owner != full:
            page = owner.rpartition(".")[0]
            elsewhere.append(f"| `{name}` | [{owner}]({page}.md#{owner}) |")
        else:
            parts.append(_entry(full, value))
    if elsewhere:
        table = "\n".join(["| name | the same as |", "|---|---|", *elsewhere])
        parts += ["## Also here", table]
    return "\n\n".join(part for part in parts if part) + "\n"


def _entry(full: str, value: Any) -> str:
    parts = [f"## {full.rpartition('.')[2]} {{: #{full} }}"]
    if not (inspect.isclass(value) or inspect.isroutine(value) or callable(value)):
        shown = ADDRESS.sub(r"\1", repr(value))
        return parts[0] + f"\n\n```python\n{full} = {shown[:400]}\n```"
    parts.append(_signature(full, value))
    if inspect.isclass(value):
        bases = [base.__name__ for base in value.__bases__ if base is not object]
        if bases:
            parts.append(f"A subclass of {', '.join(f'`{base}`' for base in bases)}.")
    parts.append(docstrings.markdown(inspect.getdoc(value) or ""))
    if inspect.isclass(value) and not issubclass(value, enum.Enum):
        parts += [_member(full, value, name, found) for name, found in _own(value)]
    return "\n\n".join(part for part in parts if part)


def _own(value: type) -> list[tuple[str, Any]]:
    """What the class itself adds, with a docstring of its own."""
    return [
        (name, found)
        for name, found in sorted(vars(value).items())
        if not name.startswith("_") and _documented(found)
    ]


def _documented(found: Any) -> bool:
    function = found.__func__ if isinstance(found, classmethod | staticmethod) else found
    kinds = inspect.isfunction(function) or isinstance(function, property)
    text = (function.__doc__ or "").strip()
    return kinds and bool(text) and not text.startswith("See ")  # what the base class has said


def _member(full: str, owner: type, name: str, found: Any) -> str:
    text = docstrings.markdown(inspect.getdoc(found) or "")
    heading = f"### {full.rpartition('.')[2]}.{name} {{: #{full}.{name} }}"
    if isinstance(found, property):
        return f"{heading}\n\n{text}"
    return f"{heading}\n\n{_signature(name, getattr(owner, name))}\n\n{text}"


def _signature(full: str, value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    arguments = [ADDRESS.sub(r"\1", str(one)) for one in _with_marks(plain)]
    text = f"{full}({', '.join(arguments)})"
    if len(text) > WIDTH:
        text = f"{full}(\n" + "".join(f"    {one},\n" for one in arguments) + ")"
    return f"```python\n{text}\n```"


def _with_marks(parameters: list[inspect.Parameter]) -> list[Any]:
    """The parameters, with `*` where arguments must be named from."""
    shown: list[Any] = []
    named = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            named = True
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            shown.append("*")
            named = True
        shown.append(parameter)
    return shown
