"""Jupyter notebooks: the sources of their cells form one program; everything else is unchanged."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.deploy.upgrade.findings import Finding, Level, advice
from pinnace.deploy.upgrade.program import Upgraded, upgrade_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.deploy.upgrade.options import Options

_SPACE = re.compile(r"[ \t\n\r]*")
# Magics for cells of Python, in their first line.
_PYTHON_CELLS = re.compile(r"%%(time|timeit|capture|prun|memit|mprun|debug)\b")
# Lines of IPython: shell commands, magics, questions; also as values, `files = !ls`.
_OF_IPYTHON = re.compile(r"\s*([%!?]|[\w.\[\]'\", ]+=\s*[%!](?!=))|.*[^?\s]\?{1,2}\s*$")
_BETWEEN = "#: cell {} of the notebook"
_STANDS_IN = "pass  #: line {} of IPython"


@dataclass(frozen=True, slots=True)
class _Cell:
    """A Python cell: the position of its source in the notebook's text, and the source."""

    number: int
    start: int
    end: int
    source: str


def upgrade_notebook(content: bytes, options: Options) -> tuple[bytes, Upgraded]:
    """Upgrade the cells of a notebook.

    Args:
        content: the file's content.
        options: the options.

    Returns:
        The new content, and the findings: lines are counted from the first line of each cell, and
        each finding names its cell.
    """
    try:
        text = content.decode("utf-8")
        cells = list(_cells(text))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        what = f"this is no notebook: {error}."
        return content, Upgraded("", (Finding(1, 0, Level.ERROR, what),), read=False)
    program, told, used = _program(cells)
    upgraded = upgrade_program(program.text, options)
    findings = [*told, *(program.located(one) for one in upgraded.findings)]
    sources = program.parted(upgraded.text)
    for cell, source in reversed(list(zip(used, sources, strict=True))):
        if source != cell.source:
            text = f"{text[: cell.start]}{_written(text, cell, source)}{text[cell.end :]}"
    return text.encode("utf-8"), Upgraded(upgraded.text, tuple(findings), upgraded.read)


class _Joined:
    """Cells as one program."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._starts: list[tuple[int, int]] = []  # (first line in the program, the cell's number)
        self._ipython: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n" if self._lines else ""

    def add(self, cell: _Cell) -> None:
        self._lines.append(_BETWEEN.format(cell.number))
        self._starts.append((len(self._lines) + 1, cell.number))
        self._lines += self._without_ipython(cell.source).split("\n")

    def _without_ipython(self, source: str) -> str:
        """The source with placeholders for lines that are not Python."""
        found = []
        lines = iter(source.split("\n"))
        for number, line in enumerate(lines):
            first = number == 0 and _PYTHON_CELLS.match(line)
            if not first and not _of_ipython(line, source):
                found.append(line)
                continue
            whole = line
            while whole.endswith("\\"):
                following = next(lines, None)
                if following is None:
                    break
                whole += f"\n{following}"
            indent = whole[: len(whole) - len(whole.lstrip())]
            found.append(f"{indent}{_STANDS_IN.format(len(self._ipython))}")
            self._ipython.append(whole[len(indent) :])
        return "\n".join(found)

    def located(self, finding: Finding) -> Finding:
        """The finding with the line in its cell."""
        start, number = max(
            (one for one in self._starts if one[0] <= finding.line),
            default=self._starts[0] if self._starts else (1, 0),
        )
        return Finding(
            max(finding.line - start + 1, 1),
            finding.column,
            finding.level,
            f"cell {number}: {finding.what}",
            finding.why,
            finding.remedy,
        )

    def parted(self, text: str) -> list[str]:
        """The sources of the cells, from the rewritten program."""
        marks = [_BETWEEN.format(number) for _, number in self._starts]
        for number, line in enumerate(self._ipython):
            text = text.replace(_STANDS_IN.format(number) + "\n", f"{line}\n", 1)
        sources, rest = [], text.removesuffix("\n")
        before, _, rest = rest.partition(f"{marks[0]}\n") if marks else ("", "", rest)
        for mark in marks[1:]:
            source, _, rest = rest.partition(f"\n{mark}\n")
            sources.append(f"{before}{source}")
            before = ""
        return [*sources, f"{before}{rest}"] if marks else []


def _program(cells: list[_Cell]) -> tuple[_Joined, list[Finding], list[_Cell]]:
    """The Python cells as one program, and the findings about other cells."""
    joined, told, used = _Joined(), [], []
    for cell in cells:
        if cell.source.startswith("%%") and not _PYTHON_CELLS.match(cell.source):
            continue  # another language, or a cell that writes a file
        alone = _Joined()
        alone.add(cell)
        problem = _problem(alone.text)
        if problem is None:
            joined.add(cell)
            used.append(cell)
        elif "tf" in cell.source or "tensorflow" in cell.source:
            said = advice()["cell"]
            what = f"cell {cell.number}: {problem}."
            told.append(Finding(1, 0, Level.ERROR, what, said["why"], said["do"]))
    return joined, told, used


def _of_ipython(line: str, source: str) -> bool:
    if not _OF_IPYTHON.match(line):
        return False
    # A line of Python may begin with `%` too: inside brackets or a multi-line string.
    return _problem(source) is not None


def _problem(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError) as error:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    return None


def _cells(text: str) -> Iterator[_Cell]:
    """The code cells, with the positions of their sources."""
    notebook = json.loads(text)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("it has no list of cells (notebooks before version 4 have none)")  # noqa: TRY004
    number = 0
    for key, start, _ in _members(text, _after_space(text, 0)):
        if key != "cells":
            continue
        for cell_start, cell_end in _elements(text, start):
            cell = json.loads(text[cell_start:cell_end])
            if not isinstance(cell, dict) or cell.get("cell_type") != "code":
                continue
            number += 1
            for inner, source_start, source_end in _members(text, cell_start):
                if inner == "source":
                    source = cell["source"]
                    whole = source if isinstance(source, str) else "".join(source)
                    yield _Cell(number, source_start, source_end, whole)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Key, and start and end of the value, of each member of the object that begins here."""
    at = _after_space(text, at + 1)
    while text[at] != "}":
        after_key = _end(text, at)
        key: str = json.loads(text[at:after_key])
        start = _after_space(text, _after_space(text, after_key) + 1)
        end = _end(text, start)
        yield key, start, end
        at = _after_space(text, end)
        at = _after_space(text, at + 1) if text[at] == "," else at


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Start and end of each element of the array that begins here."""
    at = _after_space(text, at + 1)
    while text[at] != "]":
        end = _end(text, at)
        yield at, end
        at = _after_space(text, end)
        at = _after_space(text, at + 1) if text[at] == "," else at


def _end(text: str, start: int) -> int:
    end: int
    _, end = json.JSONDecoder().raw_decode(text, start)
    return end


def _written(text: str, cell: _Cell, source: str) -> str:
    """The source in JSON, in the form of the old one: a string or lines, with its whitespace."""
    old = text[cell.start : cell.end]
    ascii_alone = old.isascii() and ("\\u" in old or source.isascii())

    def quoted(value: Any) -> str:
        return json.dumps(value, ensure_ascii=ascii_alone)

    if not old.startswith("["):
        return quoted(source)
    spans = list(_elements(old, 0))
    if not spans:
        return quoted([source])
    first = old[: spans[0][0]]
    between = old[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{first[1:]}"
    lines = source.splitlines(keepends=True)
    return f"{first}{between.join(quoted(line) for line in lines)}{old[spans[-1][1] :]}"
