"""The ops that TensorFlow.js runs, by version: `ops.json`, which `tools/tfjs_ops.mjs` writes."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownOp:
    """An op that graph models may have.

    Attributes:
        category: of TensorFlow.js' own lists.
        attrs: names of the attributes that are read; others are not looked at.
        outputs: names of the outputs, where the list has them: a function's body may use these.
    """

    category: str
    attrs: frozenset[str]
    outputs: tuple[str, ...]


@cache
def _content() -> dict[str, Any]:
    text = (resources.files("pinnace.deploy.tfjs.facts") / "ops.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def version() -> str:
    """The version of the package that the list was taken from."""
    return str(_content()["version"])


@cache
def known_ops() -> dict[str, KnownOp]:
    """All of them, by name."""
    return {
        name: KnownOp(op["category"], frozenset(op["attrs"]), tuple(op.get("outputs", ())))
        for name, op in _content()["ops"].items()
    }
