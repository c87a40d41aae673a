"""The arguments that `@takes_composites` names exist."""

import ast
import importlib
import inspect

import pytest

from architecture.sources import modules

DECLARED = [
    (name, function.name, keyword.arg, keyword.value.value)
    for name, path in modules().items()
    if name.startswith("pinnace.ops.") and "@takes_composites" in path.read_text()
    for function in ast.walk(ast.parse(path.read_text()))
    if isinstance(function, ast.FunctionDef)
    for decorator in function.decorator_list
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "takes_composites"
    for keyword in decorator.keywords
    if keyword.arg in {"ragged", "sparse"} and isinstance(keyword.value, ast.Constant)
]


@pytest.mark.parametrize(("module", "function", "kind", "target"), DECLARED)
def test_every_target_is_another_function(
    module: str, function: str, kind: str, target: str
) -> None:
    home, name = target.split(":")
    found = getattr(importlib.import_module(f"pinnace.ops.composites.{kind}.{home}"), name)
    declared = getattr(importlib.import_module(module), function)
    assert callable(found)
    assert inspect.unwrap(found) is not inspect.unwrap(declared)


def test_there_are_some() -> None:
    assert len(DECLARED) > 30
