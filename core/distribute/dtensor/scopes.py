"""The mesh of a block: what runs in it without a mesh of its own is on that one."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from pinnace.distribute.dtensor.layout import Layout
from pinnace.distribute.dtensor.mesh import Mesh
from pinnace.distribute.dtensor.values import lay_out
from pinnace.framework import layouts
from pinnace.framework.context import carried, state
from pinnace.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Present(threading.local):
    mesh: Mesh | None = None


_present = _Present()
carried(_present)


def present_mesh() -> Mesh | None:
    """The mesh of the innermost block of this thread, None outside of all."""
    return _present.mesh


class _Observer:
    """A tape of no gradients: what ops give in the block of a mesh is on that mesh."""

    def record(
        self, op: Any, inputs: tuple[Any, ...], attrs: dict[str, Any], outputs: tuple[Any, ...]
    ) -> None:
        """Give results that have no layout one."""
        del op, inputs, attrs
        mesh = _present.mesh
        if mesh is not None:
            for tensor in outputs:
                if type(tensor) is Tensor:
                    lay_out(tensor, Layout.replicated(mesh, tensor._array.ndim))

    def record_call(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], backward: Any
    ) -> None:
        """Nothing: calls of functions lay their results out."""

    def record_customised(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Any,
        computed: Any,
    ) -> None:
        """Nothing: what was computed has been seen."""

    def watch_variable(self, variable: Any) -> None:
        """Nothing: reading lays out."""

    def watches(self, tensor: Any) -> bool:
        """It asks for no gradient."""
        del tensor
        return False

    persistent = False


@contextlib.contextmanager
def default_mesh(mesh: Mesh) -> Iterator[None]:
    """A block whose ops are on a mesh where their inputs are on none.

    Args:
        mesh: the mesh.

    Raises:
        ValueError: it is no Mesh.
    """
    if not isinstance(mesh, Mesh):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            f"Expect `mesh` to be `Mesh`, got {type(mesh)}"
        )
    layouts.begin()
    saved, _present.mesh = _present.mesh, mesh
    tapes = state.tapes
    if state.tracer is None:
        state.tapes = (_observer, *(tape for tape in tapes if tape is not _observer))
    try:
        yield
    finally:
        _present.mesh = saved
        if saved is None:
            state.tapes = tuple(tape for tape in state.tapes if tape is not _observer)


_observer = _Observer()


def on_present_mesh(tensor: Tensor) -> Tensor:
    """A tensor that nobody else holds yet; on the mesh of the block, if one is run."""
    _observer.record(None, (), {}, (tensor,))
    return tensor
