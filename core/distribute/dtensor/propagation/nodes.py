"""The layouts of an op's outputs, by the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.distribute.dtensor.layout import UNSHARDED, Layout
from pinnace.distribute.dtensor.propagation import elementwise as _elementwise
from pinnace.distribute.dtensor.propagation import products as _products
from pinnace.distribute.dtensor.propagation import reductions as _reductions
from pinnace.distribute.dtensor.propagation import shaping as _shaping
from pinnace.distribute.dtensor.propagation import slicing as _slicing
from pinnace.distribute.dtensor.propagation.calls import Call, found_rule, whole
from pinnace.framework.errors import UnknownError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.distribute.dtensor.mesh import Mesh
    from pinnace.distribute.dtensor.propagation.calls import Operand, Sizes, Specs
    from pinnace.ops.opdef import OpDef

# The modules whose rules register themselves.
_RULES = (_elementwise, _products, _reductions, _shaping, _slicing)


def output_specs(call: Call) -> list[Specs]:
    """The specs of each output: by the op's rule, whole where there is none."""
    rule = found_rule(call.op)
    if rule is None:
        return [whole(len(sizes)) for sizes in call.sizes]
    given: Any = rule(call)
    each = given if isinstance(given, list) else [given] * len(call.sizes)
    return [
        specs if len(specs) == len(sizes) else whole(len(sizes))
        for specs, sizes in zip(each, call.sizes, strict=True)
    ]


def divisible(specs: Specs, sizes: Sizes, mesh: Mesh) -> Specs:
    """The specs, without those that do not divide their axis evenly."""
    return tuple(
        spec if spec == UNSHARDED or size is None or size % mesh.dim_size(spec) == 0 else UNSHARDED
        for spec, size in zip(specs, sizes, strict=True)
    )


def one_mesh(what: str, found: Sequence[Layout | None]) -> Mesh | None:
    """The mesh of all layouts, None if there is no layout.

    Raises:
        UnknownError: there are two.
    """
    mesh = None
    for layout in found:
        if layout is None:
            continue
        if mesh is not None and layout.mesh is not mesh and layout.mesh != mesh:
            raise UnknownError(
                f"{what}: op failed during mesh propagation. All inputs to `tf_device.Cluster` "
                f"must have same mesh configuration. List of found inputs:\n  {mesh.to_string()}\n"
                f"  {layout.mesh.to_string()}\n  Try: copy_to_mesh, to have all on one mesh"
            )
        mesh = layout.mesh
    return mesh


def placed(
    op: OpDef,
    operands: Sequence[Operand],
    attrs: dict[str, Any],
    sizes: Sequence[Sizes],
    mesh: Mesh,
) -> list[Layout]:
    """The layouts of an op's outputs on a mesh."""
    call = Call(op, tuple(operands), attrs, tuple(sizes))
    return [
        Layout(divisible(specs, each, mesh), mesh)
        for specs, each in zip(output_specs(call), sizes, strict=True)
    ]
