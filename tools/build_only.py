"""Modules that only the build of a library of kernels needs: wheels with libraries leave them out.

They are the kernels' sources, and what compiles and links them, three hundred kilobytes. Which
these are is read from imports: what `ENTRIES` reach, without what anything else imports as well,
inside functions too, or names in a string. As a program it lists them.
"""

import ast
import re
import sys
from pathlib import Path

import house

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = {"pinnace.engine.ahead.sources", "pinnace.engine.ahead.writing"}
# These ask whether the sources are there before they import an entry (`reading.has_sources`).
ASKING = {"pinnace.engine.ahead.installing", "pinnace.engine.ahead.reading"}
# Nothing elsewhere is for the build alone. `GENERAL` imports each module that has `TEXTS` by name.
FOLDERS = ("pinnace.engine.ahead.", "pinnace.engine.codegen.")
GENERAL = "pinnace.engine.codegen.general"
_NAMED = re.compile(r"pinnace\.engine\.(?:ahead|codegen)\.\w+")


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Import name -> file, of the modules of a tree that only the build of a library needs."""
    files = house.sources(root)
    graph = _graph(files)
    found: set[str] = set()
    left = sorted(ENTRIES)
    while left:
        name = left.pop()
        if name not in found and name.startswith(FOLDERS):
            found.add(name)
            left += graph[name]
    while kept := _imported_elsewhere(graph, found):
        found -= kept
    return {name: files[name] for name in sorted(found)}


def leave_out(root: Path) -> None:
    """Remove them from a tree that a wheel with libraries is built of."""
    for file in modules(root).values():
        file.unlink()


def _graph(files: dict[str, Path]) -> dict[str, set[str]]:
    """Module -> the modules that it imports or names, of those that have to do with the folders."""
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    trees = {
        name: ast.parse(text)
        for name, text in texts.items()
        if name.startswith(FOLDERS) or "pinnace.engine" in text
    }
    graph: dict[str, set[str]] = house.edges(trees)
    for name, tree in trees.items():
        graph[name] |= _named(tree) & trees.keys() - {name}
    graph[GENERAL] |= {name for name, tree in trees.items() if _has_texts(tree)}
    return graph


def _named(tree: ast.Module) -> set[str]:
    """What is named in strings: late names, and what the kernels' sources import."""
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {name for one in strings if isinstance(one, str) for name in _NAMED.findall(one)}


def _has_texts(tree: ast.Module) -> bool:
    targets = (
        target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
    )
    return any(isinstance(one, ast.Name) and one.id == "TEXTS" for one in targets)


def _imported_elsewhere(graph: dict[str, set[str]], found: set[str]) -> set[str]:
    kept: set[str] = set()
    for name in graph.keys() - found:
        kept |= (graph[name] & found) - (ENTRIES if name in ASKING else set())
    return kept


def main() -> int:
    """Run the command line."""
    found = modules()
    for name, file in found.items():
        print(f"{name}: {file.stat().st_size:,}")
    print(f"{len(found)} modules: {sum(file.stat().st_size for file in found.values()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
