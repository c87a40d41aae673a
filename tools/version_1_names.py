"""Names of `tf.compat.v1` that are names of version 2: core/compat/v1/same_names.txt.

Run with the Python that has tensorflow 2.21: python tools/version_1_names.py [--write | --check]

A line is a namespace of `tf.compat.v1` and its names whose object is the very one of version 2: of
the same name, or, behind `=`, of another. `*` is a namespace that is the same in all its names.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.simplefilter("ignore")

import tensorflow as tf  # noqa: E402 (the settings stand before it)
from tensorflow.python.util import tf_decorator  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "core" / "compat" / "v1" / "same_names.txt"
RENAMES = json.loads((ROOT / "deploy" / "upgrade" / "facts.json").read_text())["renames"]
# Loaded by other packages when they are asked, or not of these names.
LEFT_OUT = {"compat", "distribute", "estimator", "feature_column", "keras", "lite", "mlir", "tpu"}
MISSING = object()


def same_names() -> list[str]:
    """The lines of the file."""
    lines: list[str] = []
    _look(tf.compat.v1, "tf", lines)
    return lines


def _look(space: ModuleType, name: str, lines: list[str]) -> None:
    found, below, others = [], [], False
    for member in sorted(dir(space)):
        value = getattr(space, member)
        if member.startswith("_") or (name == "tf" and member in LEFT_OUT):
            continue
        if isinstance(value, ModuleType):
            if "tensorflow._api" in str(vars(value).get("__name__")):
                below.append((value, f"{name}.{member}"))
            continue
        full = f"{name}.{member}"
        other = _same(full, value)
        others = others or not other
        if other:
            found.append(member if other == full else f"{member}={other.removeprefix('tf.')}")
    if found and not others and not below and "=" not in "".join(found):
        lines.append(f"{name}: *")
    elif found:
        lines.append(f"{name}: {' '.join(found)}")
    for value, full in below:
        _look(value, full, lines)


def _same(full: str, value: object) -> str:
    """The name that the value has in version 2; none: empty."""
    names = [name for name in (full, RENAMES.get(full, "")) if name]
    for name in names:
        here = not name.startswith("tf.compat.v1")
        if here and _inside(_in_version_2(name)) is _inside(value):
            return name
    return ""


def _inside(value: object) -> object:
    """The function without what TensorFlow wraps around it."""
    return tf_decorator.unwrap(value)[1] if callable(value) else value


def _in_version_2(name: str) -> object:
    value: object = tf
    for part in name.split(".")[1:]:
        value = getattr(value, part, MISSING)
    return value


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = "".join(f"{line}\n" for line in same_names())
    if options.write:
        FILE.write_text(text)
    elif options.check:
        return int(FILE.read_text() != text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
