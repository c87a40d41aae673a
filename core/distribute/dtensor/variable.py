"""DVariable: a variable whose values all have one layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.distribute.dtensor.values import (
    check_fits,
    laid_out_array,
    lay_out,
    layout_of,
    values_text,
)
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import bfloat16
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import SymbolicTensor, wrap
from pinnace.framework.variable import Variable
from pinnace.ops.execute import execute_one
from pinnace.ops.state.variables import READ_VARIABLE

if TYPE_CHECKING:
    from pinnace.distribute.dtensor.layout import Layout
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor


class DVariable(Variable):
    """A variable with a layout: that of its first value, which every later value gets too.

    Args:
        initial_value: a tensor with a layout, or a function that gives one; any value if `layout`
            is given.
        *args: as of `Variable`.
        dtype: element type; that of the initial value if None.
        **kwargs: as of `Variable`; and `layout`, for an initial value without one.

    Raises:
        InvalidArgumentError: no layout is given, or another one than the initial value's.
    """

    # Reading it is more than reading one resource: the value gets the layout.
    _is_spread = True

    def __init__(self, initial_value: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> None:
        layout: Layout | None = kwargs.pop("layout", None)
        value = initial_value() if callable(initial_value) else initial_value
        tensor = convert_to_tensor(value, dtype)
        found = layout_of(tensor)
        if found is not None and layout is not None and found != layout:
            raise InvalidArgumentError(
                f"Conflicting layout are provided for initial value layout ({found}) and variable "
                f"({layout})."
            )
        layout = found if layout is None else layout
        if layout is None:
            raise InvalidArgumentError(
                "Neither layout nor DTensor initial value are provided: got "
                f"{tensor!r}\n  Try: DVariable(value, layout=...), or copy_to_mesh first"
            )
        if not isinstance(tensor, SymbolicTensor):
            check_fits("DVariable", tensor._array.shape, layout)
            tensor = wrap(tensor._array, tensor.dtype)
        super().__init__(tensor, *args, **{**kwargs, "dtype": dtype})
        lay_out(self._handle, layout)
        self._save_as_bf16 = False

    @property
    def layout(self) -> Layout:
        """The layout of its values."""
        handle: Any = self._handle
        found: Layout = handle._layout
        return found

    @property
    def device(self) -> str:
        """The device that stands for the devices of all meshes."""
        return self._handle.device

    @property
    def save_as_bf16(self) -> bool:
        """Whether checkpoints keep it as bfloat16."""
        return self._save_as_bf16

    @save_as_bf16.setter
    def save_as_bf16(self, save_as_bf16: bool) -> None:
        self._save_as_bf16 = bool(save_as_bf16) and self.dtype.name == "float32"

    def value(self) -> Tensor:
        """The present value, with the layout."""
        tapes = state.tapes
        for tape in tapes:
            tape.watch_variable(self)
        if state.tracer is not None:
            return execute_one(READ_VARIABLE, self.handle, dtype=self._resource.dtype)
        value = laid_out_array(self._resource.read(), self.layout)
        for tape in tapes:
            tape.record(READ_VARIABLE, (self.handle,), {"dtype": self._resource.dtype}, (value,))
        return value

    def read_value(self) -> Tensor:
        """The present value, with the layout."""
        return self.value()

    def numpy(self) -> Any:
        """The present value as a NumPy array, of a variable that every device has whole.

        Raises:
            UnimplementedError: it is divided; `unpack` gives the parts.
        """
        return self.value().numpy()

    @property
    def stored_dtype(self) -> DType:
        """The element type of what checkpoints keep."""
        return bfloat16 if self._save_as_bf16 else self.dtype

    def stored_value(self) -> Array:
        """What checkpoints and SavedModels keep."""
        value = self._resource.read()
        return value.astype(bfloat16.numpy) if self._save_as_bf16 else value

    def restore_value(self, value: Array) -> None:
        """Take what was kept."""
        own = self._resource.dtype.numpy
        self._resource.write(np.asarray(value, own) if self._save_as_bf16 else value)

    def __deepcopy__(self, memo: dict[int, object]) -> DVariable:
        copy: Any = super().__deepcopy__(memo)
        lay_out(copy._handle, self.layout)
        copy._save_as_bf16 = self._save_as_bf16
        return copy  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        resource = self._resource
        text = values_text(resource.read(), self.layout)
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, "
            f'value={text}, layout="{self.layout.to_string()}">'
        )
