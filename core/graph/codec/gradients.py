"""Custom gradients in files: named marks on IdentityN nodes, and functions.

The function of a gradient takes one tensor per output of the node, then its captures: variables and
constants, and tensors in the function that contains the node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pinnace.graph.codec.nodes import OUTPUT_SHAPES
from pinnace.graph.gradients import ATTRIBUTE, CustomGradient
from pinnace.ops.array.identities import IDENTITY_N

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import FunctionRef
    from pinnace.proto.node_def_pb2 import NodeDef


class Within(NamedTuple):
    """A tensor captured by a gradient inside a function: `node:index`, or `argument:0`."""

    function: str
    tensor: str


Captured: TypeAlias = "Within | Callable[[], Tensor]"


class StoredGradient(NamedTuple):
    """The gradient that a file has for nodes of one mark.

    Attributes:
        function: computes it.
        captured: bound to the function's last arguments.
        targets: see `CustomGradient`.
        refusal: why it cannot be used, if it cannot.
    """

    function: FunctionRef | None
    captured: tuple[Captured, ...] = ()
    targets: tuple[tuple[int, int], ...] = ()
    refusal: str = ""


# The mark of nodes whose gradient is not written.
_UNSAVED = "CustomGradient-unsaved"
_UNKNOWN = StoredGradient(
    None,
    refusal="it has a gradient of its own, which was not saved with the model\n"
    "  Try: save it again with SaveOptions(experimental_custom_gradients=True)",
)


def mark_of(message: NodeDef) -> str:
    """The name of a node's custom gradient; empty if it has none.

    Calls have such marks, too: their gradients are those of their functions.
    """
    if message.op != IDENTITY_N.name or ATTRIBUTE not in message.attr:
        return ""
    return message.attr[ATTRIBUTE].s.decode("utf-8", "replace")


class Gradients:
    """The gradients of one file, as far as one function's nodes need them.

    Args:
        stored: by mark.
        function: the name of the function that is decoded.
        nodes: its nodes, by name.
        arguments: the names of its arguments.
    """

    def __init__(
        self,
        stored: Mapping[str, StoredGradient],
        function: str,
        nodes: Mapping[str, NodeDef],
        arguments: Mapping[str, object],
    ) -> None:
        self._stored = stored
        self._function = function
        self._nodes = nodes
        self._arguments = arguments

    def of(self, message: NodeDef) -> StoredGradient | None:
        """The custom gradient of a node; None if it has none."""
        mark = mark_of(message)
        if not mark:
            return None
        found = self._stored.get(mark, _UNKNOWN)
        why = self._unusable(found)
        return StoredGradient(None, refusal=why) if why else found

    def _unusable(self, gradient: StoredGradient) -> str:
        if gradient.refusal:
            return gradient.refusal
        for one in gradient.captured:
            if isinstance(one, Within):
                name, _, index = one.tensor.partition(":")
                known = name in self._nodes or (name in self._arguments and index in ("", "0"))
                if one.function != self._function or not known or not (index or "0").isdecimal():
                    return (
                        f"its gradient uses {one.tensor!r} of function {one.function!r}, which "
                        f"{self._function!r} does not have"
                    )
        return ""

    def needed(self, message: NodeDef) -> list[str]:
        """The nodes and arguments whose tensors a node's gradient captures."""
        found = self.of(message)
        if found is None:
            return []
        return [one.tensor.partition(":")[0] for one in found.captured if isinstance(one, Within)]


def mark(gradient: StoredGradient, name: str, passed: int) -> CustomGradient:
    """The mark of a node that passes this many inputs through."""
    return CustomGradient.made(
        name,
        gradient.function,
        seeds=passed,
        passed=passed,
        captured=[None if isinstance(one, Within) else one for one in gradient.captured],
        targets=gradient.targets,
        refusal=gradient.refusal,
    )


def encode_mark(message: NodeDef, custom: CustomGradient, name: str | None) -> None:
    """Convert the message of a marked node to the form in files.

    Args:
        message: passes through all inputs of the node.
        custom: its gradient.
        name: the mark under which the file has the gradient; None if it has not.
    """
    inputs = list(message.input)
    kinds = len(message.attr["T"].list.type)
    controls = inputs[kinds:]
    del message.input[:]
    message.input.extend([*inputs[: custom.passed], *controls])
    del message.attr["T"].list.type[custom.passed :]
    if OUTPUT_SHAPES in message.attr:
        del message.attr[OUTPUT_SHAPES].list.shape[custom.passed :]
    message.attr[ATTRIBUTE].s = (name or _UNSAVED).encode()
