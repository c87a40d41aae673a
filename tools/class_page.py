"""The page of a public class: its arguments, shapes, example with output, members and source."""

import dataclasses
import enum
import importlib
import inspect
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import docstrings
import source_pages
from class_examples import Run
from signatures import parameters, signature

OURS = "pinnace"
# What docstrings are split at for this page; the example is the one that runs.
SHAPES, EXAMPLES = "Shapes", ("Example", "Examples")
ARGUMENTS = ("Args", "Arguments")
# Said of a base or function whose arguments are shown.
ELSEWHERE = re.compile(r"[;:.]\s*(?:arguments: )?see (?:Base\w+|`?[a-z]\w*`?(?: and \w+)?)\.")
SEE = re.compile(r"(?:see|losses\.)\s?`?(?:\w+\.)?([A-Za-z]\w+)`?")
LOSSES = "pinnace.keras.losses"
SCALAR = {1: "double", 2: "float", 3: "int64", 5: "int32", 8: "bool", 9: "string", 12: "bytes"}


@dataclasses.dataclass(frozen=True, slots=True)
class PublicClass:
    """A class under the name that it has a page for.

    Attributes:
        name: in full, `tf.keras.layers.Dense`.
        value: the class.
        aliases: its other names.
    """

    name: str
    value: type
    aliases: tuple[str, ...]

    @property
    def page(self) -> str:
        """The file of its page."""
        return f"{self.name}.md"


class Classes:
    """All public classes, and where each is told."""

    def __init__(self, entries: list[PublicClass]) -> None:
        self.entries = entries
        self._by_value = {entry.value: entry for entry in entries}

    def page(self, entry: PublicClass, run: Run | None, reason: str = "") -> str:
        """The whole page.

        Args:
            entry: the class.
            run: of its example.
            reason: why it has no example.
        """
        value = entry.value
        sections = [] if _is_foreign(value) else list(docstrings.sections(_text(value)))
        intro, _, more = (sections[0][1] if sections else "").partition("\n\n")
        rest = [(None, more), *sections[1:]]
        shapes = [body for title, body in rest if title == SHAPES]
        told = [one for one in rest if one[0] not in (SHAPES, *EXAMPLES)]
        arguments = ""
        if all(docstrings.entries(body) is not None for title, body in rest if title in ARGUMENTS):
            told = [one for one in told if one[0] not in ARGUMENTS]
            arguments = docstrings.table("Arguments", self._arguments(value)) if sections else ""
        parts = [
            f"# {entry.name} {{: #{entry.name} }}",
            docstrings.markdown(ELSEWHERE.sub(".", intro)) or _of_others(value),
            signature(entry.name, value) if _is_made_by_call(value) else "",
            self._kin(entry),
            arguments,
            docstrings.rendered(told),
            _values(value),
            _shapes(value, shapes, run),
            _example(run, reason),
            self._members(entry),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _arguments(self, value: type) -> list[tuple[str, str]]:
        """All that is told of what the class is called with: here, or where it is told for many.

        That is a base, public or not, or the function that the docstring names.
        """
        places = [importlib.import_module(value.__module__), importlib.import_module(LOSSES)]
        named = [
            getattr(place, name, None) for name in SEE.findall(_text(value)) for place in places
        ]
        told: dict[str, str] = {}
        for one in [value, *named, *value.__mro__[1:]]:
            if one is not None and not (inspect.isclass(one) and _is_foreign(one)):
                for name, said in _entries(inspect.getdoc(one) or ""):
                    if told.get(name, "see ").startswith("see "):
                        told[name] = said
        own = dict(_entries(_text(value)))
        wanted = [name for name in parameters(value) if name in told]
        own |= {name: told[name] for name in own if name in told}
        return [*own.items(), *((name, told[name]) for name in wanted if not _has(own, name))]

    def _kin(self, entry: PublicClass) -> str:
        """Its source, its base classes, its other names."""
        space = entry.name.rpartition(".")[0]
        lines = [f"In [{space}]({space}.md)"]
        if place := source_pages.place(entry.value):
            lines.append(f"Source code: [{place.text}]({place.link})")
        if bases := self._bases(entry.value):
            lines.append(f"Derived from: {', '.join(self.linked(base) for base in bases)}")
        if entry.aliases:
            lines.append(f"Also: {', '.join(f'`{alias}`' for alias in entry.aliases)}")
        return "\n".join(f"- {line}" for line in lines)

    def _bases(self, value: type) -> list[type]:
        """The nearest that are public, or Python's; what is between is nobody's concern."""
        above = [
            base
            for base in value.__mro__[1:]
            if base in self._by_value or (base.__module__ == "builtins" and base is not object)
        ]
        return [one for one in above if not any(issubclass(o, one) for o in above if o is not one)]

    def linked(self, value: type) -> str:
        """The name of a class, with a link if it is public."""
        entry = self._by_value.get(value)
        if entry is None:
            return f"`{value.__name__}`"
        return f"[{entry.name}]({entry.page})"

    def own(self, value: type) -> list[str]:
        """The public names that the class brings, itself or by bases that are not public."""
        above = [base for base in value.__mro__[1:] if base in self._by_value]
        names = []
        for name in sorted(set(_names(value))):
            definer = next(one for one in value.__mro__ if name in vars(one))
            if definer is value or not any(issubclass(base, definer) for base in above):
                names.append(name)
        return names

    def _documented(self, value: type) -> list[str]:
        return [name for name in self.own(value) if _is_documented(_found(value, name))]

    def _members(self, entry: PublicClass) -> str:
        value = entry.value
        if issubclass(value, enum.Enum) or _is_foreign(value):
            return ""
        documented = self._documented(value)
        parts = ["## Methods and properties"] if documented else []
        parts += [_member(entry, name) for name in documented]
        rows = self._inherited(value, set(documented))
        if rows:
            parts += ["## Inherited", "\n".join(["| from | |", "|---|---|", *rows])]
        return "\n\n".join(parts)

    def _inherited(self, value: type, documented: set[str]) -> list[str]:
        """A row for each public base: what is told on its page, with links."""
        found: dict[type, list[str]] = {}
        for base in reversed(value.__mro__[1:]):
            if base in self._by_value and not _is_foreign(base):
                told = set(self._documented(base)) - documented
                found[base] = sorted(told.difference(*found.values()))
        rows = []
        for base in value.__mro__[1:]:
            if names := found.get(base):
                entry = self._by_value[base]
                links = [f"[{name}]({entry.page}#{entry.name}.{name})" for name in names]
                rows.append(f"| {self.linked(base)} | {', '.join(links)} |")
        return rows


def _text(value: type) -> str:
    return inspect.getdoc(value) or ""


def _is_foreign(value: type) -> bool:
    return value.__module__.split(".")[0] != OURS or _is_message(value)


def _is_made_by_call(value: type) -> bool:
    return not (_is_message(value) or issubclass(value, enum.Enum))


def _entries(text: str) -> list[tuple[str, str]]:
    """The arguments in a docstring."""
    found = [body for title, body in docstrings.sections(text) if title in ARGUMENTS]
    return [row for body in found for row in docstrings.entries(body) or []]


def _has(own: Mapping[str, str], name: str) -> bool:
    return name in {one.strip(" *") for names in own for one in names.split(",")}


def _is_message(value: type) -> bool:
    return hasattr(value, "DESCRIPTOR") and hasattr(value, "FromString")


def _of_others(value: type) -> str:
    """The note on a class from another library."""
    if _is_message(value):
        name = value.DESCRIPTOR.full_name  # type: ignore[attr-defined]
        return f"A message of protocol buffers: `{name}`."
    text = " ".join(_text(value).partition("\n\n")[0].split())
    said = "" if text.startswith(f"{value.__name__}(") else docstrings.escaped(text) + " "
    return f"{said}This is `{value.__module__}.{value.__name__}`."


def _values(value: type) -> str:
    """The members of an enumeration, the fields of a message, the constants of a class of those."""
    if _is_message(value):
        rows = [(one.name, _field(one)) for one in value.DESCRIPTOR.fields]  # type: ignore[attr-defined]
        head = "Fields"
    elif issubclass(value, enum.Enum):
        rows = [(name, f"`{one.value!r}`") for name, one in value.__members__.items()]
        head = "Values"
    else:
        constants = {n: v for n, v in vars(value).items() if not n.startswith("_")}
        rows = [(n, f"`{v!r}`") for n, v in constants.items() if isinstance(v, int | str | float)]
        head = "Values"
    lines = [f"| `{name}` | {docstrings.cell(said)} |" for name, said in rows]
    return "\n".join([f"| {head} | |", "|---|---|", *lines]) if lines else ""


def _field(field: Any) -> str:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        key, held = message.fields
        return f"map from {_field(key)} to {_field(held)}"
    kind = f"`{message.name}`" if message else SCALAR.get(field.type, "number")
    repeated = getattr(field, "is_repeated", None)
    if repeated is None:  # protobuf below 6
        repeated = field.label == field.LABEL_REPEATED
    return f"any number of {kind}" if repeated else kind


def _shapes(value: type, told: list[str], run: Run | None) -> str:
    """The shapes in the docstring, and those of the example."""
    parts = [docstrings.rendered([(None, body)]) for body in told]
    seen = run.shapes if run else {}
    if "x" in seen and "y" in seen and (told or hasattr(value, "compute_output_shape")):
        had = f"In the example below: x {seen['x']} → y {seen['y']}."
        parts.append(docstrings.escaped(had))
    return "\n\n".join(["## Shapes", *parts]) if parts else ""


def _example(run: Run | None, reason: str) -> str:
    if run is None:
        return f"## Example\n\n{reason}" if reason else ""
    return f"## Example\n\n```pycon\n{run.session()}\n```"


def _names(value: type) -> list[str]:
    return [
        name
        for one in value.__mro__
        if one.__module__.split(".")[0] == OURS
        for name in vars(one)
        if not name.startswith("_")
    ]


def _found(value: type, name: str) -> Any:
    return inspect.getattr_static(value, name)


def _is_documented(found: Any) -> bool:
    function = found.__func__ if isinstance(found, classmethod | staticmethod) else found
    kinds = inspect.isfunction(function) or isinstance(function, property)
    text = (function.__doc__ or "").strip() if kinds else ""
    return bool(text) and not text.startswith("See ")  # what the base class has said


def _member(entry: PublicClass, name: str) -> str:
    found = _found(entry.value, name)
    text = docstrings.markdown(inspect.getdoc(found) or "")
    heading = f"### {name} {{: #{entry.name}.{name} }}"
    if isinstance(found, property):
        return f"{heading}\n\n{text}"
    return f"{heading}\n\n{signature(name, getattr(entry.value, name))}\n\n{text}"


def collected(spaces: Mapping[str, ModuleType], owners: Mapping[int, str], names: Any) -> Classes:
    """The public classes of the namespaces.

    Args:
        spaces: path -> namespace, all of them.
        owners: id of a value -> the name that it is told under.
        names: a function that gives (name, value) of what is public in a namespace.
    """
    values: dict[int, type] = {}
    aliases: dict[int, list[str]] = {}
    for path, space in spaces.items():
        for name, value in names(space):
            if inspect.isclass(value) and id(value) in owners:
                values[id(value)] = value
                aliases.setdefault(id(value), []).append(f"{path}.{name}")
    return Classes(
        [
            PublicClass(
                owners[key], value, tuple(sorted(set(aliases[key]) - {owners[key]}, key=_order))
            )
            for key, value in sorted(values.items(), key=lambda item: owners[item[0]])
        ]
    )


def _order(name: str) -> tuple[bool, str]:
    return ".compat." in name, name
