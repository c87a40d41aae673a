"""Trace types: specs are some, objects give their own, and equal ones share a graph."""

from typing import Any

import pinnace as tf

types: Any = tf.types.experimental


class Shade(types.TraceType):
    """The type of a colour: its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def is_subtype_of(self, other: Any) -> bool:
        return self == other

    def most_specific_common_supertype(self, others: Any) -> Any:
        return self if all(self == other for other in others) else None

    def placeholder_value(self, placeholder_context: Any) -> Any:
        del placeholder_context
        return Colour(self.name)

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shade) and other.name == self.name


class Colour:
    """An argument that says its own type."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __tf_tracing_type__(self, context: Any) -> Shade:
        del context
        return Shade(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Colour) and other.name == self.name

    __hash__ = None  # type: ignore[assignment]


def test_equal_types_share_a_graph() -> None:
    traced = []

    @tf.function
    def shout(colour: Colour, x: tf.Tensor) -> tf.Tensor:
        traced.append(colour.name)
        return x + len(colour.name)

    for name in ("red", "blue", "red"):
        shout(Colour(name), tf.constant(1))
    assert traced == ["red", "blue"]


def test_specs_are_trace_types_and_objects_support_the_protocol() -> None:
    assert isinstance(tf.TensorSpec([]), types.TraceType)
    assert isinstance(tf.RaggedTensorSpec([None, None]), types.TraceType)
    assert isinstance(Colour("red"), types.SupportsTracingProtocol)
    assert not isinstance(3, types.SupportsTracingProtocol)


def test_a_type_without_tensors_is_made_of_none() -> None:
    shade, colour = Shade("red"), Colour("red")
    assert shade.to_tensors(colour) == shade.flatten() == []
    assert shade.from_tensors(iter(())) == colour
    assert shade.cast(colour, None) is colour


def test_functions_are_of_their_types() -> None:
    concrete = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([2]))
    assert isinstance(concrete.function_type, types.FunctionType)
    assert isinstance(concrete, types.AtomicFunction)
    assert not isinstance(len, types.AtomicFunction)


def test_values_of_strategies_are_of_their_types() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    with strategy.scope():
        variable = tf.Variable(1.0)
    found = types.distributed
    assert isinstance(variable, found.Mirrored)
    assert not isinstance(variable, found.PerReplica)
