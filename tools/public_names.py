"""The public names of pinnace, one a line: docs/public_names.txt.

A module's public names are its `__all__` or, without one, the names it defines, re-exports
explicitly (`from x import y as y`) and imports completely (`from x import *`), without a leading
underscore. Modules among them are namespaces, and are included recursively. Without options the
names are printed; `--check` exits with 1 and prints differences from the file; `--write` writes the
file.
"""

import argparse
import ast
import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType

FILE = Path(__file__).resolve().parent.parent / "docs" / "public_names.txt"


def public_names(root: str = "pinnace") -> list[str]:
    """Full names, sorted, of everything that a user can reach from `import pinnace`."""
    names: set[str] = set()
    _collect(importlib.import_module(root), root, names, frozenset())
    return sorted(names)


def listed() -> list[str]:
    """The names that the file lists."""
    return FILE.read_text().split() if FILE.exists() else []


def _collect(module: ModuleType, path: str, names: set[str], above: frozenset[str]) -> None:
    for name in exports(module):
        value = getattr(module, name)
        names.add(f"{path}.{name}")
        inner = isinstance(value, ModuleType) and value.__name__.startswith("pinnace.")
        if inner and value.__name__ not in above:
            _collect(value, f"{path}.{name}", names, above | {module.__name__})


def exports(module: ModuleType) -> list[str]:
    """The public names of one module, sorted."""
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return sorted(set(declared))
    said_twice = _said_twice(module) | _taken_whole(module)
    return [name for name in dir(module) if name[0] != "_" and _is_own(module, name, said_twice)]


def _is_own(module: ModuleType, name: str, said_twice: set[str]) -> bool:
    if name in said_twice or name not in vars(module):  # the latter: __dir__ and __getattr__
        return True
    value = vars(module)[name]
    if isinstance(value, ModuleType):
        return False
    late = vars(module).get("_LATE")  # names of other files, which are looked up when first used
    if isinstance(late, dict) and name in late:
        return True
    home = getattr(value, "__module__", None)
    return home == module.__name__ and (inspect.isclass(value) or inspect.isroutine(value))


def _said_twice(module: ModuleType) -> set[str]:
    if not module.__file__:
        return set()
    body = ast.parse(Path(module.__file__).read_bytes()).body
    said = {
        alias.asname
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    if module.__name__ != "pinnace":
        return said
    # The root gives some things TensorFlow's name by an assignment: nest, bitwise, print.
    targets = [node.targets[0] for node in body if isinstance(node, ast.Assign)]
    return said | {t.id for t in targets if isinstance(t, ast.Name) and t.id[0] != "_"}


def _taken_whole(module: ModuleType) -> set[str]:
    if not module.__file__ or module.__name__ == "pinnace":
        return set()
    body = ast.parse(Path(module.__file__).read_bytes()).body
    return {
        name
        for node in body
        if isinstance(node, ast.ImportFrom) and node.module and node.names[0].name == "*"
        for name in exports(importlib.import_module(node.module))
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    names = public_names()
    if options.write:
        FILE.write_text("".join(f"{name}\n" for name in names))
    if not options.check:
        print("\n".join(names))
        return 0
    for name in sorted(set(names) - set(listed())):
        print(f"new: {name}")
    for name in sorted(set(listed()) - set(names)):
        print(f"gone: {name}")
    return 0 if names == listed() else 1


if __name__ == "__main__":
    sys.exit(main())
