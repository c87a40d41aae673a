"""Standalone modules as functions: files of `jax.export`, or bytecode alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.trackable import Trackable
from pinnace.functions.function import function
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from pinnace.saved_model.stablehlo.exported import MAGIC, Exported, decode_exported
from pinnace.saved_model.stablehlo.lowering.operands import ops
from pinnace.saved_model.stablehlo.xla_call import traced_module
from pinnace.saved_model.writing import save

if TYPE_CHECKING:
    import os

    from pinnace.framework.tensor import Tensor
    from pinnace.functions.concrete import ConcreteFunction


def function_of(data: bytes) -> ConcreteFunction:
    """Return a module as a function from inputs by name to outputs by name.

    Bytecode alone has no names: its inputs are `arg0` and so on, its outputs `output_0`. A file of
    `jax.export` has those of dictionaries and keywords.

    Args:
        data: the file's content.

    Raises:
        InvalidArgumentError: it is not a module.
        UnimplementedError: an op has no translation.
    """
    exported = None if data.startswith(MAGIC) else decode_exported(data)
    module = data if exported is None else exported.module
    platforms = () if exported is None else exported.platforms
    body = traced_module(module, [name.upper().encode() for name in platforms], ())
    taken = [value.spec for value in body.graph.inputs]
    if exported is None:
        exported = _described(taken, len(body.outputs))
    specs = _specs(exported, taken)
    if len(exported.outputs) != len(body.outputs):
        raise InvalidArgumentError(
            f"jax.export file: the module returns {len(body.outputs)} values, "
            f"{len(exported.outputs)} are declared"
        )

    def serve(*given: Tensor) -> dict[str, Tensor]:
        kind = STATEFUL_PARTITIONED_CALL if body.stateful else PARTITIONED_CALL
        found = ops(
            kind.name,
            [given[index] for index in exported.kept],
            f=body.ref,
            Tout=tuple(value.dtype for value in body.outputs),
        )
        return dict(zip(exported.outputs, found, strict=True))

    made: Any = function(serve, input_signature=specs, autograph=False)
    concrete: ConcreteFunction = made.get_concrete_function()
    return concrete


def save_standalone(data: bytes, folder: str | os.PathLike[str]) -> None:
    """Write a module as a SavedModel with one signature, `serving_default`.

    Args:
        data: the file's content.
        folder: the SavedModel's folder.

    Raises:
        InvalidArgumentError: it is not a module.
        UnimplementedError: an op has no translation.
    """
    save(Trackable(), folder, {DEFAULT_SERVING_SIGNATURE_DEF_KEY: function_of(data)})


def _described(taken: list[TensorSpec], given: int) -> Exported:
    """Describe bytecode alone: inputs and outputs by number."""
    inputs = {f"arg{index}": spec for index, spec in enumerate(taken)}
    names = tuple(f"output_{index}" for index in range(given))
    return Exported("main", inputs, names, tuple(range(len(taken))), (), b"")


def _specs(exported: Exported, taken: list[TensorSpec]) -> list[TensorSpec]:
    """The input specs: those of the module, or for unused inputs the declared ones."""
    if len(exported.kept) != len(taken):
        raise InvalidArgumentError(
            f"jax.export file: the module takes {len(taken)} values, {len(exported.kept)} "
            "are declared"
        )
    of_module = dict(zip(exported.kept, taken, strict=True))
    found = []
    for index, (name, described) in enumerate(exported.inputs.items()):
        spec = of_module.get(index, described)
        found.append(TensorSpec(spec.shape, spec.dtype, name))
    return found
