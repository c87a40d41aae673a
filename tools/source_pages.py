"""Listings of the source that pages link to: a page of the site per file, a number at each line."""

import dataclasses
import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pinnace.deploy.cli.source_listing import FOLDER, listing

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file of the repository.

    Attributes:
        path: of the file, from the root.
        line: from 1.
    """

    path: str
    line: int

    @property
    def text(self) -> str:
        """As text."""
        return f"{self.path}, line {self.line}"

    @property
    def link(self) -> str:
        """The link from a page of `api`."""
        return f"../{FOLDER}/{self.path}.html#L-{self.line}"


def place(value: type) -> SourceLine | None:
    """The source position of a class; None if it is not in this repository."""
    if descriptor := getattr(value, "DESCRIPTOR", None):
        return _of_message(descriptor)
    try:
        path = Path(inspect.getsourcefile(value) or "").resolve()
    except TypeError:  # a class of C
        return None
    if not path.is_relative_to(ROOT) or ".venv" in path.parts:
        return None
    return SourceLine(path.relative_to(ROOT).as_posix(), _line(value, path))


def _line(value: type, path: Path) -> int:
    try:
        return inspect.getsourcelines(value)[1]
    except OSError:  # a call made it, and its name is what that was assigned to
        lines = path.read_text(encoding="utf-8").splitlines()
        name = f"{value.__name__} = "
        return next((at for at, line in enumerate(lines, 1) if line.startswith(name)), 1)


def _of_message(descriptor: object) -> SourceLine | None:
    """The line of a .proto that defines a message."""
    for file, lines in _protos().items():
        for number, line in enumerate(lines, 1):
            if line.startswith(f"message {descriptor.name} "):  # type: ignore[attr-defined]
                return SourceLine(file, number)
    return None


@cache
def _protos() -> dict[str, list[str]]:
    files = sorted((ROOT / "proto").rglob("*.proto"))
    return {
        file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8").splitlines()
        for file in files
    }


def written(paths: Iterable[str], into: Path) -> list[Path]:
    """Writes the listings of files.

    Args:
        paths: from the root of the repository.
        into: the folder that gets them, in the tree of the repository.

    Returns:
        The listings.
    """
    done = []
    for path in sorted(set(paths)):
        page = into / f"{path}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(listing(path, (ROOT / path).read_text(encoding="utf-8")))
        done.append(page)
    return done
