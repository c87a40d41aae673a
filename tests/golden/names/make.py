"""Write the public names of TensorFlow and Keras, with parameters and defaults: names.txt.

Run with the Python that has tensorflow 2.21: python make.py

A section is a namespace, or the members of an object; a line is a name with its parameters, in
TensorFlow's order. A default is written if it is a plain value, and as `...` if it is anything
else. `name = other` is an alias of a namespace. Raw ops are listed by name only; their arguments
are in `op_definitions`. `tf.compat` and private names are left out.
"""

import enum
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

LEFT_OUT = ("tf.compat",)
# Each function of `keras.ops` is listed once, in `keras.ops` itself.
ONCE = "tf.keras.ops"
PARTS = ("tensorflow._api.v2.", "tensorflow.experimental.", "keras.")


def plain(value: object) -> str:
    if isinstance(value, tf.DType):
        return f"tf.{value.name}"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, tuple | list) and all(plain(each) != "..." for each in value):
        return repr(value)
    return "..."


def parameters(value: object) -> str:
    if isinstance(value, enum.EnumMeta):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    texts = []
    star = False
    for each in found.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.VAR_POSITIONAL:
            texts.append(f"*{each.name}")
            star = True
            continue
        if each.kind is each.VAR_KEYWORD:
            texts.append(f"**{each.name}")
            continue
        if each.kind is each.KEYWORD_ONLY and not star:
            texts.append("*")
            star = True
        default = "" if each.default is each.empty else f"={plain(each.default)}"
        texts.append(each.name + default)
    return f"({', '.join(texts)})"


def is_part(value: object) -> bool:
    return isinstance(value, ModuleType) and f"{value.__name__}.".startswith(PARTS)


def walk(space: str, module: ModuleType, done: dict[int, str], into: dict[str, list[str]]) -> None:
    done[id(module)] = space
    lines = into[f"[{space}]"] = []
    for name in sorted(n for n in dir(module) if n[0] != "_"):
        value = getattr(module, name)
        full = f"{space}.{name}"
        if full in LEFT_OUT:
            continue
        if isinstance(value, ModuleType):
            if not is_part(value):
                continue
            if space == ONCE:
                lines.append(f"{name} = {ONCE}")
            elif id(value) in done:
                lines.append(f"{name} = {done[id(value)]}")
            else:
                walk(full, value, done, into)
        elif space == "tf.raw_ops":
            lines.append(name)
        else:
            lines.append(name + (parameters(value) if callable(value) else ""))


def members(value: object) -> list[str]:
    lines = []
    for name in sorted(n for n in dir(value) if n[0] != "_"):
        own = inspect.getattr_static(type(value), name, None)
        described = own is not None and not isinstance(own, property)
        found = getattr(value, name, None) if described else None
        lines.append(name + (parameters(found) if callable(found) else ""))
    return lines


dense = tf.keras.layers.Dense(1)
dense.build((None, 2))
model = tf.keras.Sequential([tf.keras.Input((2,)), dense])
model.compile("adam", "mse")
OBJECTS = {
    "tf.Tensor": tf.constant(1.0),
    "tf.Variable": tf.Variable(1.0),
    "tf.data.Dataset": tf.data.Dataset.range(2),
    "tf.keras.Layer": dense,
    "tf.keras.Model": model,
    "tf.keras.Optimizer": model.optimizer,
}
sections: dict[str, list[str]] = {}
walked: dict[int, str] = {}
walk("tf.keras", tf.keras, walked, sections)
walk("tf", tf, walked, sections)
for title, thing in OBJECTS.items():
    sections[f"[members of {title}]"] = members(thing)
text = "".join(
    "\n".join([title, *lines]) + "\n\n" for title, lines in sorted(sections.items()) if lines
)
(HERE / "names.txt").write_text(text.rstrip("\n") + "\n")
record(
    "names/names.txt",
    script="names/make.py",
    made_with=f"tensorflow {tf.__version__}, keras {tf.keras.__version__}",
)
