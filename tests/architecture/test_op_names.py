"""Properties of ops are in their `OpDef`: no file outside the ops tests for a set of op names.

A collection of names (`{"While", "StatelessWhile"}`, a tuple, a list, a dict's keys) is a second
place that must be found when an op is added. Such a property belongs in a trait of `OpDef`, or in a
constant beside the ops.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import onnx
import pytest

from architecture.sources import modules, written
from pinnace.ops import registry

# Module of pinnace -> why it may do so.
KNOWN = {
    "engine.codegen.plan_rows": "ops that keep rows apart, and their inputs that are shapes",
    "engine.passes.shortcuts": "ops that join and ops that cut: which pair cancels",
    "graph.codec.opaque": "names that ops of XLA share with others",
    "keras.saving.older_weights": "layers, which have the names of ops",
}


@cache
def _names(of_onnx: bool) -> frozenset[str]:
    """Names of ops; in code about ONNX without those that are also names of ONNX operators."""
    operators = {schema.name for schema in onnx.defs.get_all_schemas()} if of_onnx else set()
    return frozenset(registry.registered().keys() - operators)


def _displays(name: str) -> Iterator[str]:
    ops = _names(name.startswith("pinnace.deploy.onnx"))
    tree = ast.parse(modules()[name].read_bytes())
    # Classes of datasets have the names of ops, and their module lists them in `__all__`.
    exported = {
        id(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    }
    for node in ast.walk(tree):
        if id(node) in exported:
            continue
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            elements: list[ast.expr | None] = [*node.elts]
        elif isinstance(node, ast.Dict):
            elements = node.keys
        elif isinstance(node, ast.MatchOr):
            elements = [one.value for one in node.patterns if isinstance(one, ast.MatchValue)]
        else:
            continue
        found = [one.value for one in elements if isinstance(one, ast.Constant)]
        if sum(value in ops for value in found) > 1:
            yield f"{name}:{node.lineno} names {', '.join(map(str, found))}"


def test_no_file_beside_the_ops_names_them_in_a_set() -> None:
    # Lowerings name the ops that they consist of, as converters and readers of other formats do.
    inside = (
        *("pinnace.ops.", "pinnace.saved_model.stablehlo.", "pinnace.deploy.program."),
        *("pinnace.deploy.lite.converters", "pinnace.deploy.onnx.converters"),
        *("pinnace.deploy.lite.reading", "pinnace.deploy.tfjs."),
        *(f"pinnace.{name}" for name in KNOWN),
    )
    beside = [name for name in modules() if written(name) and not name.startswith(inside)]
    wrong = [one for name in beside for one in _displays(name)]
    assert not wrong, "\n".join(["ask the OpDef; it may want another trait", *wrong])


def test_a_display_of_names_would_be_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "display.py"
    file.write_text('x = {"MatMul", "Conv2D"}\ny = ["MatMul", "no op"]\nz = {"Sum": 1, "Max": 2}\n')
    monkeypatch.setitem(modules(), "pinnace.display", file)
    assert [text.partition(" ")[0] for text in _displays("pinnace.display")] == [
        "pinnace.display:1",
        "pinnace.display:3",
    ]
