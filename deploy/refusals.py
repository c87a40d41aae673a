"""Errors of an export: which ops and nodes a format cannot hold, with the user's lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pinnace.framework.errors import UnimplementedError

_ABOUT_RANKS = ("the rank of", "how many axes")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An op that has no counterpart, where it stands.

    Attributes:
        op: its name.
        reason: why.
        nodes: names of the nodes, each with the line that called it, if that is known.
    """

    op: str
    reason: str
    nodes: tuple[tuple[str, str | None], ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        nodes = [{"node": name, "called_at": source} for name, source in self.nodes]
        return {"op": self.op, "reason": self.reason, "nodes": nodes}


class UnconvertibleError(UnimplementedError):
    """The format has no counterpart for this use of an op, or of a loop; the message says why."""


class ExportRefusedError(UnimplementedError):
    """The model has ops that the format has no counterpart for.

    Attributes:
        refusals: all of them.
    """

    def __init__(self, message: str, refusals: Sequence[Refusal]) -> None:
        super().__init__(message)
        self.refusals = tuple(refusals)


def refused(name: str, refusals: Sequence[Refusal], form: str = "ONNX") -> ExportRefusedError:
    """The error for a program's ops.

    Args:
        name: of the program.
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
    """The refusal of a program with values of unknown rank, which a sample would tell.

    Args:
        error: as it is if ranks are not the reason.
    """
    if not any(word in one.reason for one in error.refusals for word in _ABOUT_RANKS):
        return error
    hint = (
        "\n  Try: sample= with inputs of the kind to come: values inside, whose number of axes is "
        "unknown, have as many as there"
    )
    return ExportRefusedError(error.message + hint, error.refusals)
