"""Members of tensors and variables that exist only in graphs, or only eagerly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pinnace.framework.no_effect import ignored

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Reference, Tensor


def _meaningless(name: str) -> AttributeError:
    return AttributeError(
        f"{name} has no meaning while ops run eagerly: only what is in a graph has one"
    )


class _OfNumpy:
    """A member that `experimental_enable_numpy_behavior` replaces."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(
            f"Tensor has no attribute {self._name!r}\n"
            "  Try: experimental.numpy.experimental_enable_numpy_behavior(), for NumPy's methods"
        )


class TensorMembers:
    """Members of eager tensors; symbolic ones have graph members instead."""

    __slots__ = ()

    T = _OfNumpy()
    astype = _OfNumpy()
    clip = _OfNumpy()
    data = _OfNumpy()
    ravel = _OfNumpy()
    reshape = _OfNumpy()
    size = _OfNumpy()
    tolist = _OfNumpy()
    transpose = _OfNumpy()

    if TYPE_CHECKING:

        @property
        def device(self) -> str: ...  # noqa: D102 (the tensor describes its own)
        def ref(self) -> Reference: ...  # noqa: D102 (likewise)

    @property
    def graph(self) -> Any:
        """Raises an error: only symbolic tensors have a graph."""
        raise _meaningless("Tensor.graph")

    @property
    def value_index(self) -> int:
        """Raises an error: only symbolic tensors have a value index."""
        raise _meaningless("Tensor.value_index")

    def consumers(self) -> Any:
        """Raises an error: only symbolic tensors have consumers.

        Raises:
            NotImplementedError: always; TensorFlow's class.
        """
        raise NotImplementedError(str(_meaningless("Tensor.consumers")))

    def eval(self, feed_dict: Any = None, session: Any = None) -> NoReturn:
        """Raises an error: there are no sessions.

        Raises:
            NotImplementedError: always; TensorFlow's class.
        """
        del feed_dict, session
        raise NotImplementedError("Tensor.eval: there are no sessions\n  Try: .numpy()")

    @property
    def backing_device(self) -> str:
        """The device of the tensor's memory, as in TensorFlow: always the CPU."""
        return self.device

    @property
    def is_packed(self) -> bool:
        """False: no tensor is packed from several devices."""
        return False

    def cpu(self) -> Tensor:
        """The tensor itself: it is on the CPU."""
        return self  # type: ignore[return-value]  # the mixin of it

    def experimental_ref(self) -> Reference:
        """The older name of `ref`."""
        return self.ref()


class VariableMembers:
    """Members of variables, which belong to no graph and are always initialised."""

    if TYPE_CHECKING:

        @property
        def shape(self) -> Shape: ...  # noqa: D102 (the variable describes its own)
        def assign(self, value: Any) -> Any: ...  # noqa: D102 (likewise)
        def read_value(self) -> Tensor: ...  # noqa: D102 (likewise)

    @property
    def graph(self) -> Any:
        """Raises an error: a variable belongs to no graph."""
        raise _meaningless("Variable.graph")

    @property
    def op(self) -> Any:
        """Raises an error: a variable is not the output of an op in a graph."""
        raise _meaningless("Variable.op")

    @property
    def initializer(self) -> None:
        """None: it is already initialised."""
        return

    @property
    def initial_value(self) -> Any:
        """Raises an error: the initial value is not stored.

        Raises:
            RuntimeError: always; TensorFlow's class.
        """
        raise RuntimeError(
            "Variable.initial_value is not kept\n  Try: read_value(), the present one"
        )

    def read_value_no_copy(self) -> Tensor:
        """The value: reading never copies."""
        return self.read_value()

    def set_shape(self, shape: Any) -> None:
        """Check that the shape fits.

        Args:
            shape: shape of any value.

        Raises:
            ValueError: the shape does not fit.
        """
        self.shape.assert_is_compatible_with(type(self.shape)(shape))

    def load(self, value: Any, session: Any = None) -> None:
        """Assign a value.

        Args:
            value: a value of the shape and dtype of the variable.
            session: without effect: there are no sessions.
        """
        ignored("Variable.load", "there are no sessions", session=session)
        self.assign(value)

    def eval(self, session: Any = None) -> NoReturn:
        """Raises an error: there are no sessions.

        Raises:
            RuntimeError: always; TensorFlow's class.
        """
        del session
        raise RuntimeError("Variable.eval: there are no sessions\n  Try: .numpy()")
