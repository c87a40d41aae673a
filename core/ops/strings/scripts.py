"""UnicodeScript: the script of each code point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.ops.kernels.script_runs import scripts_of
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import define, same_as_input

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["unicode_script"]


def unicode_script(input: TensorLike, name: str | None = None) -> Tensor:
    """The script of each code point, as a number of ICU's UScriptCode: Latin is 25, Han 17.

    Args:
        input: [...], int32, code points.
        name: name of the node while tracing.

    Returns:
        [...], int32; -1 for invalid code points.
    """
    return UNICODE_SCRIPT.entry(input, name)


UNICODE_SCRIPT = define(
    name="UnicodeScript",
    signature="input: int32 -> output: int32",
    types={},
    infer=same_as_input,
    kernel=scripts_of,
    gradient=NOT_DIFFERENTIABLE,
)
