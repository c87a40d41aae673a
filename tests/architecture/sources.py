"""The library's source files under their import names."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def modules() -> dict[str, Path]:
    """Import name -> file, for every Python file of the library."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    return {
        _import_name(package, file.relative_to(ROOT / folder)): file
        for package, folder in settings["package-dir"].items()
        for file in sorted((ROOT / folder).rglob("*.py"))
    }


def makefiles() -> str:
    """The Makefile followed by its parts in make/."""
    parts = [ROOT / "Makefile", *sorted((ROOT / "make").glob("*.mk"))]
    return "\n".join(part.read_text() for part in parts)


def written(name: str) -> bool:
    """Whether a person wrote this module (protoc wrote the others)."""
    return not name.endswith(("_pb2", "_pb2_grpc"))


@cache
def imports(name: str) -> tuple[tuple[int, str], ...]:
    """Line and full name of all imports of the module, also inside functions and for types.

    `from a import b` gives `a.b` if that is a module of the library, else `a`.
    """
    return tuple(_imports(name))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every nested statement; visiting expressions, too, takes ten times as long."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, field, ()):
            yield inner
            yield from _statements(inner)


def _imports(name: str) -> Iterator[tuple[int, str]]:
    for node in _statements(ast.parse(modules()[name].read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in modules() else base


def late_names(name: str) -> set[int]:
    """Lines of the imports that a lazy namespace shows only to type checkers.

    They are `from x import y as y` in an `if TYPE_CHECKING` beside a `__getattr__`: nothing is
    imported there, and the module itself does not use the names.
    """
    if modules()[name].name != "__init__.py" and name != "pinnace.late":
        return set()
    body = ast.parse(modules()[name].read_bytes()).body
    givers = [node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.FunctionDef)]
    if "__getattr__" not in {g.name for g in givers}:
        return set()
    return {
        node.lineno
        for block in body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and all(a.asname == a.name for a in node.names)
    }


def _import_name(package: str, inside: Path) -> str:
    parts = inside.with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))
