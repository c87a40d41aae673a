"""Tensor, the immutable value of ops; SymbolicTensor, a value that a graph will compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.eager_members import TensorMembers
from pinnace.framework.errors import OperatorNotAllowedInGraphError
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from pinnace.framework.dtypes import DType
    from pinnace.framework.specs import TensorSpec

    class _GraphValue(Protocol):
        """A value of a graph, as its symbolic tensor sees it."""

        node: Any
        index: int
        spec: TensorSpec

        def refine(self, shape: Shape) -> None:
            """Merge additional knowledge about the shape."""

        def operation(self, owner: Any) -> Any:
            """The operation that computes it."""

        def consumers(self, owner: Any) -> list[Any]:
            """The operations that take it."""


Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Operands:
    """The arithmetic operators, shared by tensors and variables: `ops/operators.py` binds them."""

    __slots__ = ()
    # NumPy arrays defer: array + tensor is a tensor.
    __array_priority__ = 100

    if TYPE_CHECKING:

        @property
        def dtype(self) -> DType:
            """The element type."""

        @property
        def shape(self) -> Shape:
            """The sizes of the axes."""

        def __add__(self, other: TensorLike) -> Tensor: ...
        def __radd__(self, other: TensorLike) -> Tensor: ...
        def __sub__(self, other: TensorLike) -> Tensor: ...
        def __rsub__(self, other: TensorLike) -> Tensor: ...
        def __mul__(self, other: TensorLike) -> Tensor: ...
        def __rmul__(self, other: TensorLike) -> Tensor: ...
        def __truediv__(self, other: TensorLike) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike) -> Tensor: ...
        def __floordiv__(self, other: TensorLike) -> Tensor: ...
        def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
        def __mod__(self, other: TensorLike) -> Tensor: ...
        def __rmod__(self, other: TensorLike) -> Tensor: ...
        def __pow__(self, other: TensorLike) -> Tensor: ...
        def __rpow__(self, other: TensorLike) -> Tensor: ...
        def __matmul__(self, other: TensorLike) -> Tensor: ...
        def __rmatmul__(self, other: TensorLike) -> Tensor: ...
        def __and__(self, other: TensorLike) -> Tensor: ...
        def __rand__(self, other: TensorLike) -> Tensor: ...
        def __or__(self, other: TensorLike) -> Tensor: ...
        def __ror__(self, other: TensorLike) -> Tensor: ...
        def __xor__(self, other: TensorLike) -> Tensor: ...
        def __rxor__(self, other: TensorLike) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __lt__(self, other: TensorLike) -> Tensor: ...
        def __le__(self, other: TensorLike) -> Tensor: ...
        def __gt__(self, other: TensorLike) -> Tensor: ...
        def __ge__(self, other: TensorLike) -> Tensor: ...
        def __eq__(self, other: object) -> Tensor | bool: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Tensor | bool: ...  # type: ignore[override]
        def __getitem__(self, key: object) -> Tensor: ...
        def _as_tensor(self) -> Tensor:
            """The operand of an op: the tensor itself, or the value that a variable has now."""

    # Classes with elementwise comparison are not hashable; each subclass says so.


class Reference:
    """A hashable reference to a tensor or variable; equal for the same object."""

    __slots__ = ("_target",)

    def __init__(self, target: Tensor | Any) -> None:
        self._target = target

    def deref(self) -> Any:
        """The tensor or variable itself."""
        return self._target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._target is other._target

    def __lt__(self, other: object) -> bool:
        """An arbitrary order, so that mappings with such keys can be flattened."""
        if not isinstance(other, Reference):
            return NotImplemented
        return id(self._target) < id(other._target)

    def __hash__(self) -> int:
        return id(self._target)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"


class Tensor(Operands, TensorMembers):
    """An array of one dtype whose value is known.

    Created by `constant`, `convert_to_tensor` and every op; immutable.
    """

    # Attributes that tensor-like classes delegate to a tensor.
    OVERLOADABLE_OPERATORS: ClassVar[frozenset[str]] = frozenset(
        f"__{name}__"
        for name in (
            *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
            *("radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul"),
            *("and", "or", "xor", "rand", "ror", "rxor", "invert", "neg", "abs", "getitem"),
            *("lt", "le", "gt", "ge", "eq", "ne"),
        )
    )
    # Keras' layers attach masks to their outputs, its softmax and sigmoid what they were given.
    __slots__ = ("__weakref__", "_array", "_keras_logits", "_keras_mask")
    _array: Array
    _keras_logits: Tensor
    _keras_mask: Tensor

    def _as_tensor(self) -> Tensor:
        return self

    @property
    def dtype(self) -> DType:
        """The element type."""
        return dtypes.from_numpy(self._array.dtype)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes, all known."""
        return Shape.of(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def name(self) -> str:
        """Raises an error: only symbolic tensors have a name."""
        raise AttributeError(
            "Tensor.name has no meaning while ops run eagerly: only tensors of a graph have names"
        )

    @property
    def op(self) -> Any:
        """Raises an error: only symbolic tensors have an op."""
        raise AttributeError(
            "Tensor.op has no meaning while ops run eagerly: only tensors of a graph have a node"
        )

    @property
    def device(self) -> str:
        """The device name, as in TensorFlow: always the CPU."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    def get_shape(self) -> Shape:
        """The shape."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Check that `shape` fits; ValueError if not."""
        self.shape.assert_is_compatible_with(Shape(shape))  # type: ignore[arg-type]

    def numpy(self) -> Any:
        """A new NumPy array with these values; a NumPy scalar for rank 0."""
        array = self._array
        if array.ndim == 0:
            return array[()]
        return array.copy()

    def ref(self) -> Reference:
        """A hashable reference, for sets and dictionary keys."""
        return Reference(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = np.asarray(self._array)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        if copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = False
        return view

    def __dlpack__(self, **options: Any) -> Any:
        return np.asarray(self._array).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __bool__(self) -> bool:
        return bool(self._array)

    __nonzero__ = __bool__  # TensorFlow's tensors have it still

    def __int__(self) -> int:
        return int(self._array)

    def __float__(self) -> float:
        return float(self._array)

    def __complex__(self) -> complex:
        return complex(self._array)

    def __index__(self) -> int:
        if self._array.ndim or not self.dtype.is_integer:
            raise TypeError(f"only an integer scalar can be an index, got {_text(self)}")
        return int(self._array)

    def __format__(self, spec: str) -> str:
        return format(self._array[()], spec)

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("a scalar tensor has no len()")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("a scalar tensor cannot be iterated over")
        if state.tapes or state.tracer is not None:
            return iter([self[i] for i in range(len(self._array))])
        if self._array.dtype.kind == "O":  # its rows are bytes objects, not NumPy scalars
            return (wrap(np.asarray(row, object), self.dtype) for row in self._array)
        return (wrap(row, self.dtype) for row in self._array)

    def __hash__(self) -> int:
        raise TypeError(
            "a Tensor is unhashable, since == compares element by element: "
            "use tensor.ref() as the key"
        )

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: object) -> Tensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (wrap, (np.asarray(self._array), self.dtype))

    def __repr__(self) -> str:
        value = values_text(self._array)
        return f"<tf.Tensor: shape={self._array.shape}, dtype={self.dtype.name}, numpy={value}>"

    def _repr_html_(self) -> str:
        """The values as HTML, for notebooks."""
        from pinnace.framework import html

        title = f"tf.Tensor, shape={self._array.shape}, dtype={self.dtype.name}"
        return html.values(title, np.asarray(self._array))

    def __str__(self) -> str:
        text = _on_own_lines(str(self._array[()]))
        return f"tf.Tensor({text}, shape={self._array.shape}, dtype={self.dtype.name})"


class OpaqueTensor(Tensor):
    """A tensor whose array does not determine its dtype: resources, variants, quantised numbers."""

    __slots__ = ("_dtype",)
    _dtype: DType

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype


class SymbolicTensor(Tensor):
    """A tensor that a graph will compute: a dtype and a possibly unknown shape, without a value."""

    __slots__ = ("_graph", "_value")

    def __init__(self, value: Any, graph: Any) -> None:
        self._value: _GraphValue = value
        self._graph = graph

    @property
    def value(self) -> Any:
        """The graph value that this tensor represents."""
        return self._value

    @property
    def graph(self) -> Any:
        """The graph of the value; while it is traced, the graph's builder."""
        return getattr(self._graph, "finished", None) or self._graph

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._value.spec.dtype

    @property
    def shape(self) -> Shape:
        """The static shape."""
        return self._value.spec.shape

    @property
    def ndim(self) -> int:
        """The number of axes; ValueError if it is unknown."""
        rank = self.shape.rank
        if rank is None:
            raise ValueError(f"{self!r} has an unknown number of axes")
        return rank

    @property
    def name(self) -> str:
        """`node:index`, TensorFlow's form."""
        return f"{self._value.node.name}:{self._value.index}"

    @property
    def op(self) -> Any:
        """The operation that computes it."""
        return self._value.operation(self.graph)

    @property
    def value_index(self) -> int:
        """The index of this output of its operation."""
        return int(self._value.index)

    def consumers(self) -> list[Any]:
        """The operations of the graph that use it."""
        return self._value.consumers(self.graph)

    def set_shape(self, shape: object) -> None:
        """Merge static shape information; ValueError if it is contradictory."""
        merged = self.shape.merge_with(Shape(shape))  # type: ignore[arg-type]
        self._value.refine(merged)

    def _refuse(self, what: str, advice: str) -> NoReturn:
        raise OperatorNotAllowedInGraphError(
            f"{what} a symbolic tensor is not possible: {self!r} gets its value only when the "
            f"function that is being traced is called.\n  Try: {advice}"
        )

    def numpy(self) -> Any:
        """Raises an error: there is no value yet."""
        raise AttributeError(
            f"a symbolic tensor has no .numpy(): {self!r} gets its value only when the function "
            "that is being traced is called.\n"
            "  Try: return it from the function, or config.run_functions_eagerly(True) while "
            "debugging"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise NotImplementedError(
            f"NumPy cannot take a symbolic tensor: {self!r} has no value while the function is "
            "traced.\n  Try: the op of pinnace with that name, or numpy_function"
        )

    def __bool__(self) -> bool:
        self._refuse(
            "using as a Python bool", "cond, or logical_and / logical_not instead of and / not"
        )

    def __int__(self) -> int:
        self._refuse("int() of", "cast(x, 'int32')")

    def __float__(self) -> float:
        self._refuse("float() of", "cast(x, 'float32')")

    def __index__(self) -> int:
        self._refuse("using as a Python index", "x[i] with a tensor i, gather, or range of pinnace")

    def __len__(self) -> int:
        rank = self.shape.rank
        if rank and self.shape[0] is not None:
            return int(self.shape[0])
        self._refuse("len() of", "shape(x)[0]")
        return None

    def __hash__(self) -> int:
        raise TypeError(
            "a Tensor is unhashable, since == compares element by element: "
            "use tensor.ref() as the key"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        self._refuse("pickling", "save the function with saved_model.save")

    def __deepcopy__(self, memo: object) -> Tensor:
        self._refuse("deep-copying", "pass it on as it is")

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __str__(self) -> str:
        shape = "" if self.shape.rank is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'


TensorLike: TypeAlias = (
    Tensor
    | Operands
    | Array
    | np.generic
    | float
    | int
    | bool
    | complex
    | str
    | bytes
    | list[Any]
    | tuple[Any, ...]
)

# resource, variant, qint8, quint8, qint32, qint16, quint16: NumPy has no dtypes for them.
_OPAQUE = frozenset({20, 21, 11, 12, 13, 15, 16})
_new = Tensor.__new__


def wrap(array: Array | np.generic, dtype: DType | None = None) -> Tensor:
    """A tensor that takes ownership of `array`, which must not be written to from now on.

    Args:
        array: the values.
        dtype: needed where the array's own dtype does not tell it (resource, variant, quantised).
    """
    if dtype is not None and is_opaque(dtype):
        opaque = OpaqueTensor.__new__(OpaqueTensor)
        opaque._array = np.asarray(array)
        opaque._dtype = dtype
        return opaque
    tensor = _new(Tensor)
    tensor._array = array  # type: ignore[assignment]
    return tensor


def is_opaque(dtype: DType) -> bool:
    """Whether an array does not determine this dtype: a resource, a variant, quantised numbers."""
    return dtype.enum in _OPAQUE


def is_tensor(x: object) -> bool:
    """Whether `x` is a tensor or a variable: an input that ops take without conversion."""
    return isinstance(x, Operands)


def is_symbolic_tensor(tensor: object) -> bool:
    """Whether `tensor` represents a value that a graph will compute."""
    return isinstance(tensor, SymbolicTensor)


def values_text(array: Array) -> str:
    """The values as TensorFlow's `repr` shows them: scalars are Python's."""
    value = array[()]
    return _on_own_lines(repr(value.item() if isinstance(value, np.generic) else value))


def _on_own_lines(text: str) -> str:
    return f"\n{text}" if "\n" in text else text


def _text(tensor: Tensor) -> str:
    return f"{tensor.dtype.name}{tensor.shape.text}"
