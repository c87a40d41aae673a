"""The ops of TensorFlow.js, from `ops.json`, which `tools/tfjs_ops.mjs` writes."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownOp:
    """An op that graph models may have.

    Attributes:
        category: its category in TensorFlow.js' own op lists.
        attrs: names of the attributes that TensorFlow.js reads.
        outputs: names of the outputs if the list has them; function bodies may refer to them.
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
    """The version of the package that the list was generated from."""
    return str(_content()["version"])


@cache
def known_ops() -> dict[str, KnownOp]:
    """All ops by name."""
    return {
        name: KnownOp(op["category"], frozenset(op["attrs"]), tuple(op.get("outputs", ())))
        for name, op in _content()["ops"].items()
    }
