"""Every op of core/ops/math and core/ops/linalg has a case."""

import importlib
import pkgutil

import pytest

import pinnace.ops.linalg
import pinnace.ops.math
from pinnace.ops.opdef import OpDef
from support.opcase import all_cases


def ops_of(package: object) -> set[str]:
    names = set()
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):  # type: ignore[attr-defined]
        module = importlib.import_module(found.name)
        names |= {value.name for value in vars(module).values() if isinstance(value, OpDef)}
    return names


@pytest.mark.parametrize("folder", ["math", "linalg"])
def test_every_op_has_a_case(folder: str) -> None:
    package = getattr(pinnace.ops, folder)
    assert ops_of(package) - {case.op for case in all_cases(folder)} == set()
