"""Function: a callable graph of layers and operations between KerasTensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras.models.topology import Topology
from pinnace.keras.operation import Operation
from pinnace.keras.symbolic import spec_of

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer
    from pinnace.keras.symbolic import KerasTensor


class Function(Operation):
    """The function from `inputs` to `outputs`: a functional model without training.

    Args:
        inputs: KerasTensors in any structure, at least one.
        outputs: KerasTensors that were computed from them, in any structure.
        name: unique if None.

    Raises:
        ValueError: no inputs or no outputs; an output that needs another input.
    """

    _untracked = frozenset({"_topology"})

    def __init__(self, inputs: Any, outputs: Any, name: str | None = None) -> None:
        for what, given in (("inputs", inputs), ("outputs", outputs)):
            if not structure.flatten(given):
                raise ValueError(f"Function: `{what}` argument cannot be empty, got {given!r}")
        super().__init__(name=name)
        self._topology = Topology(inputs, outputs)

    @property
    def inputs(self) -> list[KerasTensor]:
        """The input KerasTensors, flat."""
        return self._topology.flat_inputs

    @property
    def outputs(self) -> list[KerasTensor]:
        """The output KerasTensors, flat."""
        return self._topology.flat_outputs

    @property
    def operations(self) -> list[Layer]:
        """The layers and operations between inputs and outputs, and the input layers."""
        return self._topology.layers()

    def call(self, inputs: Any) -> Any:
        """The outputs for these inputs.

        Args:
            inputs: in the structure of the Function's.

        Raises:
            ValueError: wrong structure or shape.
        """
        self._check(inputs)
        return self._topology.run(inputs)

    def compute_output_spec(self, inputs: Any) -> Any:
        """The TensorSpecs of the outputs for inputs known by shape and dtype.

        Args:
            inputs: KerasTensors or TensorSpecs, in the structure of the Function's.
        """
        self._check(inputs)
        given, own = structure.flatten(inputs), self.inputs
        if all(x.shape == y.shape for x, y in zip(given, own, strict=True)):
            return structure.map_structure(spec_of, self._topology.outputs)
        return super().compute_output_spec(inputs)

    def get_config(self) -> dict[str, Any]:
        """Raises an error: a Function has no configuration.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "Function.get_config: it has no configuration\n  Try: keras.Model(inputs, outputs)"
        )

    def _check(self, inputs: Any) -> None:
        try:
            structure.assert_same_structure(self._topology.inputs, inputs)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "Function was called with an invalid input structure: expected that of "
                f"{self._topology.inputs!r}, got {inputs!r:.200}"
            ) from error
        for x, own in zip(structure.flatten(inputs), self.inputs, strict=True):
            shape = getattr(x, "shape", None)
            if shape is not None and not own.spec.shape.is_compatible_with(shape):
                raise ValueError(
                    f"{self._described()} was passed incompatible inputs: {own.name!r} must have "
                    f"shape {own.spec.shape.text}, got {list(shape)}"
                )
