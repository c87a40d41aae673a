"""Errors of an export: the unsupported ops and nodes, with the user's source lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pinnace.framework.errors import UnimplementedError
from pinnace.graph.graph import Node

_ABOUT_RANKS = ("the rank of", "the length of", "the lengths of")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An op without a counterpart in the format, and its nodes.

    Attributes:
        op: the op's name.
        reason: why it is refused.
        nodes: names of the nodes, each with the line that called it, or None.
    """

    op: str
    reason: str
    nodes: tuple[tuple[str, str | None], ...]

    def as_dict(self) -> dict[str, Any]:
        """The refusal as a dict for JSON."""
        nodes = [{"node": name, "called_at": source} for name, source in self.nodes]
        return {"op": self.op, "reason": self.reason, "nodes": nodes}


class UnconvertibleError(UnimplementedError):
    """The format has no counterpart for this use of an op or loop; the message gives the reason."""


class ExportRefusedError(UnimplementedError):
    """The model has ops without a counterpart in the format.

    Attributes:
        refusals: all of them.
    """

    def __init__(self, message: str, refusals: Sequence[Refusal]) -> None:
        super().__init__(message)
        self.refusals = tuple(refusals)


def refusals_of(nodes: Mapping[tuple[str, str], Sequence[Node]]) -> list[Refusal]:
    """The reasons why ops could not be converted, by op.

    Args:
        nodes: (op, reason) -> the nodes.
    """
    return [
        Refusal(op, reason, tuple((node.name, node.source or None) for node in found))
        for (op, reason), found in sorted(nodes.items())
    ]


def refused(name: str, refusals: Sequence[Refusal], form: str = "ONNX") -> ExportRefusedError:
    """The error for a program with unsupported ops.

    Args:
        name: the program's name.
        refusals: one for each op and reason.
        form: the format's name.
    """
    count = len({one.op for one in refusals})
    lines = [f"export: {count} op{'s' * (count > 1)} of {name!r} cannot be written in {form}"]
    for one in refusals:
        many = len(one.nodes) > 1
        lines.append(f"  {one.op} ({len(one.nodes)} node{'s' * many}): {one.reason}")
        for node, source in one.nodes:
            where = f", called at {source}" if source else ""
            lines.append(f"    node {node!r}{where}")
    return ExportRefusedError("\n".join(lines), refusals)


def with_hint(error: ExportRefusedError) -> ExportRefusedError:
    """The error with the advice to give a sample, if unknown ranks are the reason.

    Args:
        error: returned unchanged for other reasons.
    """
    if not any(word in one.reason for one in error.refusals for word in _ABOUT_RANKS):
        return error
    hint = (
        "\n  Try: sample= with typical inputs: values of unknown rank then get the rank that they "
        "have for it"
    )
    return ExportRefusedError(error.message + hint, error.refusals)
