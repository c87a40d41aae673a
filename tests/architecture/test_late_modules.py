"""A fresh process finds every op and every class of composite values, whatever it has imported."""

import json

from architecture.sources import modules, written
from support.fresh_process import run_fresh

# Only modules that need an optional package may fail.
PROGRAM = """
import importlib, json, sys
import pinnace
from pinnace.framework import composite
from pinnace.ops import registry
from pinnace.proto.struct_pb2 import TypeSpecProto

def known():
    kinds = TypeSpecProto.TypeSpecClass.keys()
    specs = [name for name in kinds if composite.spec_class(name) is not None]
    return [[name, op.kernel is not None] for name, op in registry.registered().items()], specs

before = known()
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except ImportError as error:
        if error.name is None or error.name.startswith("pinnace"):
            raise
print(json.dumps([before, known()]))
"""


def test_no_op_needs_an_import_of_its_own() -> None:
    names = [name for name in sorted(modules()) if written(name)]
    (ops, specs), (all_ops, all_specs) = json.loads(run_fresh(PROGRAM, json.dumps(names)))
    assert [one for one in all_ops if one not in ops] == []
    assert [one for one in all_specs if one not in specs] == []
    assert len(ops) > 400


def test_ops_whose_gradients_stand_above_have_them() -> None:
    program = """
from pinnace.ops import registry
print([name for name, op in registry.registered().items() if repr(op.gradient) == "GRADIENT_ABOVE"])
"""
    assert run_fresh(program).strip() == "[]"
