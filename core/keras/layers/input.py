"""Input and InputLayer: the inputs of a functional model."""

from __future__ import annotations

import warnings
from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.keras import dtype_policy
from pinnace.keras.layer import Layer
from pinnace.keras.symbolic import KerasTensor, Node


class InputLayer(Layer):
    """The entry point of a model: its symbolic input.

    Args:
        shape: without the batch axis.
        batch_size: size of the batch axis, None if it is open.
        dtype: dtype of the input; `floatx()` if None, under any policy.
        sparse: whether it is a SparseTensor; otherwise a model converts its inputs to dense ones.
        ragged: whether it is a RaggedTensor; the spec shows it to layers.
        batch_shape: shape with the batch axis, instead of `shape`.
        input_tensor: a KerasTensor to begin with.
        optional: whether a model may be called with None in its place.
        name: name of the layer, and of the input in signatures.
        **kwargs: `input_shape` and `batch_input_shape`, the older names; see Layer.

    Shapes:
        [batch_size, *shape] → the same.

    Raises:
        ValueError: neither or both of shape and batch_shape; both sparse and ragged.
    """

    def __init__(
        self,
        shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        sparse: bool | None = None,
        ragged: bool | None = None,
        batch_shape: Any = None,
        input_tensor: KerasTensor | None = None,
        optional: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        given = kwargs.pop("input_shape", None)
        if given is not None:
            warnings.warn(
                "Argument `input_shape` is deprecated. Use `shape` instead.", stacklevel=2
            )
        shape = given if shape is None else shape
        older = kwargs.pop("batch_input_shape", None)
        batch_shape = older if batch_shape is None else batch_shape
        super().__init__(name=name, **kwargs)
        self.optional = optional
        if input_tensor is not None:
            _check_tensor(input_tensor, shape, batch_size, batch_shape)
            _check_form(input_tensor, dtype=dtype, sparse=sparse, ragged=ragged)
            shape, batch_size = None, None
            batch_shape, dtype = input_tensor.spec.shape.dims, input_tensor.dtype
            sparse, ragged = input_tensor.sparse, input_tensor.ragged
        for what, value in (("shape", shape), ("batch_size", batch_size)):
            if value is not None and batch_shape is not None:
                raise ValueError(
                    f"Input: You cannot pass both `{what}` and `batch_shape` at the same time, "
                    f"got {value} and {batch_shape}"
                )
        if shape is None and batch_shape is None:
            raise ValueError("Input: You must pass a `shape` argument.")
        if shape is not None:
            sizes = (shape,) if isinstance(shape, int) else tuple(shape)
            batch_shape = (batch_size, *sizes)
        self.batch_shape = tuple(Shape(batch_shape))
        self._input_dtype = dtypes.as_dtype(dtype or dtype_policy.floatx())
        self._given_name = name
        node = Node(self, (), {})
        self.sparse, self.ragged = bool(sparse), bool(ragged)
        tensor = input_tensor
        if tensor is None:
            tensor = KerasTensor(
                self.batch_shape,
                self._input_dtype,
                sparse=self.sparse,
                ragged=self.ragged,
                name=name,
            )
        tensor.node = node
        node.outputs = tensor
        self._inbound_nodes.append(node)
        self._build_at_init()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_inbound_nodes": self._inbound_nodes[:1]}

    @property
    def dtype(self) -> str:
        """The name of the dtype of the input."""
        return self._input_dtype.name

    def call(self, *args: Any, **kwargs: Any) -> None:
        """None: an input layer computes nothing."""
        del args, kwargs

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("batch_shape", "dtype", "sparse", "ragged", "name", "optional")
        return {name: getattr(self, name) for name in names}


def _check_tensor(tensor: Any, shape: Any, batch_size: Any, batch_shape: Any) -> None:
    """Raise for arguments that contradict the tensor of an input.

    Raises:
        ValueError: the tensor is no KerasTensor, or has another shape.
    """
    if not isinstance(tensor, KerasTensor):
        raise ValueError(  # noqa: TRY004 (Keras raises it too)
            f"Input: Argument `input_tensor` must be a KerasTensor, got {type(tensor).__name__}"
        )
    own = tensor.shape
    wanted = (
        ("shape", None if shape is None else Shape(shape), own[1:]),
        ("batch_size", None if batch_size is None else Shape((batch_size,)), own[:1]),
        ("batch_shape", None if batch_shape is None else Shape(batch_shape), own),
    )
    for name, given, its in wanted:
        if given is not None and not Shape(its).is_compatible_with(given):
            raise ValueError(
                f"Input: with an `input_tensor` you cannot provide an incompatible `{name}`: the "
                f"tensor's is {tuple(its)}, got {tuple(given)}"
            )


def _check_form(tensor: KerasTensor, **given: Any) -> None:
    """Raise for a dtype or form that is not that of the input's tensor.

    Raises:
        ValueError: one is not.
    """
    for name, value in given.items():
        own = getattr(tensor, name)
        if value is not None and own != (
            dtypes.as_dtype(value) if name == "dtype" else bool(value)
        ):
            raise ValueError(
                f"Input: with an `input_tensor` you cannot provide an incompatible `{name}`: the "
                f"tensor's is {own}, got {value}"
            )


def Input(  # noqa: N802 (Keras' name)
    shape: Any = None,
    batch_size: int | None = None,
    dtype: Any = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
    batch_shape: Any = None,
    name: str | None = None,
    tensor: KerasTensor | None = None,
    optional: bool = False,
    **kwargs: Any,
) -> KerasTensor:
    """A KerasTensor to call layers on: an input of a functional model.

    Args:
        shape: without the batch axis.
        batch_size: size of the batch axis, None if it is open.
        dtype: dtype of the input.
        sparse: whether it is a SparseTensor.
        ragged: whether it is a RaggedTensor.
        batch_shape: shape with the batch axis, instead of `shape`.
        name: name of the input in signatures.
        tensor: a KerasTensor to begin with.
        optional: whether a model may be called with None in its place.
        **kwargs: see InputLayer.
    """
    layer = InputLayer(
        shape=shape,
        batch_size=batch_size,
        dtype=dtype,
        sparse=sparse,
        ragged=ragged,
        batch_shape=batch_shape,
        name=name,
        input_tensor=tensor,
        optional=optional,
        **kwargs,
    )
    return layer.output  # type: ignore[no-any-return]
