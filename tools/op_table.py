"""The ops of pinnace, family by family: ops.md of `make pages`, written from the registry."""

import ast
import importlib
import pkgutil
import sys
from pathlib import Path

HEAD = """# Ops

Every op of pinnace, under its name in TensorFlow's GraphDefs. Written by `make pages`.

- **signature**: `a: T` is a tensor of type attribute `T`, `N*T` a list of N of them, `(Tin)` a list
  of any types.
- **gradient**: whether a tape can go through it. (Calls of functions are differentiated where they
  are recorded, not here.)
- **effect**: what it does beside giving its outputs: `read` and `write` a resource, draw from a
  `random` stream, `io`. Without one it is a function of its inputs.
- **graph**: it has no kernel, and a meaning only inside a graph.
"""


def page() -> str:
    """The whole document."""
    files = _files()
    registered, said = _names(files)
    families: dict[str, list[str]] = {}
    for name, op in importlib.import_module("pinnace.ops.registry").registered().items():
        gradient = "yes" if op.differentiable else "no"
        effect = op.effect or ("graph" if op.kernel is None else "")
        row = f"| {name} | `{op.signature.strip()}` | {gradient} | {effect} |"
        homes = registered.get(name) or said.get(name, set())
        if len(homes) != 1:
            sys.exit(f"op {name}: expected one file below ops/ that says its name, got {homes}")
        families.setdefault(*homes, []).append(row)
    parts = [HEAD, f"{sum(map(len, families.values()))} ops.\n"]
    for family in sorted(families):
        rows = "\n".join(families[family])
        parts.append(
            f"## {family}\n\n{_headline(files[family])}\n\n"
            f"| op | signature | gradient | effect |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def _files() -> dict[str, ast.Module]:
    """`math/arithmetic` and so on -> its syntax tree, of every file of `pinnace.ops`, imported."""
    package = importlib.import_module("pinnace.ops")
    found = {}
    for info in pkgutil.walk_packages(package.__path__, "pinnace.ops."):
        file = importlib.import_module(info.name).__file__
        if file and not info.ispkg:
            inside = info.name.removeprefix("pinnace.ops.").replace(".", "/")
            found[inside] = ast.parse(Path(file).read_bytes())
    return found


def _names(files: dict[str, ast.Module]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The files that register a name, and those that say it: a loop or a function registers too."""
    registered: dict[str, set[str]] = {}
    said: dict[str, set[str]] = {}
    for family, tree in files.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                said.setdefault(node.value, set()).add(family)
            for name in _registered(node):
                registered.setdefault(name, set()).add(family)
    return registered, said


def _registered(node: ast.AST) -> list[str]:
    """The name in `define(name="Neg")`, `register(unary("Neg"))`, `NEG = other("Neg")`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
        first, to = node.value.args[0], node.targets[0]
        if isinstance(first, ast.Constant) and isinstance(to, ast.Name) and to.id.isupper():
            return [first.value]
    caller = getattr(node.func, "id", None) if isinstance(node, ast.Call) else None
    if caller not in {"define", "register"}:
        return []
    made = node.args[0] if caller == "register" else node
    if not isinstance(made, ast.Call):
        return []
    named = [word.value for word in made.keywords if word.arg == "name"]
    return [n.value for n in (*made.args[:1], *named) if isinstance(n, ast.Constant)]


def _headline(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
