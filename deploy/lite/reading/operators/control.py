"""Branches, loops, calls of subgraphs; variables and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.reading.registry import Call, constant, op, reads
from pinnace.deploy.lite.reading.state import Handle, handle_of
from pinnace.framework import dtypes
from pinnace.framework.tensor import Tensor
from pinnace.functions.control.conditional import cond
from pinnace.functions.control.looping import while_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.deploy.lite.ir import model as lite


@reads("CALL_ONCE")
def call_once(call: Call) -> Sequence[Tensor]:
    """No ops: its variables and tables are initialised when the model is loaded."""
    del call
    return ()


@reads("CALL")
def called(call: Call) -> Sequence[Any]:
    """The results of a subgraph for the operator's inputs."""
    return call.translation.run(call.options["subgraph"], _values(call))


@reads("STABLEHLO_COMPOSITE")
def composite(call: Call) -> Sequence[Any]:
    """The results of its decomposition; its name does not matter."""
    return call.translation.run(call.options["decomposition_subgraph_index"], _values(call))


def _values(call: Call) -> list[Any]:
    return [call.stored(index) for index in range(call.count)]


def _truth(value: Tensor) -> Tensor:
    """A condition as a scalar."""
    return op("Reshape", value, constant([], dtypes.int32))


@reads("IF")
def conditional(call: Call) -> Sequence[Tensor]:
    """The results of one of two subgraphs."""
    values = _values(call)[1:]
    subgraphs = call.options["then_subgraph_index"], call.options["else_subgraph_index"]

    def branch(subgraph: lite.Subgraph) -> Callable[[], list[Tensor]]:
        return lambda: call.translation.run(subgraph, values)

    holds, fails = map(branch, subgraphs)
    found: Sequence[Tensor] = cond(_truth(call.stored(0)), holds, fails)
    return found


@reads("WHILE")
def loop(call: Call) -> Sequence[Any]:
    """The results of running a body subgraph while a condition subgraph holds."""
    values = _values(call)
    condition, body = call.options["cond_subgraph_index"], call.options["body_subgraph_index"]
    carried = [index for index, value in enumerate(values) if isinstance(value, Tensor)]
    if not carried:
        call.damaged("the loop carries no tensors, so it would do nothing or never end")

    def whole(xs: Sequence[Tensor]) -> list[Any]:
        found = list(values)
        for index, x in zip(carried, xs, strict=True):
            found[index] = x
        return found

    def goes_on(*xs: Tensor) -> Tensor:
        results = call.translation.run(condition, whole(xs))
        if len(results) != 1:
            call.damaged("its condition must have one output")
        return _truth(results[0])

    def turn(*xs: Tensor) -> list[Tensor]:
        results = call.translation.run(body, whole(xs))
        if len(results) != len(values):
            call.damaged(f"it carries {len(values)} values, and its body returns {len(results)}")
        return [_as_told(results[index], body.inputs[index]) for index in carried]

    # Sizes that are unknown in the file may change from iteration to iteration.
    shapes = [
        values[index].shape.most_specific_common_supertype([body.inputs[index].shape])
        for index in carried
    ]
    results = while_loop(goes_on, turn, [values[index] for index in carried], shapes)
    return whole(results)


def _as_told(value: Tensor, tensor: lite.Tensor) -> Tensor:
    """A value with the static shape from the file, if its ops do not determine it."""
    is_open = not value.shape.is_fully_defined()
    if is_open and tensor.rank and not value.shape.is_subtype_of(tensor.shape):
        return op("EnsureShape", value, shape=tensor.shape)
    return value


@reads("VAR_HANDLE", "HASHTABLE")
def handle(call: Call) -> Any:
    """The handle of a variable or table."""
    return handle_of(call.operator)


def _handle(call: Call, kind: str) -> Handle:
    found: Any = call.stored(0)
    if not isinstance(found, Handle) or found.kind != kind:
        call.fail(f"its handle must come from {kind} directly")
    return found


@reads("READ_VARIABLE")
def read_variable(call: Call) -> Tensor:
    """The variable's value."""
    given = call.given()
    variable = call.translation.state.variable(
        _handle(call, "VAR_HANDLE"), given.dtype, given.shape
    )
    found: Tensor = variable.read_value()
    return found


@reads("ASSIGN_VARIABLE")
def assign_variable(call: Call) -> Sequence[Tensor]:
    """Assign a variable; the value is kept for later runs."""
    value = call.stored(1)
    variable = call.translation.state.variable(
        _handle(call, "VAR_HANDLE"), value.dtype, value.shape
    )
    variable.assign(value)
    return ()


@reads("HASHTABLE_FIND")
def find_in_table(call: Call) -> Tensor:
    """The values of keys, with a default for keys that are not in the table."""
    keys, default = call.stored(1), call.stored(2)
    table = call.translation.state.table(_handle(call, "HASHTABLE"), keys.dtype, call.dtype())
    plain = op("Reshape", default, constant([], dtypes.int32))
    return op("LookupTableFindV2", table.resource_handle, keys, plain)


@reads("HASHTABLE_SIZE")
def table_size(call: Call) -> Tensor:
    """The number of entries."""
    handle_ = _handle(call, "HASHTABLE")
    table = call.translation.state.known_table(handle_)
    if table is None:
        call.fail("its table has no lookups, so its types are unknown")
    size = op("LookupTableSizeV2", table.resource_handle)
    return op("Reshape", size, constant([1], dtypes.int32))
