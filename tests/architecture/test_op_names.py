"""What an op is, its `OpDef` says: no file beside the ops asks for one by a set of names.

A display of names (`{"While", "StatelessWhile"}`, a tuple, a list, a dict's keys) is a second place
that must be found when an op is added. What it was to tell is a trait of `OpDef`, or a constant
beside the ops.
"""

import ast
from collections.abc import Iterator
from functools import cache

import onnx
import pytest

from architecture.sources import modules, written
from pinnace.ops import registry

# Module of pinnace -> why it may.
KNOWN = {
    "deploy.cli.findings_ops": "what it may do: most are TensorFlow's, without an OpDef here",
    "deploy.onnx.program.states": "op that assigns -> op that computes what it assigns",
    "deploy.tokenizer.numbers": "op -> step of a tokenizer: a converter's table",
    "engine.codegen.scalar_text": "op -> its text over single numbers, where integers have rules",
    "engine.codegen.statements": "op -> what writes its statement, as converters are registered",
    "profiler.counting": "op -> what it computes, from shapes: a table of counts, as converters",
    "graph.codec.references": "parts of names: Scatter and Add make ScatterAdd",
}


@cache
def _names(of_onnx: bool) -> frozenset[str]:
    """Names of ops; where ONNX's operators are spoken of, without those that it has, too."""
    operators = {schema.name for schema in onnx.defs.get_all_schemas()} if of_onnx else set()
    return frozenset(registry.registered().keys() - operators)


def _displays(name: str) -> Iterator[str]:
    ops = _names(name.startswith("pinnace.deploy.onnx"))
    for node in ast.walk(ast.parse(modules()[name].read_bytes())):
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


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in modules()
        if written(name) and not name.startswith(("pinnace.ops.", "pinnace.deploy.onnx.converters"))
    ],
)
def test_no_file_beside_the_ops_names_them_in_a_set(name: str) -> None:
    if name.removeprefix("pinnace.") not in KNOWN:
        assert not list(_displays(name)), "ask the OpDef; it may want another trait"


def test_the_list_has_no_file_that_needs_no_reason() -> None:
    assert [name for name in KNOWN if not list(_displays(f"pinnace.{name}"))] == []
