"""Eager ops on large arrays: plans of one step, whose work threads share.

A function's step on a large array is a region that threads share, even if it is the only step
(`codegen.clusters`). An eager call of the same op runs the same plan, so both return the same bits.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.forms import is_compiling
from pinnace.engine.plan import Plan
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import GraphBuilder
from pinnace.ops.array.constants import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import OpDef

# Most ops, shapes and attributes whose plans are kept.
_MOST = 256
# None where a plan of one step has no region.
_plans: dict[Hashable, Plan | None] = {}
_lock = threading.Lock()


def run(op: OpDef, arrays: Sequence[Array], attrs: Mapping[str, Any]) -> Array | None:
    """The op's result by its plan; None if it has no region for these arrays.

    Args:
        op: an op with one output.
        arrays: its inputs.
        attrs: attributes of its kernel.
    """
    if arrays[-1].dtype != np.float32 or not is_compiling():
        return None
    key = (op.name, *[(one.shape, one.dtype) for one in arrays], *attrs.items())
    try:
        plan = _plans[key]
    except KeyError:
        plan = _made(op, arrays, attrs)
        with _lock:
            if len(_plans) >= _MOST:
                _plans.clear()
            _plans[key] = plan
    return None if plan is None else plan(arrays)[0]


def _made(op: OpDef, arrays: Sequence[Array], attrs: Mapping[str, Any]) -> Plan | None:
    graph = GraphBuilder(op.name)
    specs = [TensorSpec(one.shape, dtypes.as_dtype(one.dtype)) for one in arrays]
    values = [graph.add_input(PLACEHOLDER, spec, f"x{n}") for n, spec in enumerate(specs)]
    kinds = {
        argument.type_attr: spec.dtype
        for argument, spec in zip(op.inputs, specs, strict=True)
        if argument.type_attr
    }
    graph.set_outputs(graph.add(op, values, {**kinds, **attrs}).outputs)
    plan = Plan(graph.finish())
    layout = plan.tiers.layout_for(arrays, anyway=False)
    if layout is None:
        return None
    from pinnace.engine.codegen.regions import fuse

    return plan if fuse(plan.steps, layout.known, plan.graph.outputs) else None
