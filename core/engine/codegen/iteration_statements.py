"""The statements of an iteration of a loop.

An iteration that numbers forbid, such as an index out of range, is left to the plan, unless
something is written in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.row_statements import RowStatements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value


class IterationStatements(RowStatements):
    """The statements of an iteration.

    Args:
        sizes: the shape of each value of an iteration.
        scalars: names of the scalars in registers, by value.
        known: what is the same at every call with these sizes, besides constants.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        scalars: Mapping[Value, str],
        known: Mapping[Value, Array],
    ) -> None:
        super().__init__(sizes, known, scalars)

    def _give_up(self, condition: str, indent: str) -> list[str]:
        if not self.may_leave:
            raise UnsupportedError("an iteration that is left when something is written")
        return [f"{indent}{line}" for line in (f"if {condition}:", "    q[-1] = 1", "    leave()")]
