"""A loop over scalars as one kernel: condition and body together, the numbers in registers.

A plan takes some 2 us an iteration for that, of which the arithmetic is a nanosecond. What a loop
may carry is scalars, and anything else that it hands on as it is. Results are those of the plan bit
for
bit: each op rounds to its dtype, and nothing is contracted.
"""

from __future__ import annotations

import re
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen import compiler, forms
from pinnace.engine.codegen.integer_text import wrapping
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Iterations between looks at whether the run was cancelled: before the first, and at most. In
# between as many as take so many seconds.
_FIRST, _ITERATIONS = 1 << 12, 1 << 20
_LOOK_S = 0.02
SCALARS = {
    "float32": "np.float32",
    "float64": "np.float64",
    "int32": "np.int32",
    "int64": "np.int64",
    "bool": "bool",
}
_FUNCTIONS = frozenset(
    {"abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh"}
    | {"erf", "erfc", "exp", "expm1", "floor", "log", "log1p", "max", "min", "rint", "sin"}
    | {"sinh", "sqrt", "tan", "tanh"}
)
_CALLS = re.compile(r"([a-z_A-Z]\w*)\(")
# What leaves an integer as it is, and would make a float64 of it on the way.
_ROUNDINGS = re.compile(r"\b(?:ceil|floor|rint)\(")
_HEADER = """import math
from math import (
    acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, erf, erfc, exp, expm1, log, log1p,
    sin, sinh, tan, tanh,
)

ceil, floor, rint = np.ceil, np.floor, np.rint


"""


class Loop:
    """A loop's kernel, which may not be made yet, and which variables it carries."""

    def __init__(self, text: str, carried: Sequence[int], dtypes: Sequence[Any]) -> None:
        self.kernel = compiler.request(text)
        self._carried = carried
        self._dtypes = dtypes

    def run(self, values: Sequence[Array], check: Any) -> Sequence[Array]:
        """The loop variables when the condition is false; as they are if there is no kernel yet.

        Args:
            values: the loop variables.
            check: called now and then; raises if the run was cancelled.
        """
        if self.kernel.function is None:
            return values
        most = min(_ITERATIONS, _FIRST)
        while True:
            start = perf_counter()
            iterations, values = self.advance(values, most)
            if iterations < most:
                return values
            check()
            iteration_s = max((perf_counter() - start) / iterations, 1e-9)
            most = min(_ITERATIONS, max(_FIRST, int(_LOOK_S / iteration_s)))

    def advance(self, values: Sequence[Array], most: int) -> tuple[int, Sequence[Array]]:
        """How many iterations were taken, at most `most`, and the loop variables after them.

        Fewer than `most` are taken only where the condition is false then.
        """
        kernel = self.kernel.function
        assert kernel is not None  # noqa: S101 - whoever calls this has looked
        iterations, *scalars = kernel(
            most, *[np.asarray(values[place])[()] for place in self._carried]
        )
        found = list(values)
        for place, kind, scalar in zip(self._carried, self._dtypes, scalars, strict=True):
            found[place] = np.asarray(kind(scalar))  # Numba gives Python's numbers back
        return iterations, tuple(found)


def loop_of(test: Plan, body: Plan) -> Loop | None:
    """The kernel of a loop, asked for; None if it is not one over scalars.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration.
    """
    inputs, outputs = body.graph.inputs, body.graph.outputs
    changed = [n for n, value in enumerate(inputs) if outputs[n] is not value]
    used = {value for plan in (test, body) for step in plan.steps for value in step.node.inputs}
    carried = [
        n for n, value in enumerate(inputs) if n in changed or {value, test.graph.inputs[n]} & used
    ]
    if any(not _is_scalar(plan.graph.inputs[n]) for plan in (test, body) for n in carried):
        return None
    condition = _Writer({test.graph.inputs[n]: f"a{n}" for n in carried}, "p", test)
    iteration = _Writer({inputs[n]: f"a{n}" for n in carried}, "q", body)
    if condition.lines is None or iteration.lines is None:
        return None
    results = [iteration.name(outputs[n]) for n in changed]
    decision = condition.name(test.graph.outputs[0])
    if decision is None or not all(results) or test.graph.outputs[0].dtype.name != "bool":
        return None
    names = ", ".join(f"a{n}" for n in carried)
    dtypes = [inputs[n].dtype for n in carried]
    lines = [
        "    iterations = 0",
        "    while iterations < most:",
        *(f"        {line}" for line in condition.lines),
        f"        if not {decision}:",
        "            break",
        *(f"        {line}" for line in iteration.lines),
        # All at once: one variable's new value may be another's old one.
        f"        {', '.join(f'a{n}' for n in changed)} = {', '.join(map(str, results))}",
        "        iterations += 1",
        f"    return iterations, {names}",
    ]
    types = ", ".join("types.boolean" if d.name == "bool" else f"types.{d.name}" for d in dtypes)
    text = (
        f"{_HEADER}@njit([(int64, {types})], cache=True, nogil=True, "
        f'error_model="numpy")\ndef kernel(most, {names}):\n' + "\n".join(lines) + "\n"
    )
    return Loop(text, carried, [dtype.numpy.type for dtype in dtypes]) if changed else None


class _Writer:
    """The steps of a plan as statements over Python scalars; `lines` is None if they cannot be."""

    def __init__(self, names: dict[Value, str], prefix: str, plan: Plan) -> None:
        self._names = names
        self.lines: list[str] | None = None
        lines = []
        for index, step in enumerate(plan.steps):
            written = self._written(step.node)
            if written is None:
                return
            name = f"{prefix}{index}"
            lines.append(f"{name} = {written}")
            names[step.node.outputs[0]] = name
        self.lines = lines

    def name(self, value: Value) -> str | None:
        """How the text calls a value; None if it is not a scalar."""
        found = self._names.get(value)
        array = constant_of(value)
        if found is not None or array is None:
            return found
        return literal(array, value.dtype.name)

    def _written(self, node: Node) -> str | None:
        return expression(node, [self.name(value) for value in node.inputs], _FUNCTIONS)


def literal(array: Array, dtype: str) -> str | None:
    """A scalar as text; None if it has none.

    Python's digits of a float64 are exact, and so are those of a float32, written as a float64. An
    integer's are taken for an int64, which holds every one of `SCALARS`.
    """
    kind = SCALARS.get(dtype)
    if kind is None or np.ndim(array):
        return None
    value = np.asarray(array).item()
    if not np.isfinite(array):
        return f"{kind}({'np.nan' if np.isnan(array) else '-np.inf' if value < 0 else 'np.inf'})"
    return f"{kind}({value!r})"


def expression(node: Node, names: Sequence[str | None], functions: Collection[str]) -> str | None:
    """A step over scalars as an expression; None if there is none.

    Args:
        node: the step.
        names: of its inputs, None for one that is no scalar.
        functions: what the expression may call, beside conversions.
    """
    if len(node.outputs) != 1 or node.op.stateful or not _is_scalar(node.outputs[0]):
        return None
    kind = SCALARS[node.outputs[0].dtype.name]
    if not all(names):
        return None
    if node.op.name == "Cast":
        source, target = node.inputs[0].dtype, node.outputs[0].dtype
        # What a float beyond an integer's range becomes is the processor's business.
        return f"{kind}({names[0]})" if target.is_floating or not source.is_floating else None
    form = node.op.fuse
    if form is None or not set(_CALLS.findall(form)) <= {*functions, "T"}:
        return None
    form = re.sub(r"\bT\(", f"{kind}(", form)
    is_integer = node.outputs[0].dtype.is_integer
    if is_integer:
        form = _ROUNDINGS.sub("(", form)
    written = forms.written(node, [name or "" for name in names], form)
    return f"{kind}({wrapping(written) if is_integer else written})"


def _is_scalar(value: Value) -> bool:
    return value.shape.rank == 0 and value.dtype.name in SCALARS
