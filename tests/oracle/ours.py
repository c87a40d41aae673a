"""Calls in this library: values, gradients, inferred shapes, values of the engine's plan."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

import pinnace as tf
from oracle import wire
from pinnace.framework.context import state
from pinnace.functions.tracing import trace
from pinnace.graph.graph import FunctionRef
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup
from support.opcase import arrays_of, tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.calls import Call
    from pinnace.framework.tensor import Tensor
    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.graph.graph import Graph


COUNT = itertools.count()


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the error as its class and message."""
    try:
        return function(*arguments)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)[:2000]}


def answer(call: Call, seed: int | None) -> dict[str, Any]:
    """The same result as the worker's `answer_op`, without shapes."""
    op = lookup(call.op)
    inputs = tensors_of(call.inputs)
    watched = [t for t in flat(inputs) if t.dtype.is_floating or t.dtype.is_complex]
    with tf.GradientTape() as tape:
        for one in watched:
            tape.watch(one)
        outputs = flat(execute(op, *inputs, **call.attrs))
    found: dict[str, Any] = {"values": [np.asarray(y._array) for y in outputs]}
    if seed is not None:
        with noting() as seen:
            found["gradients"] = attempt(_gradients, tape, outputs, watched, seed)
        found["backward"] = seen.used
    return found


def _gradients(tape: Any, outputs: list[Any], inputs: list[Any], seed: int) -> list[Any]:
    chosen = [y for y in outputs if y.dtype.is_floating or y.dtype.is_complex]
    dys = [
        tf.constant(wire.cotangent(tuple(y.shape), y.dtype.numpy, seed + i))
        for i, y in enumerate(chosen)
    ]
    found = tape.gradient(chosen, inputs, output_gradients=dys)
    return [None if dx is None else np.asarray(tf.convert_to_tensor(dx)._array) for dx in found]


def traced(call: Call, told: list[Any]) -> ConcreteFunction:
    """A function of the inputs that are not constants."""
    op = lookup(call.op)
    tensors = tensors_of(call.inputs)
    specs = tuple(
        tf.TensorSpec(known, t.dtype, f"x{i}")
        for i, (t, known) in enumerate(zip(flat(tensors), told, strict=True))
        if known != "constant"
    )

    def function(*leaves: Tensor) -> Any:
        rest, known = iter(leaves), iter(told)

        def one(t: Tensor) -> Tensor:
            constant = next(known) == "constant"
            return tf.constant(t.numpy(), t.dtype) if constant else next(rest)

        packed = [tuple(one(t) for t in x) if isinstance(x, tuple) else one(x) for x in tensors]
        return execute(op, *packed, **call.attrs)

    return trace(function, specs, {}, call.op, names=[(f"x{i}",) * 2 for i in range(len(specs))])[0]


def graph_shapes(concrete: ConcreteFunction) -> list[Any]:
    """The shapes of a graph's outputs, as far as they are known."""
    shapes = [value.spec.shape for value in concrete.graph.outputs]
    return [None if shape.rank is None else wire.Sizes(shape.as_list()) for shape in shapes]


def planned(concrete: ConcreteFunction, call: Call, told: list[Any]) -> list[Any]:
    """The values that the engine computes."""
    leaves = flat(tensors_of(call.inputs))
    given = [t for t, known in zip(leaves, told, strict=True) if known != "constant"]
    return list(arrays_of(concrete(*given)))


def flat(found: Any) -> list[Any]:
    """The tensors among an op's results."""
    if found is None:
        return []
    if isinstance(found, (tuple, list)):
        return [one for part in found for one in flat(part)]
    return [found]


class Ops:
    """Ops by name, for programs, like the worker's; records those of graphs."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = lookup(name)

        def call(**given: Any) -> Any:
            for key, value in given.items():
                kind = op.attrs[key].kind if key in op.attrs else ""
                if key in op.type_sets or kind == "type":
                    given[key] = tf.as_dtype(value)
                if kind == "shape":
                    given[key] = tf.TensorShape(value)
                elif kind == "list(shape)":
                    given[key] = tuple(map(tf.TensorShape, value))
                elif isinstance(value, list) and key in op.attrs:
                    given[key] = tuple(value)
            inputs = [given.pop(arg.name) for arg in op.inputs]
            return execute(op, *inputs, **given)

        return call

    def fresh_name(self) -> str:
        """A name that no resource of this process uses."""
        return f"program_{next(COUNT)}"

    def handle_of(self, writer: Any) -> Any:
        """The handle of a summary writer."""
        return writer.handle

    def trace(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The results of a traced function; the ops of its graph have run."""
        concrete = tf.function(function).get_concrete_function(*arguments)
        self._note(concrete.graph)
        return concrete(*arguments)

    def _note(self, graph: Graph) -> None:
        for node in graph.nodes:
            self.used.add(node.op.name)
            for value in node.attrs.values():
                for one in value if isinstance(value, tuple) else (value,):
                    if isinstance(one, FunctionRef):
                        self._note(one.graph)


class Seen:
    """A tape that only records which ops it sees."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def record(self, op: Any, *_: Any) -> None:
        """One op ran."""
        self.used.add(op.name)

    def record_call(self, *_: Any) -> None:
        """A function ran: `Ops.trace` records its ops."""

    def record_customised(self, *_: Any) -> None:
        """Its ops were recorded already."""

    def watches(self, *_: Any) -> bool:
        """No gradient is asked for."""
        return False

    def watch_variable(self, _: Any) -> None:
        """No gradient is asked for."""


@contextlib.contextmanager
def noting() -> Iterator[Seen]:
    """Record which ops run in the block."""
    seen, before = Seen(), state.tapes
    state.tapes = (*before, seen)
    try:
        yield seen
    finally:
        state.tapes = before


def run_program(program: Callable[..., Any], inputs: Sequence[Any]) -> tuple[list[Any], set[str]]:
    """The result of a program, and the ops that it used."""
    ops = Ops()
    with noting() as seen:
        outputs = flat(program(tf, ops, *tensors_of(tuple(inputs))))
    arrays = [np.asarray(tf.convert_to_tensor(y)._array) for y in outputs]
    return arrays, ops.used | seen.used
