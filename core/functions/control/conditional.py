"""cond, case and switch_case: a tensor selects one of several functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.context import init_scope, state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.control import branches, nodes, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.functions.control.branches import Branch

__all__ = ["case", "cond", "switch_case"]


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """The result of `true_fn()` if `pred` is true, else that of `false_fn()`.

    Only the selected function has effects. In a traced function, both are traced.

    Args:
        pred: a scalar, bool or what counts as one.
        true_fn: takes nothing; gives tensors in any structure.
        false_fn: the same structure and dtypes.
        name: name of the node while tracing.

    Raises:
        TypeError: a function is missing, or they return different structures or dtypes.

    Source:
        TensorFlow op `If` (functional_ops.cc).
    """
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("cond: true_fn and false_fn must be functions without arguments")
    true_fn, false_fn = branches.user_function(true_fn), branches.user_function(false_fn)
    if not is_symbolic(pred):
        return true_fn() if _truth(pred) else false_fn()
    pred = convert_to_tensor(pred)
    if pred.shape.rank not in {None, 0}:
        raise InvalidArgumentError(f"cond: pred must be a scalar, got shape {pred.shape.text}")
    return build_if(pred, true_fn, false_fn, name or "cond", ("true_fn", "false_fn"))


def is_symbolic(value: Any) -> bool:
    """Whether the value is known only when the graph runs."""
    if isinstance(value, Variable):
        return state.tracer is not None
    return isinstance(value, SymbolicTensor)


def _truth(pred: Any) -> bool:
    if isinstance(pred, (Tensor, Variable)):
        return bool(pred)
    with init_scope():  # a constant of the traced function would have no value yet
        return bool(convert_to_tensor(pred))


def build_if(
    pred: Tensor,
    true_fn: Callable[[], Any],
    false_fn: Callable[[], Any],
    name: str,
    labels: Sequence[str],
) -> Any:
    """Build an If node; returns its outputs in the structure of the branches' results."""
    traced = [
        branches.trace_branch(true_fn, f"{name}_true"),
        branches.trace_branch(false_fn, f"{name}_false"),
    ]
    results = _same_results(traced, name, labels)
    outputs = recorded.add_node(nodes.if_node(pred, traced), name)
    return _packed(results, outputs)


def _same_results(traced: Sequence[Branch], name: str, labels: Sequence[str]) -> Any:
    """The common structure of the branches' results; TypeError if they differ."""
    first = traced[0].results
    leaves = structure.flatten(first, expand_composites=True)
    for branch, label in zip(traced[1:], labels[1:], strict=True):
        try:
            structure.assert_same_structure(first, branch.results, expand_composites=True)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name}: {labels[0]} and {label} must return the same structure\n"
                f"  {labels[0]}: {first!r}\n  {label}: {branch.results!r}\n  {error}"
            ) from None
        others = structure.flatten(branch.results, expand_composites=True)
        for a, b in zip(leaves, others, strict=True):
            if (a is None) != (b is None) or (a is not None and a.dtype is not b.dtype):
                found = [None if x is None else x.dtype.name for x in (a, b)]
                raise TypeError(
                    f"{name}: {labels[0]} and {label} must return the same dtypes, "
                    f"got {found[0]} and {found[1]}"
                )
    return first


def _packed(results: Any, outputs: Sequence[Tensor]) -> Any:
    found = iter(outputs)
    leaves = [
        None if leaf is None else next(found)
        for leaf in structure.flatten(results, expand_composites=True)
    ]
    return structure.pack_sequence_as(results, leaves, expand_composites=True)


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str | None = "switch_case",
) -> Any:
    """The result of branch function number `branch_index`.

    Args:
        branch_index: an int32 scalar, a Tensor.
        branch_fns: functions without arguments: a list, or a dict or list of pairs from 0, 1, … to
            them.
        default: for an index out of range; the last function (of the highest number) if None.
        name: name of the node while tracing.

    Raises:
        TypeError: the index is no integer tensor, the numbers are not integers, or something is no
            function.
        ValueError: no functions, or a number is left out or given twice.

    Source:
        TensorFlow op `Case` (functional_ops.cc).
    """
    if not isinstance(branch_index, Tensor) or not branch_index.dtype.is_integer:
        raise TypeError(
            f"switch_case: branch_index must be a Tensor of int32, got {branch_index!r}\n"
            "  Try: constant(branch_index, int32)"
        )
    table = [branches.user_function(function) for function in _numbered(branch_fns)]
    if default is not None:
        table.append(branches.user_function(default))
    if not is_symbolic(branch_index):
        chosen = int(branch_index)
        return table[chosen if 0 <= chosen < len(table) else -1]()
    if branch_index.dtype is not dtypes.int32:
        raise TypeError(f"switch_case: branch_index must be int32, got {branch_index.dtype.name}")
    labels = [f"branch {number}" for number in range(len(table))]
    label = name or "switch_case"
    traced = [
        branches.trace_branch(function, f"{label}_branch{number}")
        for number, function in enumerate(table)
    ]
    results = _same_results(traced, label, labels)
    outputs = recorded.add_node(nodes.case_node(branch_index, traced), label)
    return _packed(results, outputs)


def _numbered(branch_fns: Any) -> list[Callable[[], Any]]:
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    else:
        pairs = list(branch_fns)
        if pairs and all(callable(one) for one in pairs):
            pairs = list(enumerate(pairs))
    if not pairs:
        raise ValueError("switch_case: branch_fns must hold at least one function")
    for number, function in pairs:
        if not isinstance(number, int) or not callable(function):
            raise TypeError(
                f"switch_case: branch_fns must map 0, 1, … to functions, got {number!r}: "
                f"{function!r}"
            )
    pairs.sort(key=lambda pair: pair[0])
    numbers = [number for number, _ in pairs]
    if numbers != list(range(len(pairs))):
        raise ValueError(
            f"switch_case: the numbers of branch_fns must be 0 to {len(pairs) - 1}, got {numbers}"
        )
    return [function for _, function in pairs]


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = "case",
) -> Any:
    """The result of the function paired with the first true condition.

    Args:
        pred_fn_pairs: (bool scalar, function without arguments) pairs.
        default: for the case that no condition is true; the last function if None.
        exclusive: whether it is an error that several conditions are true.
        strict: accepted for TensorFlow's sake.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: several are true under `exclusive`, or none and there is no default.

    Source:
        TensorFlow op `If` (functional_ops.cc), nested.
    """
    ignored("case", "each function is a graph of its own", False, strict=strict)
    pairs = list(pred_fn_pairs)
    if not pairs:
        raise ValueError("case: pred_fn_pairs must hold at least one pair")
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(
                f"case: pred_fn_pairs must hold (condition, function) pairs, got {pair!r}"
            )
    preds = [convert_to_tensor(pred) for pred, _ in pairs]
    for pred in preds:
        if pred.dtype is not dtypes.bool:
            raise TypeError(f"case: a condition must be bool, got {pred.dtype.name}")
    if exclusive:
        _at_most_one(preds)
    if default is None:
        _at_least_one(preds)
    return _chain(preds, [function for _, function in pairs], default, name or "case")


def _chain(
    preds: Sequence[Tensor],
    functions: Sequence[Callable[[], Any]],
    default: Callable[[], Any] | None,
    name: str,
) -> Any:
    if len(preds) == 1 and default is None:
        return functions[0]()
    if not preds:
        assert default is not None  # noqa: S101 (the line above)
        return default()
    return cond(
        preds[0], functions[0], lambda: _chain(preds[1:], functions[1:], default, name), name
    )


def _at_most_one(preds: Sequence[Tensor]) -> None:
    from pinnace.ops.array import casting, joining
    from pinnace.ops.control import assertions
    from pinnace.ops.math import reduction

    count = reduction.reduce_sum(casting.cast(joining.stack(list(preds)), dtypes.int32))
    assertions.assert_less_equal(
        count, 1, message="case: more than one condition is true, and exclusive=True"
    )


def _at_least_one(preds: Sequence[Tensor]) -> None:
    from pinnace.ops.array import joining
    from pinnace.ops.control import assertions
    from pinnace.ops.math import reduction

    found = reduction.reduce_any(joining.stack(list(preds)))
    assertions.Assert(found, ["case: no condition is true, and there is no default"])
