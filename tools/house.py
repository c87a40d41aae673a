"""A table of counts about the code base: lines, import cycles, slots, spans of ops.

`--base COMMIT` prints that commit's counts beside those of the working tree; `--circles`,
`--op-names` and `--spans` list the counted items. The trees are read and their libraries imported,
each in a separate process and under its import names; nothing is written into either.
"""

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeGuard

ROOT = Path(__file__).resolve().parent.parent
LONG = 400
OTHERS = ("tests", "benchmarks", "docs")
_IGNORE = re.compile(r"# type: ignore(?:\[([^\]]*)\])?")
_GENERATED = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")
Parsed = dict[str, ast.Module]
Counts = dict[str, float]


# The tree.


def sources(root: Path) -> dict[str, Path]:
    """Import name -> file, of every Python file of the library that a person wrote."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {}
    for package, folder in settings["package-dir"].items():
        for file in sorted((root / folder).rglob("*.py")):
            if not file.name.endswith(_GENERATED):
                parts = file.relative_to(root / folder).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                found[".".join((package, *parts))] = file
    return found


def parsed(files: Mapping[str, Path]) -> Parsed:
    """The syntax tree of every module."""
    return {name: ast.parse(file.read_bytes()) for name, file in files.items()}


def _runs(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only a type checker sees."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_for_types(node.test):
            waiting += reversed(node.orelse)
        else:
            yield node
            waiting += reversed([*ast.iter_child_nodes(node)])


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement among them, which takes a tenth of the time."""
    if isinstance(tree, ast.If) and _is_for_types(tree.test):
        parts = tree.orelse
    else:
        yield tree
        named = ("body", "handlers", "cases", "orelse", "finalbody")
        parts = [*chain.from_iterable(getattr(tree, name, ()) for name in named)]
    for part in parts:
        yield from _statements(part)


def _is_for_types(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return bool(name == "TYPE_CHECKING")


# Circles.


def edges(trees: Parsed) -> dict[str, set[str]]:
    """Module -> the modules of the library that it imports, inside functions too."""
    return {name: set(_imported(name, tree, trees)) for name, tree in trees.items()}


def edges_of(root: Path = ROOT) -> dict[str, set[str]]:
    """The same of the library of a tree, of which one module at a time is in memory."""
    files = sources(root)
    return {
        name: set(_imported(name, ast.parse(file.read_bytes()), files))
        for name, file in files.items()
    }


def _imported(name: str, tree: ast.Module, known: Container[str]) -> Iterator[str]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            bases = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            bases = [each if each in known else str(node.module) for each in inner]
        else:
            continue
        yield from (base for base in bases if base in known and base != name)


def late_edges(trees: Parsed) -> dict[str, set[str]]:
    """Module -> the modules that it reaches through names of `core/late.py`, which no import shows.

    These run up the layers, or between files that need each other.
    """
    table = _late_table(trees["pinnace.late"])
    return {name: set(_reached(name, tree, table, trees)) for name, tree in trees.items()}


def late_edges_of(root: Path = ROOT) -> dict[str, set[str]]:
    """The same of the library of a tree, of which one module at a time is in memory."""
    files = sources(root)
    table = _late_table(ast.parse(files["pinnace.late"].read_bytes()))
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        text = file.read_bytes()
        if b"late." in text:
            found[name].update(_reached(name, ast.parse(text), table, files))
    return found


def _late_table(tree: ast.Module) -> dict[str, str]:
    table: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "TABLE":
            table = {} if node.value is None else ast.literal_eval(node.value)
    return table


def _reached(
    name: str, tree: ast.Module, table: Mapping[str, str], known: Container[str]
) -> Iterator[str]:
    for node in _runs(tree):
        used = None
        if _is_of_late(node):
            used = node.attr
        elif isinstance(node, ast.Call) and _is_of_late(node.func) and node.func.attr == "get":
            used = ast.literal_eval(node.args[0])
        target = table.get(str(used), "").partition(":")[0]
        if target in known and target != name:
            yield target


def _is_of_late(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "late"


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of two or more modules, the largest first (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in number:
                visit(target)
            if target in stack:
                lowest[name] = min(lowest[name], lowest[target])
        if lowest[name] == number[name]:
            at = stack.index(name)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return sorted(found, key=lambda component: (-len(component), component))


def circles_of(root: Path = ROOT) -> list[list[str]]:
    """The circles of imports in the library of a tree."""
    return circles(edges_of(root))


# Names of ops.


def displays(trees: Parsed, files: Mapping[str, Path], ops: set[str]) -> Iterator[tuple[str, str]]:
    """Place and names of each set, tuple, list and dict outside `core/ops` that names two ops."""
    for name, tree in trees.items():
        if name.startswith("pinnace.ops."):
            continue
        skipped = {
            id(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and _targets(node) == ["__all__"]
        }
        for node in _runs(tree):
            if isinstance(node, ast.Set | ast.Tuple | ast.List) and id(node) not in skipped:
                elements = node.elts
            elif isinstance(node, ast.Dict):
                elements = [key for key in node.keys if key]
            else:
                continue
            values = [e.value for e in elements if isinstance(e, ast.Constant)]
            said = [value for value in values if isinstance(value, str) and value in ops]
            if len(set(said)) > 1:
                yield f"{files[name]}:{node.lineno}", " ".join(said)


# Spans of ops: this part runs with the library of the tree under test.


def spans() -> dict[str, tuple[str, int, int]]:
    """Op -> its file and the first and the last line of what belongs to it there.

    What belongs to it: its OpDef, the nearest public function that names it, and kernel, inference
    and gradient as far as they stand in the same file.
    """
    from pinnace.functions import control  # noqa: F401 (gives If and While their gradients)
    from pinnace.ops import registry

    ops = registry.registered()
    files = {
        Path(module.__file__).resolve(): module
        for name, module in sorted(sys.modules.items())
        if name.startswith("pinnace.ops.") and getattr(module, "__file__", None)
    }
    trees = {file: ast.parse(file.read_bytes()) for file in files}
    names = {id(op): name for name, op in ops.items()}
    found: dict[str, tuple[str, int, int]] = {}
    said: dict[str, dict[Path, ast.expr]] = {}  # name -> where it was last said, by file
    functions = {file: _functions(tree) for file, tree in trees.items()}
    for file, tree in trees.items():
        for statement in tree.body:
            for target in _targets(statement):
                name = names.get(id(vars(files[file]).get(target)))
                if name is not None and name not in found:
                    found[name] = _span(ops[name], file, functions[file], statement, target)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in ops:
                said.setdefault(node.value, {})[file] = node
    for name, places in said.items():
        if name not in found and len(places) == 1:
            ((file, node),) = places.items()
            found[name] = _span(ops[name], file, functions[file], node, "")
    return found


def _functions(tree: ast.Module) -> list[tuple[ast.FunctionDef, set[str]]]:
    """The functions of a module, each with the names that it uses."""
    return [
        (node, {name.id for name in ast.walk(node) if isinstance(name, ast.Name)})
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    ]


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        named = [n for target in node.targets for n in ast.walk(target)]
    elif isinstance(node, ast.AnnAssign):
        named = [node.target]
    else:
        return []
    return [target.id for target in named if isinstance(target, ast.Name)]


def _span(
    op: Any,
    file: Path,
    functions: list[tuple[ast.FunctionDef, set[str]]],
    place: Any,
    variable: str,
) -> tuple[str, int, int]:
    lines = [(place.lineno, place.end_lineno)]
    public = [f for f, names in functions if f.name[0] != "_" and variable in names]
    if public:
        nearest = min(public, key=lambda f: abs(f.lineno - place.lineno))
        lines.append((_first_line(nearest), nearest.end_lineno))
    for part in (op.kernel, op.infer, op.gradient):
        code = _code(part)
        if code is not None and Path(code.co_filename).resolve() == file:
            at = code.co_firstlineno
            within = [f for f, _ in functions if _first_line(f) <= at <= f.end_lineno]
            lines += [(_first_line(f), f.end_lineno) for f in within]
    return str(file), min(a for a, _ in lines), max(b for _, b in lines)


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])


def _code(part: Any) -> Any:
    while isinstance(part, partial) or hasattr(part, "__wrapped__"):
        part = part.func if isinstance(part, partial) else part.__wrapped__
    return getattr(part, "__code__", None)


def _spans_of(root: Path) -> dict[str, tuple[str, int, int]]:
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    with tempfile.TemporaryDirectory() as folder:
        links = Path(folder) / "pinnace"
        links.mkdir()
        for package, inside in settings["package-dir"].items():
            if "." in package:
                (links / package.split(".")[1]).symlink_to(root / inside)
            else:
                for path in (root / inside).iterdir():
                    (links / path.name).symlink_to(path)
        command = [sys.executable, str(Path(__file__).resolve()), "--spans-as-json"]
        environment = os.environ | {"PYTHONPATH": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    relative = {}
    for name, (file, first, last) in json.loads(done.stdout).items():
        relative[name] = (str(Path(file).relative_to(root)), first, last)
    return relative


# The table.


class House:
    """One tree and its counts."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.files = sources(self.root)
        self.trees = parsed(self.files)
        self.texts = {name: file.read_text() for name, file in self.files.items()}
        imports, self.late = edges(self.trees), late_edges(self.trees)
        self.circles = circles(imports)
        self.late_circles = circles({name: imports[name] | self.late[name] for name in imports})
        self.spans = _spans_of(self.root)
        relative = {name: file.relative_to(self.root) for name, file in self.files.items()}
        self.displays = sorted(displays(self.trees, relative, set(self.spans)))

    def counts(self) -> Counts:
        """Every row of the table."""
        lengths = {name: text.count("\n") for name, text in self.texts.items()}
        rows: Counts = {
            "lines of Python: library": sum(lengths.values()),
            "files of Python: library": len(lengths),
        }
        long = [length for length in lengths.values() if length > LONG]
        for folder in OTHERS:
            paths = [*(self.root / folder).rglob("*.py")]
            lines = [path.read_bytes().count(b"\n") for path in paths]
            rows[f"lines of Python: {folder}"] = sum(lines)
            rows[f"files of Python: {folder}"] = len(paths)
            long += [length for length in lines if folder == "tests" and length > LONG]
        markdown = [*(self.root / "docs").rglob("*.md")]
        rows["lines of Markdown: docs"] = sum(p.read_bytes().count(b"\n") for p in markdown)
        rows["files that git keeps"] = self._tracked()
        rows[f"files of library and tests past {LONG} lines"] = len(long)
        rows["circles of imports"] = len(self.circles)
        rows["modules in circles"] = sum(map(len, self.circles))
        rows["edges through names of late.py"] = sum(map(len, self.late.values()))
        rows["modules in circles, counting these edges"] = sum(map(len, self.late_circles))
        rows["slots and installers"] = sum(self._slots(tree) for tree in self.trees.values())
        onnx = [place for place, _ in self.displays if place.startswith("deploy/onnx")]
        rows["displays of op names outside ops and onnx"] = len(self.displays) - len(onnx)
        rows["displays of op names in onnx (its own too)"] = len(onnx)
        rows["self.__dict__["] = self._times(r"self\.__dict__\[")
        rows["exec(compile("] = self._times(r"exec\(\s*compile\(")
        heights = [last - first + 1 for _, first, last in self.spans.values()]
        rows["ops whose span is known"] = len(heights)
        rows["span of an op in lines: median"] = median(heights)
        rows["span of an op in lines: 90 % are below"] = round(quantiles(heights, n=10)[-1])
        ignores = self._ignores()
        rows["type: ignore"] = sum(ignores.values())
        rows |= {f"type: ignore[{code}]": count for code, count in ignores.most_common()}
        return rows

    def _times(self, pattern: str) -> int:
        return sum(len(re.findall(pattern, text)) for text in self.texts.values())

    def _ignores(self) -> Counter[str]:
        found = chain.from_iterable(map(_IGNORE.findall, self.texts.values()))
        return Counter(code.strip() for codes in found for code in codes.split(","))

    def _tracked(self) -> int:
        command = ["git", "-C", str(self.root), "ls-files"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and (self.root / ".git").exists():
            return done.stdout.count("\n")
        return sum(path.is_file() for path in self.root.rglob("*"))

    @staticmethod
    def _slots(tree: ast.Module) -> int:
        named = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
        calls = [ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)]
        made = [call.split("[")[0].split(".")[-1] for call in calls]
        return sum(name.startswith("install") for name in named) + made.count("Slot")


def _of_commit(commit: str, count: Callable[[Path], Counts]) -> Counts:
    """The counts of another commit, written out into a temporary folder."""
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")
        return count(Path(folder))


def _print_table(columns: Mapping[str, Counts]) -> None:
    names = list(dict.fromkeys(chain.from_iterable(columns.values())))
    width = max(map(len, names))
    print(" " * width, *(f"{title:>12}" for title in columns))
    for name in names:
        print(f"{name:{width}}", *(f"{counts.get(name, 0):>12,}" for counts in columns.values()))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", metavar="COMMIT", help="count this commit, too")
    parser.add_argument("--circles", action="store_true", help="list circles of imports")
    parser.add_argument("--op-names", action="store_true", help="list displays of op names")
    parser.add_argument("--spans", action="store_true", help="list the span of every op")
    parser.add_argument("--spans-as-json", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.spans_as_json:
        print(json.dumps(spans()))
        return 0
    house = House(ROOT)
    for component in house.circles if options.circles else ():
        print(f"{len(component)}: {' '.join(component)}")
    for place, said in house.displays if options.op_names else ():
        print(f"{place}: {said}")
    if options.spans:
        by_height = sorted((last - first + 1, op) for op, (_, first, last) in house.spans.items())
        for height, op in reversed(by_height):
            file, first, last = house.spans[op]
            print(f"{height:5} {op}: {file}:{first}-{last}")
    if options.circles or options.op_names or options.spans:
        return 0
    before = {}
    if options.base:
        before = {options.base[:12]: _of_commit(options.base, lambda root: House(root).counts())}
    _print_table(before | {"now": house.counts()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
