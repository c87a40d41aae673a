"""The gate between a loaded model and everything outside of the process.

A user's own program may use files, the terminal and Python freely. A graph from a file is
untrusted: each of its ops passes this check once, when it is decoded, whatever runs it later. The
definition of an op says what it reaches (`OpDef.reaches`); a test runs every op of the registry
under an audit hook, so that none reaches anything undeclared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from pinnace.framework.errors import PermissionDeniedError
from pinnace.ops.opdef import NOT_DIFFERENTIABLE

if TYPE_CHECKING:
    from pinnace.ops.opdef import Attrs, OpDef


def admitted(op: OpDef, attrs: Attrs) -> OpDef:
    """`op` in the form allowed for untrusted loaded models.

    Args:
        op: the op that a node of the model asks for.
        attrs: the node's, with defaults.

    Returns:
        `op` itself if it reaches nothing outside of the process; else one of the same name that
        only does its harmless part, or refuses to run.
    """
    reach = op.reach(attrs)
    if not reach:
        return op
    if op.guarded is not None:
        return replace(op, kernel=op.guarded)
    # Without a gradient: it could call the same op as created by a program, which is not guarded.
    return replace(op, kernel=_refusal(op.name, reach), gradient=NOT_DIFFERENTIABLE)


def refuse(op: str, reach: str) -> NoReturn:
    """Raise an error: a loaded model is not allowed to do this.

    Raises:
        PermissionDeniedError: always.
    """
    raise PermissionDeniedError(
        f"{op}: a loaded model may not reach {reach}\n"
        "  Try: saved_model.load(path, options=saved_model.LoadOptions(allow_io=True)), or "
        "--allow-io at the command line: the model may then read and write all files that this "
        "process may, and run its Python functions; only if you trust who made it"
    )


def _refusal(name: str, reach: str) -> Any:
    def kernel(*_arrays: Any) -> None:
        refuse(name, reach)

    return kernel
