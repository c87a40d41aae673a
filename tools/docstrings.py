"""A docstring as Markdown: prose, tables of arguments, examples as code."""

import re
import textwrap
from collections.abc import Iterable, Iterator

SECTION = re.compile(
    r"^(Args|Arguments|Attributes|Raises|Returns|Yields|Shapes|Source|Examples?):\s*(.*)$"
)
ENTRY = re.compile(r"^(\*{0,2}[\w.`]+(?:, \*{0,2}[\w.`]+)*)(?: \([^)]*\))?:(?:\s+(.*))?$")
TABLES = {"Args", "Arguments", "Attributes", "Raises"}
HEADINGS = {"Args": "Arguments", "Example": "Example"}
CODE = re.compile(r"(`+[^`]*`+)")


def markdown(text: str) -> str:
    """The Markdown of a docstring whose indentation is gone.

    Args:
        text: what `inspect.getdoc` gives.

    Returns:
        Paragraphs, tables and fenced code, without headings: the page decides on those.
    """
    return rendered(sections(text))


def rendered(found: Iterable[tuple[str | None, str]]) -> str:
    """The Markdown of sections, each (title or None, body)."""
    parts = []
    for title, body in found:
        if title and title.startswith("Example"):
            parts.append(f"**{title}**\n\n```pycon\n{body}\n```")
        elif title in TABLES:
            head = HEADINGS.get(title, title)
            rows = entries(body)
            # None: a sentence about all of them
            parts.append(f"**{head}**: {_prose(body)}" if rows is None else table(head, rows))
        elif title:
            parts.append(f"**{title}**: {_prose(body)}")
        elif body:
            parts.append(_prose(body))
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Prose with nothing in it that Markdown or HTML would take for their own, but for code."""
    return "".join(
        piece if at % 2 else re.sub(r"([\\*_\[\]|])", r"\\\1", piece).replace("<", "&lt;")
        for at, piece in enumerate(CODE.split(text))
    )


def cell(text: str) -> str:
    """Text of one cell of a table, in which `|` ends even code."""
    said = escaped(" ".join(text.split()))
    return re.sub(r"(?<!\\)\|", r"\\|", said)


def sections(text: str) -> Iterator[tuple[str | None, str]]:
    """(title or None, body without indentation), in order."""
    title: str | None = None
    lines: list[str] = []
    for line in text.splitlines():
        found = SECTION.match(line)
        if found:
            yield title, _body(lines)
            title, lines = found[1], [found[2]] if found[2] else []
        elif title and line and not line.startswith(" "):  # prose goes on behind a section
            yield title, _body(lines)
            title, lines = None, [line]
        else:
            lines.append(line)
    yield title, _body(lines)


def _body(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip("\n")


def entries(body: str) -> list[tuple[str, str]] | None:
    """(name, what is said of it) of a section of those; None if it is prose."""
    rows: list[list[str]] = []
    for line in body.splitlines():
        entry = ENTRY.match(line)
        if entry:
            rows.append([entry[1].strip("`"), entry[2] or ""])
        elif rows:
            rows[-1][1] += " " + line.strip()
        elif line.strip():
            return None
    return [(name, said) for name, said in rows]


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and what is said of each; "" without any."""
    lines = [f"| `{name}` | {cell(said)} |" for name, said in rows]
    return "\n".join([f"| {title} | |", "|---|---|", *lines]) if lines else ""


def _prose(body: str) -> str:
    """Paragraphs; what is indented, or was typed at Python's prompt, is code."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", body):
        if paragraph.startswith(">>>"):
            paragraphs.append(f"```pycon\n{paragraph}\n```")
        elif paragraph.startswith(("    ", "   ")) or "──" in paragraph:
            paragraphs.append(f"```text\n{textwrap.dedent(paragraph)}\n```")
        elif paragraph.startswith(("- ", "* ", "1. ")):
            paragraphs.append("\n".join(_item(line) for line in paragraph.splitlines()))
        elif paragraph.strip():
            paragraphs.append(escaped(paragraph))
    return "\n\n".join(paragraphs)


def _item(line: str) -> str:
    mark, _, said = line.partition(" ")
    return f"{mark} {escaped(said)}" if mark in {"-", "*", "1."} else "    " + escaped(line.strip())
