"""Wrappers of cells: dropout, residual connections, devices.

`tf.nn.RNNCellDropoutWrapper` and similar classes; they are here because a cell is a layer.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Self

from pinnace.framework import structure
from pinnace.framework.devices import device as on_device
from pinnace.framework.shapes import Shape
from pinnace.keras import registry
from pinnace.keras.layer import Layer
from pinnace.keras.layers.recurrent.lstm import LSTMCell
from pinnace.ops.math import arithmetic, rounding
from pinnace.ops.nn.dropouts import dropout
from pinnace.ops.random import stateful

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

__all__ = ["RNNCellDeviceWrapper", "RNNCellDropoutWrapper", "RNNCellResidualWrapper"]


class _CellWrapper(Layer):
    """The base class of wrappers around a cell, with the cell's states."""

    def __init__(self, cell: Any, **options: Any) -> None:
        super().__init__(**options)
        whole = all(hasattr(cell, name) for name in ("output_size", "state_size"))
        if not (whole and callable(cell)):
            raise TypeError(
                f"{type(self).__name__}: cell must be a cell of a recurrent layer, with "
                f"output_size and state_size, got {type(cell).__name__}"
            )
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """The sizes of its states."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of its output."""
        return self.cell.output_size

    def build(self, input_shape: Any) -> None:
        """Create the wrapped cell's weights."""
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build_inside(input_shape)

    def get_initial_state(self, batch_size: Any = None, **options: Any) -> Any:
        """The states to begin with."""
        return self.cell.get_initial_state(batch_size=batch_size, **options)

    def zero_state(self, batch_size: Any, dtype: Any = None) -> Any:
        """States of zeros, by the name that TensorFlow 1's cells had for it."""
        return self.get_initial_state(batch_size, dtype=dtype)

    def call(self, x: Any, states: Any, training: bool = False) -> tuple[Any, Any]:
        """One step: the cell's modified output, and its new states."""
        del training  # a cell that needs it inherits it
        return self._around(x, states)

    def _around(self, x: Any, states: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**super().get_config(), "cell": registry.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """The cell with that configuration."""
        made = registry.deserialize_keras_object(config["cell"], custom_objects)
        return cls(**{**config, "cell": made})


class RNNCellDropoutWrapper(_CellWrapper):
    """A cell with dropout of its inputs, states and outputs, whether it is trained or not.

    Args:
        cell: the cell inside.
        input_keep_prob: share of the inputs that stay, a number or a scalar tensor.
        output_keep_prob: share of the outputs that stay.
        state_keep_prob: share of the new states that stay.
        variational_recurrent: whether the same elements are dropped in every step; they are drawn
            when this is made.
        input_size: sizes of the inputs without the batch, with `variational_recurrent` where inputs
            are dropped.
        dtype: of inputs, states and outputs, with `variational_recurrent`.
        seed: of what is drawn.
        dropout_state_filter_visitor: gives, for the states, which are dropped from: a structure of
            bools; None drops from all.
        **options: see Layer.

    Shapes:
        x [b, in], states → those of the cell inside.

    Raises:
        TypeError: `cell` is no cell, or the visitor cannot be called.
        ValueError: a share is not in [0, 1], or dtype or input_size are needed.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        if isinstance(cell, LSTMCell):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                "RNNCellDropoutWrapper: keras LSTM cell does not work with DropoutWrapper, whose "
                "states it would drop\n"
                "  Try: LSTMCell(dropout=x, recurrent_dropout=y)"
            )
        super().__init__(cell, **options)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError(
                "RNNCellDropoutWrapper: dropout_state_filter_visitor must be callable, got "
                f"{dropout_state_filter_visitor!r}"
            )
        shares = {
            "input_keep_prob": input_keep_prob,
            "state_keep_prob": state_keep_prob,
            "output_keep_prob": output_keep_prob,
        }
        for name, share in shares.items():
            if isinstance(share, (int, float)) and not 0 <= share <= 1:
                raise ValueError(f"RNNCellDropoutWrapper: {name} must be from 0 to 1, got {share}")
        self._shares = shares
        self._variational = variational_recurrent
        self._input_size = input_size
        self._drawn_dtype = dtype
        self._seed = seed
        self._visitor = dropout_state_filter_visitor
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            self._draw()

    def _draw(self) -> None:
        """The noise of all steps."""
        if self._drawn_dtype is None:
            raise ValueError(
                "RNNCellDropoutWrapper: When variational_recurrent=True, dtype must be provided"
            )
        sizes = {
            "input": self._input_size,
            "state": self.cell.state_size,
            "output": self.cell.output_size,
        }
        for what, size in sizes.items():
            if not self._drops(what):
                continue
            if size is None:
                raise ValueError(
                    "RNNCellDropoutWrapper: When variational_recurrent=True and input_keep_prob < "
                    "1.0 or is unknown, input_size must be provided"
                )
            self._noise[what] = structure.map_structure(
                lambda one, what=what: self._uniform(what, one), _sizes(size)
            )

    def _uniform(self, what: str, size: Shape) -> Tensor:
        wanted = [1, *size.as_list()]
        return stateful.uniform(wanted, dtype=self._drawn_dtype, seed=self._seed_of(what, 0))

    def _drops(self, what: str) -> bool:
        share = self._shares[f"{what}_keep_prob"]
        return not isinstance(share, (int, float)) or share < 1

    def _seed_of(self, what: str, index: int) -> int | None:
        if self._seed is None:
            return None
        # TensorFlow's seeds: the same one drops the same elements.
        text = f"{self._seed}{what}_{index}".encode()
        found = hashlib.md5(text, usedforsecurity=False).digest()
        return int.from_bytes(found[:4], "big") & 0x7FFFFFFF

    def _dropped(self, what: str, values: Any, chosen: Any = None) -> Any:
        """The values with some of them dropped, the others larger by as much."""
        share = self._shares[f"{what}_keep_prob"]
        leaves = structure.flatten(values)
        takes = [True] * len(leaves) if chosen is None else structure.flatten(chosen)
        noise = structure.flatten(self._noise.get(what, [None] * len(leaves)))
        found = []
        for index, (value, drop, drawn) in enumerate(zip(leaves, takes, noise, strict=True)):
            if not drop:
                found.append(value)
            elif drawn is None:
                rate = 1 - share
                found.append(dropout(value, rate=rate, seed=self._seed_of(what, index)))
            else:
                kept = rounding.floor(drawn + share)
                found.append(arithmetic.multiply(value / share, kept))
        return structure.pack_sequence_as(values, found)

    def _around(self, x: Any, states: Any) -> tuple[Any, Any]:
        if self._drops("input"):
            x = self._dropped("input", x)
        out, new = self.cell(x, states)
        if self._drops("state"):
            chosen = None if self._visitor is None else self._visitor(new)
            if isinstance(chosen, bool):
                chosen = structure.map_structure(lambda _: chosen, new)
            new = self._dropped("state", new, chosen)
        if self._drops("output"):
            out = self._dropped("output", out)
        return out, new

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        if self._visitor is not None:
            raise ValueError(
                "RNNCellDropoutWrapper: a dropout_state_filter_visitor cannot be written down"
            )
        return {
            **super().get_config(),
            **self._shares,
            "variational_recurrent": self._variational,
            "input_size": self._input_size,
            "seed": self._seed,
            "dtype": self._drawn_dtype,
        }


def _sizes(size: Any) -> Any:
    """A cell's sizes as shapes: an int is one axis."""
    if isinstance(size, (list, tuple)):
        return [_sizes(one) for one in size]
    return size if isinstance(size, Shape) else Shape((int(size),))


class RNNCellResidualWrapper(_CellWrapper):
    """A cell whose inputs are added to its outputs.

    Args:
        cell: the cell inside.
        residual_fn: makes the output of inputs and the cell's output; None adds them.
        **options: see Layer.

    Shapes:
        x [b, n], states → [b, n], and states: the cell gives as much as it takes.
    """

    def __init__(
        self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **options: Any
    ) -> None:
        super().__init__(cell, **options)
        self._residual = residual_fn

    def _around(self, x: Any, states: Any) -> tuple[Any, Any]:
        out, new = self.cell(x, states)
        if self._residual is not None:
            return self._residual(x, out), new
        structure.assert_same_structure(x, out)
        for one, other in zip(structure.flatten(x), structure.flatten(out), strict=True):
            if not one.shape.is_compatible_with(other.shape):
                raise ValueError(
                    "RNNCellResidualWrapper: outputs must have the shape of inputs, got "
                    f"{other.shape} and {one.shape}\n"
                    "  Try: residual_fn, which makes them alike"
                )
        return structure.map_structure(lambda one, other: one + other, x, out), new

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        if self._residual is not None:
            raise ValueError("RNNCellResidualWrapper: a residual_fn cannot be written down")
        return super().get_config()


class RNNCellDeviceWrapper(_CellWrapper):
    """A cell that runs on a device.

    Args:
        cell: the cell inside.
        device: its name, as `tf.device` takes it.
        **options: see Layer.

    Shapes:
        x [b, in], states → those of the cell inside.
    """

    def __init__(self, cell: Any, device: Any, **options: Any) -> None:
        super().__init__(cell, **options)
        self._device = device

    def get_initial_state(self, batch_size: Any = None, **options: Any) -> Any:
        """The states to begin with."""
        with on_device(self._device):
            return super().get_initial_state(batch_size, **options)

    def _around(self, x: Any, states: Any) -> tuple[Any, Any]:
        with on_device(self._device):
            return self.cell(x, states)  # type: ignore[no-any-return]  # what cells give

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**super().get_config(), "device": self._device}
