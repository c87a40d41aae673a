"""The examples of public classes, docs/examples/*.toml: parsed, run, with their output.

A file has a `namespace`, and tables of classes in it. A table with a `form` has a row for each
class, the arguments that stand for `$1`, `$2`, ... of the form; `$name` is the class. A table
without one has whole snippets. The table `not_run` says why a class has none.
"""

import argparse
import ast
import contextlib
import dataclasses
import io
import json
import linecache
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import traceback
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "examples"
PLACE = re.compile(r"\$(name|\d)")
WIDTH = 80  # of the code
# What a statement has whose warnings are shown like what it prints.
WARNS = "# warns"
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


class ExamplesError(Exception):
    """The files do not say what they should."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """An example and its result.

    Attributes:
        steps: (statement, what it printed), in order.
        shapes: variable -> its shape at the end, of those that are tensors.
        fault: the traceback, if it raised.
    """

    steps: Sequence[Sequence[str]]
    shapes: dict[str, str]
    fault: str = ""

    def session(self) -> str:
        """In the format of Python's prompt."""
        lines = []
        for source, printed in self.steps:
            first, *others = source.splitlines()
            while first.startswith("#") and others:
                lines.append(f">>> {first}")
                first, *others = others
            lines += [f">>> {first}", *(f"... {line}".rstrip() for line in others)]
            lines += [printed.rstrip("\n")] if printed else []
        return "\n".join(lines)


def examples(folder: Path = FOLDER) -> tuple[dict[str, str], dict[str, str]]:
    """The examples in the files.

    Returns:
        Full name of a class -> its example; and -> the reason why it has none.

    Raises:
        ExamplesError: a class is named twice, or a row does not fit its form.
    """
    shown: dict[str, str] = {}
    refused: dict[str, str] = {}
    for file in sorted(folder.glob("*.toml")):
        tables = tomllib.loads(file.read_text())
        namespace = tables.pop("namespace")
        for title, table in tables.items():
            form = table.pop("form", None)
            for name, row in table.items():
                full = f"{namespace}.{name}"
                if full in shown or full in refused:
                    raise ExamplesError(f"{file.name}: {full} is there twice")
                if title == "not_run":
                    refused[full] = row
                else:
                    shown[full] = row.strip("\n") if form is None else _filled(form, full, row)
    return shown, refused


def _filled(form: str, full: str, row: str | list[str]) -> str:
    values = [row] if isinstance(row, str) else row
    asked = {int(place) for place in PLACE.findall(form) if place != "name"}
    if asked != set(range(1, len(values) + 1)):
        raise ExamplesError(f"{full}: its form has {len(asked)} places, its row {len(values)}")

    def value(place: re.Match[str]) -> str:
        return full if place[1] == "name" else values[int(place[1]) - 1]

    return PLACE.sub(value, form).strip("\n")


def formatted(shown: dict[str, str]) -> dict[str, str]:
    """The examples as the formatter lays them out: a row does not know how long its form is."""
    with tempfile.TemporaryDirectory() as folder:
        for name, code in shown.items():
            Path(folder, f"{name}.py").write_text(code)
        command = [sys.executable, "-m", "ruff", "format", "--quiet", "--isolated"]
        subprocess.run([*command, f"--line-length={WIDTH}", folder], check=True)
        return {name: Path(folder, f"{name}.py").read_text().rstrip() for name in shown}


def run(name: str, code: str) -> Run:
    """Runs an example in the current folder, statement by statement.

    Args:
        name: of its class, for messages.
        code: the example; `tf` and `np` are there.

    Returns:
        What each statement printed, a warning being an error.
    """
    import numpy as np

    import pinnace as tf

    tf.keras.utils.clear_session()
    tf.random.set_seed(0)
    tf.keras.utils.set_random_seed(0)
    place = f"<example {name}>"
    linecache.cache[place] = (len(code), None, code.splitlines(keepends=True), place)
    names: dict[str, Any] = {"tf": tf, "np": np, "__name__": "__main__"}
    steps: list[tuple[str, str]] = []
    try:
        for source, statement in _statements(code):
            printed = io.StringIO()
            steps.append((source, ""))
            program = compile(ast.Interactive([statement]), place, "single")
            told = _executed(program, names, printed, warned=WARNS in source)
            steps[-1] = source, printed.getvalue() + told
    except Exception:
        return Run(steps, {}, traceback.format_exc())
    finally:
        tf.config.run_functions_eagerly(False)
    shapes = {key: _shape(value) for key, value in names.items() if _shape(value)}
    return Run(steps, shapes)


def _executed(program: CodeType, names: dict[str, Any], printed: io.StringIO, warned: bool) -> str:
    """The warnings of a statement, as text, if it says that it warns; else they are errors."""
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=warned) as told:
        warnings.simplefilter("always" if warned else "error")
        exec(program, names)
    if told is None:
        return ""
    if not told:
        raise ExamplesError(f"there is {WARNS!r}, and no warning")
    return "".join(f"{one.category.__name__}: {one.message}\n" for one in told)


def _statements(code: str) -> Iterable[tuple[str, ast.stmt]]:
    """(text, statement), in order; a comment belongs to the statement that follows."""
    lines = code.splitlines()
    last = 0
    for statement in ast.parse(code).body:
        end = statement.end_lineno or statement.lineno
        yield "\n".join(lines[last:end]).strip("\n"), statement
        last = end


def _shape(value: Any) -> str:
    """The shape of a tensor, or those of a list of tensors; else nothing."""
    if isinstance(value, list | tuple) and value and all(_shape(one) for one in value):
        return ", ".join(_shape(one) for one in value)
    shape = getattr(value, "shape", None)
    if isinstance(value, type | ModuleType) or shape is None or not hasattr(value, "dtype"):
        return ""
    sizes = getattr(shape, "as_list", lambda: list(shape))()
    return "[" + ", ".join("?" if size is None else str(size) for size in sizes) + "]"


def results(names: Iterable[str] = ()) -> dict[str, Run]:
    """Runs examples in a process of its own: what they register is not in the reference.

    Args:
        names: of classes; all if none.

    Returns:
        Full name -> run.
    """
    command = [sys.executable, __file__, "--json", *names]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: Run(**found) for name, found in json.loads(told).items()}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Runs the examples of docs/examples.")
    parser.add_argument("names", nargs="*", help="parts of names of classes; all if none")
    parser.add_argument("--json", action="store_true", help="for programs, whatever they raised")
    options = parser.parse_args()
    shown, _ = examples()
    if options.names:
        shown = {name: shown[name] for name in shown if any(one in name for one in options.names)}
    shown = formatted(shown)
    found = {}
    home = Path.cwd()
    for name, code in shown.items():
        with tempfile.TemporaryDirectory() as folder:  # files of one are not seen by the next
            os.chdir(folder)
            found[name] = run(name, code)
            os.chdir(home)
    if options.json:
        json.dump({name: dataclasses.asdict(one) for name, one in found.items()}, sys.stdout)
        return 0
    for name, one in found.items():
        print(f"{name}\n\n{one.session()}\n{one.fault}")
    faults = [name for name, one in found.items() if one.fault]
    print(f"{len(found)} examples; {len(faults)} raised: {' '.join(faults)}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
