"""StackedRNNCells: stacked cells as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from pinnace.framework import structure
from pinnace.framework.shapes import Shape
from pinnace.keras import registry
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import constants

if TYPE_CHECKING:
    from collections.abc import Sequence


class StackedRNNCells(Layer):
    """Stacked cells, whose state is the list of the cells' states.

    Args:
        cells: see RNN for what a cell is.
        **options: see Layer.

    Shapes:
        x [b, in], states of all cells → [b, units of the last cell], and as many states.
    """

    def __init__(self, cells: Sequence[Any], **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        for cell in cells:
            for name in ("call", "state_size"):
                if not hasattr(cell, name):
                    raise ValueError(
                        f"StackedRNNCells: a cell must have {name!r}, got {type(cell).__name__}"
                    )
        self.cells = list(cells)

    @property
    def state_size(self) -> list[Any]:
        """The state sizes of each cell."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return _output_size(self.cells[-1])

    def build(self, input_shape: Any) -> None:
        """Create the weights of all cells."""
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build_inside(input_shape)
            input_shape = Shape((structure.flatten(input_shape)[0][0], _output_size(cell)))

    def get_initial_state(self, batch_size: Any = None, **options: Any) -> list[Any]:
        """The initial states of each cell."""
        found = []
        for cell in self.cells:
            make = getattr(cell, "get_initial_state", None)
            if make is not None:
                found.append(make(batch_size=batch_size, **options))
            else:
                kind = options.get("dtype") or self.compute_dtype
                found.append(
                    structure.map_structure(
                        lambda size, kind=kind: constants.zeros([batch_size, size], kind),
                        cell.state_size,
                    )
                )
        return found

    def zero_state(self, batch_size: Any, dtype: Any = None) -> list[Any]:
        """Zero states, by the name of TensorFlow 1's cells."""
        return self.get_initial_state(batch_size, dtype=dtype)

    def call(self, x: Any, states: Any, training: bool = False) -> tuple[Any, Any]:
        """One step through all cells."""
        del training  # a cell that needs it inherits it
        found = []
        for cell, own in zip(self.cells, states, strict=True):
            several = structure.is_nested(own)
            run = cell if callable(cell) else cell.call
            x, new = run(x, own if several else [own])
            if not structure.is_nested(new):
                new = [new]
            found.append(new if several or len(new) > 1 else new[0])
        return x, found

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        cells = [registry.serialize_keras_object(cell) for cell in self.cells]
        return {**super().get_config(), "cells": cells}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """The cells with that configuration."""
        arguments = {
            key: registry.deserialize_keras_object(value, custom_objects)
            for key, value in config.items()
        }
        return cls(**arguments)


def _output_size(cell: Any) -> Any:
    given = getattr(cell, "output_size", None)
    return structure.flatten(cell.state_size)[0] if given is None else given
