"""KerasTensor: a symbolic output of a layer in a functional model, and its call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Unpack

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.no_effect import no_effect
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.keras.forms import RaggedOptions, is_ragged, is_sparse, spec_of_form
from pinnace.keras.names import unique_name

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape


class Node:
    """One call of a layer on KerasTensors.

    Attributes:
        layer: the called layer.
        args: positional arguments, KerasTensors among them.
        kwargs: keyword arguments.
        outputs: a structure of KerasTensors.
        inputs: the KerasTensors among the arguments, flat.
    """

    __slots__ = ("args", "inputs", "kwargs", "layer", "outputs")

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer = layer
        self.args = args
        self.kwargs = kwargs
        self.inputs = [x for x in structure.flatten((args, kwargs)) if isinstance(x, KerasTensor)]
        self.outputs: Any = None


class KerasHistory(NamedTuple):
    """The origin of a KerasTensor: the operation, its call, and the index among its outputs.

    Attributes:
        operation: the layer or operation; None of a tensor that no call gave.
        node_index: the number of the call among the operation's.
        tensor_index: the number of the tensor among the outputs of the call.
    """

    operation: Any
    node_index: int
    tensor_index: int


class KerasTensor:
    """A tensor of a functional model: shape, dtype and where it comes from; no value.

    Args:
        shape: None for an unknown axis.
        dtype: the element type.
        sparse: whether it represents a SparseTensor.
        ragged: whether it represents a RaggedTensor.
        record_history: False has no effect, which a warning says: calls are always remembered.
        name: in summaries and signatures.
        **kwargs: `ragged_rank` and `row_splits_dtype` of a ragged one; by default the axes of
            unknown size, without the batch, are the ragged ones, and int64.

    Raises:
        ValueError: both sparse and ragged.
    """

    def __init__(
        self,
        shape: Any,
        dtype: Any = "float32",
        sparse: bool = False,
        ragged: bool = False,
        record_history: bool = True,
        name: str | None = None,
        **kwargs: Unpack[RaggedOptions],
    ) -> None:
        if sparse and ragged:
            raise ValueError("KerasTensor: sparse and ragged must not both be True")
        if not record_history:
            no_effect("KerasTensor", "record_history", "calls of layers are always remembered")
        self.spec: Any = spec_of_form(shape, dtype, sparse=sparse, ragged=ragged, **kwargs)
        self.name = name or unique_name("keras_tensor")
        # The call whose output it is; None before there is one.
        self.node: Node | None = None
        # The spec of the mask that the tensor will carry; None if it will carry none.
        self.mask_spec: TensorSpec | None = None
        self._mask: KerasTensor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The state without the call, which a topology restores, so that chains are not nested."""
        return {**self.__dict__, "node": None, "_mask": None}

    @property
    def shape(self) -> Any:
        """The sizes of the axes as a tuple, None where one is unknown.

        For an unknown rank, which Keras does not have, it is TensorFlow's shape.
        """
        shape: Shape = self.spec.shape
        return shape if shape.rank is None else tuple(shape.as_list())

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.spec.dtype  # type: ignore[no-any-return]  # of any form

    @property
    def _keras_history(self) -> KerasHistory:
        """The layer, and the indices of the call and the output.

        Raises:
            AttributeError: no layer or operation gave it.
        """
        node = self.node
        if node is None:
            raise AttributeError(f"{self!r} has no attribute '_keras_history': no call gave it")
        nodes = node.layer._inbound_nodes
        outputs = structure.flatten(node.outputs)
        return KerasHistory(
            node.layer,
            next((at for at, one in enumerate(nodes) if one is node), 0),
            next((at for at, one in enumerate(outputs) if one is self), 0),
        )

    @property
    def _keras_mask(self) -> KerasTensor:
        """The mask that it will carry.

        Raises:
            AttributeError: the tensor will have no mask.
        """
        if self.mask_spec is None:
            raise AttributeError(f"{self!r} has no mask: attribute '_keras_mask' is not set")
        if self._mask is None:
            self._mask = self._made_mask()
        return self._mask

    @property
    def sparse(self) -> bool:
        """Whether it represents a SparseTensor."""
        return is_sparse(self.spec)

    @property
    def ragged(self) -> bool:
        """Whether it represents a RaggedTensor."""
        return is_ragged(self.spec)

    @property
    def ragged_rank(self) -> int | None:
        """The number of ragged axes stored as row splits; None if it is not ragged."""
        return self.spec.ragged_rank if self.ragged else None

    @property
    def row_splits_dtype(self) -> str | None:
        """The name of the dtype of row splits; None if it is not ragged."""
        return self.spec.row_splits_dtype.name if self.ragged else None

    @classmethod
    def of_spec(cls, spec: Any, name: str | None = None) -> KerasTensor:
        """The KerasTensor for a TensorSpec, or for the spec of a sparse or ragged tensor."""
        made = cls(spec.shape, spec.dtype, name=name)
        made.spec = spec
        return made

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.spec.shape)

    if TYPE_CHECKING:  # `symbolic_methods` and `mask_operation` bind them

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __rmatmul__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __rand__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __ror__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __rxor__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __ne__(self, other: object) -> Any: ...
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __round__(self, ndigits: int | None = None) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...
        def reshape(self, newshape: Any) -> Any:
            """The same values in another shape, as a layer's output."""

        def squeeze(self, axis: Any = None) -> Any:
            """The values without axes of size 1, as a layer's output."""

        def _activated(self, name: str, **settings: Any) -> Any: ...
        def _made_mask(self) -> KerasTensor: ...

    # Equality is identity, as in Keras: tensors stand in sets and dicts.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(
            f"{what} {self!r} is not possible: it stands for the future output of a layer and "
            "has no value.\n  Try: a Layer whose call does it, or Lambda"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._refuse("converting to an array or tensor")

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        """Raises an error: there is no value."""
        self._refuse("using an op on")

    def __int__(self) -> Any:
        self._refuse("converting to a Python int")

    def __float__(self) -> Any:
        self._refuse("converting to a Python float")

    def __iter__(self) -> Any:
        self._refuse("iterating over")

    def __bool__(self) -> bool:
        self._refuse("using as a Python bool")

    def __repr__(self) -> str:
        shape = str(self.shape)
        form = f"sparse={self.sparse}, ragged={self.ragged}"
        return f"<KerasTensor shape={shape}, dtype={self.dtype.name}, {form}, name={self.name}>"


def is_symbolic(*values: Any) -> bool:
    """Whether one of the leaves is a KerasTensor."""
    return any(isinstance(leaf, KerasTensor) for leaf in structure.flatten(values))


def spec_of(x: Any) -> Any:
    """The spec of a dense, sparse or ragged tensor; other values unchanged."""
    if isinstance(x, Tensor):
        return TensorSpec.of(x.shape, x.dtype)
    return x.spec if isinstance(x, KerasTensor) or is_composite(x) else x


def is_keras_tensor(x: Any) -> bool:
    """Whether `x` is a symbolic tensor of a functional model.

    Args:
        x: anything.
    """
    return isinstance(x, KerasTensor)


def get_source_inputs(tensor: Any) -> Any:
    """The inputs of a functional model that a tensor is computed from, each once.

    Args:
        tensor: a KerasTensor.

    Returns:
        A list of KerasTensors; other objects are returned unchanged.
    """
    if not isinstance(tensor, KerasTensor):
        return tensor
    found: list[KerasTensor] = []
    seen: set[int] = set()
    waiting = [tensor]
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        before = x.node.inputs if x.node is not None else []
        if before:
            waiting.extend(reversed(before))
        else:
            found.append(x)
    return found
