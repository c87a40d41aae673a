"""TensorFlow's and Keras's public names beside ours: core/framework/not_yet.txt and a page.

`tests/golden/names/names.txt` has theirs. A name is here, or a pattern of
core/framework/missing_names.toml says why it will not be, or it stands in not_yet.txt. Parameters
and defaults that differ have a reason there too, or stand in
tests/architecture/signature_differences.txt. `--check` exits with
1 and says what differs from the two files; `--write` writes them.
"""

import argparse
import ast
import inspect
import sys
import warnings
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pinnace as tf
from pinnace.framework import missing_names

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT / "tests" / "golden" / "names" / "names.txt"
NOT_YET = ROOT / "core" / "framework" / "not_yet.txt"
DIFFERENCES = ROOT / "tests" / "architecture" / "signature_differences.txt"
UNKNOWN = object()


class Fact(NamedTuple):
    """A line of the file: where the name stands, the name, and its parameters as text."""

    space: str
    name: str
    parameters: str


def facts() -> list[Fact]:
    """Every name of the file, in its order."""
    found, space = [], ""
    for line in FACTS.read_text().splitlines():
        if line.startswith("["):
            space = line[1:-1]
        elif line:
            head, bracket, rest = line.partition("(")
            found.append(Fact(space, head.partition(" = ")[0], bracket + rest))
    return found


def spaces() -> dict[str, object]:
    """Namespace -> what stands there here; None if nothing does."""
    dense = tf.keras.layers.Dense(1)
    dense.build((None, 2))
    model = tf.keras.Sequential([tf.keras.Input((2,)), dense])
    model.compile("adam", "mse")
    found: dict[str, object] = {
        "members of tf.Tensor": tf.constant(1.0),
        "members of tf.Variable": tf.Variable(1.0),
        "members of tf.data.Dataset": tf.data.Dataset.range(2),
        "members of tf.keras.Layer": dense,
        "members of tf.keras.Model": model,
        "members of tf.keras.Optimizer": model.optimizer,
    }
    for space in dict.fromkeys(fact.space for fact in facts()):
        if space in found:
            continue
        value: object = tf
        for part in space.split(".")[1:]:
            value = getattr(value, part, None)
        found[space] = value
    return found


def full_name(fact: Fact) -> str:
    """The name as the tables have it: `tf.Tensor.gpu` for a member."""
    return f"{fact.space.removeprefix('members of ')}.{fact.name}"


class Comparison(NamedTuple):
    """The compared names by namespace: here, refused and not yet; and differences."""

    counts: dict[str, Counter[str]]
    later: dict[str, list[str]]
    differences: list[str]


def compare() -> Comparison:
    """Look for every name of the file here."""
    counts: dict[str, Counter[str]] = {}
    later: dict[str, list[str]] = {}
    differences = []
    values = spaces()
    for space, value in values.items():
        above, _, last = space.rpartition(".")
        if value is None and missing_names.reason_of(space) is None:
            later.setdefault(above, []).append(last)
    for fact in facts():
        short = fact.space.removeprefix("members of ")
        count = counts.setdefault(fact.space, Counter())
        found = _look(values[fact.space], fact.name)
        if found is not UNKNOWN:
            count["here"] += 1
            differs = difference(fact.parameters, found)
            if differs and full_name(fact) not in _explained():
                differences.append(f"{full_name(fact)}: {differs}")
        elif missing_names.reason_of(full_name(fact)) is not None:
            count["by design not"] += 1
        else:
            count["not yet"] += 1
            later.setdefault(short, []).append(fact.name)
    return Comparison(counts, later, sorted(set(differences)))


def _explained() -> set[str]:
    """The names whose parameters differ for a reason."""
    return {name for reason in missing_names.differences() for name in reason.names}


def _look(space: object, name: str) -> object:
    if space is None:
        return UNKNOWN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(space, name, UNKNOWN)
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            return None  # it is there, and says that it cannot be asked now


def difference(theirs: str, found: object) -> str:
    """The difference of an object's parameters here; empty if it accepts all of theirs."""
    if not theirs or not callable(found):
        return ""
    try:
        ours = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return ""
    kinds = {p.kind for p in ours.values()}
    any_name = inspect.Parameter.VAR_KEYWORD in kinds
    many = inspect.Parameter.VAR_POSITIONAL in kinds
    positional = [n for n, p in ours.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    wanted = ast.parse(f"def f{theirs.replace('=...', '=Ellipsis')}: pass").body[0]
    assert isinstance(wanted, ast.FunctionDef)  # noqa: S101 (for the type checker)
    arguments = wanted.args
    listed = [a.arg for a in arguments.args]
    defaults = dict(zip(reversed(listed), reversed(arguments.defaults), strict=False))
    told = []
    for place, name in enumerate(listed):
        if name not in ours:
            if not (any_name or many):
                told.append(f"no {name}")
            continue
        if name in positional and positional.index(name) != place:
            told.append(f"{name} is at {positional.index(name)}, not {place}")
        told += _default(name, defaults.get(name), ours[name])
    for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if each.arg in ours:
            told += _default(each.arg, value, ours[each.arg])
        elif not any_name:
            told.append(f"no {each.arg}")
    return ", ".join(told)


def _default(name: str, theirs: ast.expr | None, ours: inspect.Parameter) -> list[str]:
    if theirs is None:
        return []
    text = ast.unparse(theirs)
    if ours.default is ours.empty:
        return [] if ours.kind is ours.VAR_KEYWORD else [f"{name} must be given"]
    if text == "Ellipsis":
        return []
    given = ours.default
    if text.startswith("tf."):
        same = getattr(given, "name", given) == text.removeprefix("tf.")
    else:
        try:
            wanted = ast.literal_eval(text)
        except ValueError:
            return []
        same = wanted == given or (wanted, given) in (((), []), ([], ()))
        # A list that nobody changes may be a tuple.
        same = same or (isinstance(wanted, list) and tuple(wanted) == given)
        # A window of 1 is one of (1, 1): one number is that number for each axis.
        same = same or (isinstance(wanted, tuple) and set(wanted) == {given})
    return [] if same else [f"{name} is {_plain(given)}, not {text}"]


def _plain(value: object) -> str:
    plain = value is None or isinstance(value, bool | int | float | str | tuple)
    return repr(value) if plain else type(value).__name__


def texts(found: Comparison) -> dict[Path, str]:
    """The content of the two files."""
    lines = [
        f"{space}: {' '.join(sorted(names))}\n" for space, names in sorted(found.later.items())
    ]
    return {NOT_YET: "".join(lines), DIFFERENCES: "".join(f"{d}\n" for d in found.differences)}


def modules() -> dict[str, str]:
    """Module here -> the namespace that it is."""
    found: dict[str, str] = {}
    ours = sorted(spaces().items(), key=lambda each: (not each[0].startswith("tf.keras"), each[0]))
    for space, value in ours:
        if isinstance(value, ModuleType):
            found.setdefault(value.__name__, space)
    return found


def page() -> str:
    """The page "what is not here"."""
    found = compare()
    total = sum(found.counts.values(), Counter[str]())
    lines = [
        "# What is not here",
        "",
        "Of TensorFlow 2.21's and Keras 3.15's public names, and of the members of six kinds of",
        f"object, {total['here']} are here, {total['by design not']} will not be,",
        f"{total['not yet']} are not written yet.",
        "",
        "## By design",
        "",
        "| names | why | instead |",
        "|---|---|---|",
    ]
    for reason in missing_names.reasons():
        names = ", ".join(f"`{name}`" for name in reason.names)
        lines.append(f"| {names} | {reason.why} | {reason.instead} |")
    lines += ["", "## With other parameters", "", "| names | why | instead |", "|---|---|---|"]
    for reason in missing_names.differences():
        names = ", ".join(f"`{name}`" for name in reason.names)
        lines.append(f"| {names} | {reason.why} | {reason.instead} |")
    lines += ["", "## By namespace", "", "| namespace | here | by design not | not yet |"]
    lines.append("|---|---|---|---|")
    for space, count in sorted(found.counts.items()):
        lines.append(
            f"| {space} | {count['here']} | {count['by design not']} | {count['not yet']} |"
        )
    lines += ["", "## Not written yet", ""]
    for space, names in sorted(found.later.items()):
        lines.append(f"- **{space}**: {', '.join(sorted(names))}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = compare()
    wrong = 0
    for file, text in texts(found).items():
        if options.write:
            file.write_text(text)
        before, now = set(file.read_text().splitlines()), set(text.splitlines())
        for line in sorted(before ^ now):
            print(f"{file.name}: {'gone' if line in before else 'new'}: {line}")
            wrong = 1
    total = sum(found.counts.values(), Counter[str]())
    print(", ".join(f"{n} {what}" for what, n in total.items()), f"{len(found.differences)} differ")
    return wrong if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
