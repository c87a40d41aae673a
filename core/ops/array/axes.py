"""Negative axes, with errors that name the op."""

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.opdef import InferCall


def normal_axis(op: str, axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from 0; InvalidArgumentError in the name of `op` if it is out of range."""
    if -rank <= axis < rank:
        return axis % rank
    raise InvalidArgumentError(
        f"{op}: {what} must be in [{-rank}, {rank}), got {axis}: "
        f"{what} = {axis} not in [{-rank}, {rank}), it is out of range"
    )


def known_axis(call: InferCall, index: int, rank: int, what: str = "axis") -> int | None:
    """The axis named by scalar input `index`, if its value is known."""
    value = call.constant(index)
    if value is None:
        return None
    axis = int(value.reshape(-1)[0])
    if not -rank <= axis < rank:
        call.fail(
            f"{what} must be in [{-rank}, {rank}), got {axis}: "
            f"{what} = {axis} not in [{-rank}, {rank}), it is out of range"
        )
    return axis % rank


def require_rank(call: InferCall, index: int, rank: int, what: str) -> None:
    """Fail with `what` if input `index` has another known rank."""
    if call.spec(index).shape.rank not in {None, rank}:
        call.fail(what)
