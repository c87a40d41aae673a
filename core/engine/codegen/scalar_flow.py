"""Steps over scalars, with branches and loops, as statements of a kernel.

An untaken branch does not run: its steps are inside an `if`. If the plan must decide (a division by
zero, an index out of range, a number that its new dtype cannot represent), the iteration of the
outermost loop is refused before it has changed anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace import late
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.scalar_text import SCALARS, expression, is_scalar, literal
from pinnace.graph.graph import constant_of
from pinnace.ops.array.gathering import GATHER_V2
from pinnace.ops.array.joining import PACK
from pinnace.ops.array.slicing import STRIDED_SLICE
from pinnace.ops.functional.conditions import FAKE_PARAM

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value

# Limits of nested branches and loops, and of statements.
_DEPTH, _STATEMENTS = 12, 1500
# Iterations of inner loops in one call of a kernel: any of them could be infinite.
MOST_INNER = 1 << 20


class Scope:
    """The names of one graph's values in the source.

    Attributes:
        names: names of scalars.
        arrays: names of arrays whose elements may be read.
        vectors: names of the elements of index vectors.
    """

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.arrays: dict[Value, str] = {}
        self.vectors: dict[Value, list[str]] = {}

    def name(self, value: Value) -> str | None:
        """The name of a value in the source, or its literal; None if it is not a scalar."""
        found = self.names.get(value)
        array = constant_of(value)
        if found is not None or array is None:
            return found
        return literal(array, value.dtype.name)

    def opened(self, graph: Graph, given: Sequence[Value]) -> Scope:
        """The scope of a function that is called with values of this one."""
        inner = Scope()
        for argument, value in zip(graph.inputs, given, strict=True):
            name = self.name(value)
            if name is not None:
                inner.names[argument] = name
            elif value in self.arrays:
                inner.arrays[argument] = self.arrays[value]
        return inner


class ScalarFlow:
    """Generates the scalar steps of a kernel.

    Args:
        functions: names of functions that the source may call.
        refusal: the statement that refuses an iteration; `break` follows.
        loops: the name of a flag that is not zero once an iteration is refused, if loops may be
            nested in it; None if they may not.
        prefix: the prefix of names.

    Attributes:
        has_loops: whether the source counts the iterations of inner loops, as `inner`.
        constants: arrays that the source reads as `k0`, `k1`, …
    """

    def __init__(
        self,
        functions: Collection[str],
        refusal: str,
        *,
        loops: str | None = None,
        prefix: str = "m",
    ) -> None:
        self._functions = functions
        self._refusal = refusal
        self._loops = loops
        self._prefix = prefix
        self._depth = self._made = self._statements = 0
        self.has_loops = False
        self.constants: list[Array] = []

    def steps(self, plan: Plan, scope: Scope) -> list[str]:
        """The statements of a plan.

        Args:
            plan: the plan.
            scope: has its arguments, and gets its results.

        Raises:
            UnsupportedError: a step is not over scalars, or there are too many.
        """
        lines: list[str] = []
        for step in plan.steps:
            lines += self.step(step.node, scope)
        return lines

    def step(self, node: Node, scope: Scope) -> list[str]:
        """The statements of one step; see `steps`."""
        self._statements += 1
        if self._statements > _STATEMENTS:
            raise UnsupportedError("too many steps on scalars")
        if node.op.runs == "branch":
            return self._branch(node, scope)
        if node.op.runs == "loop":
            return self._loop(node, scope)
        if node.op is PACK:
            scope.vectors[node.outputs[0]] = [self._number(scope, one) for one in node.inputs]
            return []
        if node.op in {GATHER_V2, STRIDED_SLICE}:
            return self._element(node, scope)
        if node.op is FAKE_PARAM and is_scalar(node.outputs[0]):
            scope.names[node.outputs[0]] = f"{SCALARS[node.outputs[0].dtype.name]}(0)"
            return []
        written = expression(node, [scope.name(one) for one in node.inputs], self._functions)
        if written is None:
            raise UnsupportedError(f"{node.op.name} has no scalar expression")
        name = scope.names[node.outputs[0]] = self._fresh()
        lines = [line for one in written.refusals for line in _refused(one, self._refusal)]
        return [*lines, f"{name} = {written.text}"]

    def has_text(self, node: Node, scope: Scope) -> bool:
        """Whether there is an expression for a step that is neither a branch nor a loop."""
        if any(scope.name(one) is None for one in node.inputs):
            return False
        names = [scope.name(one) for one in node.inputs]
        return expression(node, names, self._functions) is not None

    def results(self, graph: Graph, scope: Scope) -> list[str]:
        """The names of a graph's outputs, all scalars."""
        return [self._number(scope, value) for value in graph.outputs]

    def _fresh(self) -> str:
        self._made += 1
        return f"{self._prefix}{self._made}"

    def _number(self, scope: Scope, value: Value) -> str:
        found = scope.name(value)
        if found is None:
            raise UnsupportedError(f"{value} is not a scalar")
        return found

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise UnsupportedError("branches and loops are nested too deeply")

    # Branches.

    def _branch(self, node: Node, scope: Scope) -> list[str]:
        self._enter()
        choice, given = self._number(scope, node.inputs[0]), node.inputs[1:]
        branches = node.attrs.get("branches")
        if branches is None:
            branches = (node.attrs["then_branch"], node.attrs["else_branch"])
            is_truth = node.inputs[0].dtype.name == "bool"
            tests = [choice if is_truth else f"{choice} != 0"]
        else:  # any other index selects the last branch
            tests = [f"{choice} == {index}" for index in range(len(branches) - 1)]
        names = [self._fresh() for _ in node.outputs]
        lines = []
        for index, branch in enumerate(branches):
            plan = late.plan_of(branch.graph)
            inner = scope.opened(plan.graph, given)
            inside = self.steps(plan, inner)
            results = self.results(plan.graph, inner)
            if any(
                there.dtype is not here.dtype
                for there, here in zip(plan.graph.outputs, node.outputs, strict=True)
            ):
                raise UnsupportedError(f"{node}: a branch returns another dtype")
            inside += [f"{name} = {one}" for name, one in zip(names, results, strict=True)]
            if index < len(tests):
                lines.append(f"{'elif' if index else 'if'} {tests[index]}:")
            else:
                lines.append("else:" if index else "if True:")
            lines += [f"    {line}" for line in inside or ["pass"]]
        scope.names.update(zip(node.outputs, names, strict=True))
        self._depth -= 1
        return lines

    # Loops.

    def _loop(self, node: Node, scope: Scope) -> list[str]:
        if self._loops is None:
            raise UnsupportedError("a loop inside an iteration")
        self._enter()
        self.has_loops = True
        test, body = late.plan_of(node.attrs["cond"].graph), late.plan_of(node.attrs["body"].graph)
        inputs, outputs = body.graph.inputs, body.graph.outputs
        before, inside = (scope.opened(plan.graph, node.inputs) for plan in (test, body))
        begin, names = [], {}
        for place, value in enumerate(inputs):
            if outputs[place] is value:
                continue
            if not is_scalar(value):
                raise UnsupportedError(f"{node}: loop variable {place} is not a scalar")
            name = names[place] = self._fresh()
            begin.append(f"{name} = {self._number(scope, node.inputs[place])}")
            before.names[test.graph.inputs[place]] = inside.names[value] = name
        lines = self.steps(test, before)
        (decision,) = self.results(test.graph, before)
        if test.graph.outputs[0].dtype.name != "bool":
            decision = f"{decision} != 0"
        lines += [f"if not ({decision}):", "    break", "inner += 1"]
        lines += [f"if inner > {MOST_INNER}:", f"    {self._loops} = 2", "    break"]
        lines += self.steps(body, inside)
        new = [self._number(inside, outputs[place]) for place in names]
        lines.append(f"{', '.join(names.values())} = {', '.join(new)}" if names else "pass")
        for place, value in enumerate(node.outputs):
            there = names.get(place) or scope.name(node.inputs[place])
            if there is not None:
                scope.names[value] = there
            elif node.inputs[place] in scope.arrays:
                scope.arrays[value] = scope.arrays[node.inputs[place]]
        self._depth -= 1
        ahead = [*begin, "while True:", *(f"    {line}" for line in lines)]
        return [*ahead, f"if {self._loops}:", "    break"]

    # Elements of arrays.

    def _element(self, node: Node, scope: Scope) -> list[str]:
        """An element of a loop-invariant array."""
        source, item = node.inputs[0], node.outputs[0]
        array, shape = self._array(source, scope), source.shape
        if not is_scalar(item) or shape.rank is None:
            raise UnsupportedError(f"{node}: it does not select a single element")
        if node.op is GATHER_V2:
            first = constant_of(node.inputs[2])
            if first is None or int(first) or node.attrs.get("batch_dims") or shape.rank != 1:
                raise UnsupportedError(f"{node}: it does not select a single element")
            indices, backwards = [self._number(scope, node.inputs[1])], False
        else:
            indices, backwards = self._begin(node, scope), True
            others = ("begin_mask", "ellipsis_mask", "new_axis_mask")
            if any(node.attrs[name] for name in others) or len(indices) != shape.rank:
                raise UnsupportedError(f"{node}: it does not select a single element")
        lines, places = [], []
        for axis, index in enumerate(indices):
            place = self._fresh()
            places.append(place)
            length = f"{array}.shape[{axis}]"
            lines += checked_index(place, index, length, self._refusal, backwards=backwards)
        name = scope.names[item] = self._fresh()
        kind = SCALARS[item.dtype.name]
        return [*lines, f"{name} = {kind}({array}[{', '.join(places)}])"]

    def _array(self, value: Value, scope: Scope) -> str:
        """The name of an array in the source."""
        found = scope.arrays.get(value)
        if found is not None:
            return found
        array = constant_of(value)
        if array is None or not np.ndim(array) or value.dtype.name not in SCALARS:
            raise UnsupportedError(f"{value} is not a constant array of numbers")
        if self._loops is None:
            raise UnsupportedError("elements of a constant array")
        self.constants.append(np.ascontiguousarray(array))
        return f"k{len(self.constants) - 1}"

    def _begin(self, node: Node, scope: Scope) -> list[str]:
        """The indices of a slice that is one element."""
        begin = node.inputs[1]
        found = scope.vectors.get(begin)
        if found is None:
            known = constant_of(begin)
            if known is None:
                raise UnsupportedError(f"{node}: the indices are neither constants nor scalars")
            found = [f"int64({int(one)})" for one in known.reshape(-1)]
        if node.attrs["shrink_axis_mask"] != (1 << len(found)) - 1:
            raise UnsupportedError(f"{node}: it does not select a single element")
        return found


def checked_index(
    name: str, index: str, length: str, refusal: str, *, backwards: bool = False
) -> list[str]:
    """The lines of a named index; if it is out of range, the iteration is refused.

    Args:
        name: the name of the index in the source.
        index: the expression of the number.
        length: the length of the indexed axis or list.
        refusal: see `ScalarFlow`.
        backwards: whether negative ones count from the end.
    """
    ahead = [f"if {name} < 0:", f"    {name} += {length}"] if backwards else []
    refused = _refused(f"{name} < 0 or {name} >= {length}", refusal)
    return [f"{name} = int64({index})", *ahead, *refused]


def _refused(condition: str, refusal: str) -> list[str]:
    return [f"if {condition}:", f"    {refusal}", "    break"]
