"""Objects with trace types: which calls share a graph, and with which values it is traced."""

import pytest

import pinnace as tf

types = tf.types.experimental


class Size(types.TraceType):
    """A size: of one number, or of any."""

    def __init__(self, number):
        self.number = number

    def is_subtype_of(self, other):
        return type(other) is Size and other.number in (None, self.number)

    def most_specific_common_supertype(self, others):
        return self if all(self == other for other in others) else Size(None)

    def placeholder_value(self, placeholder_context):
        del placeholder_context
        return Sized(self.number)

    def __eq__(self, other):
        return type(other) is Size and self.number == other.number

    def __hash__(self):
        return hash(self.number)


class Sized:
    def __init__(self, number):
        self.number = number

    def __tf_tracing_type__(self, context):
        return Size(self.number)


class OtherSized(Sized):
    pass


def traced_function():
    seen = []

    @tf.function
    def f(sized, x):
        seen.append(sized)
        return x + float(-1 if sized.number is None else sized.number)

    return f, seen


def test_equal_types_share_a_graph_whatever_the_class():
    f, seen = traced_function()
    assert float(f(Sized(3), tf.constant(1.0))) == 4.0
    assert float(f(OtherSized(3), tf.constant(2.0))) == 5.0
    assert len(seen) == 1
    assert float(f(Sized(4), tf.constant(2.0))) == 6.0
    assert len(seen) == 2


def test_the_graph_is_traced_with_the_placeholder():
    f, seen = traced_function()
    given = OtherSized(3)
    f(given, tf.constant(1.0))
    assert seen[0] is not given
    assert type(seen[0]) is Sized


def test_a_subtype_takes_the_graph_of_its_supertype():
    f, seen = traced_function()
    assert float(f(Sized(None), tf.constant(1.0))) == 0.0
    assert float(f(Sized(7), tf.constant(1.0))) == 0.0  # TensorFlow's rule: is_subtype_of decides
    assert len(seen) == 1
    assert float(f(Sized(7), tf.constant([1.0]))[0]) == 8.0  # no graph of that shape yet
    assert len(seen) == 2


def test_of_several_supertypes_the_narrowest_is_taken():
    class Wide(Size):
        def is_subtype_of(self, other):
            return type(other) is Wide and self.number >= other.number

        def __eq__(self, other):
            return type(other) is Wide and self.number == other.number

        __hash__ = Size.__hash__

    class Wides(Sized):
        def __tf_tracing_type__(self, context):
            return Wide(self.number)

    f, seen = traced_function()
    results = [float(f(Wides(n), tf.constant(0.0))) for n in (5, 3, 1, 7, 4, 2)]
    assert results == [5.0, 3.0, 1.0, 5.0, 3.0, 1.0]
    assert len(seen) == 3


def test_what_is_no_trace_type_is_refused():
    class Wrong:
        def __tf_tracing_type__(self, context):
            return "wrong"

    with pytest.raises(TypeError, match="Expected an instance of TraceType"):
        tf.function(lambda x: x)(Wrong())


def test_a_type_with_tensors_is_refused():
    class WithTensors(Size):
        def flatten(self):
            return [tf.TensorSpec([])]

    class Holding(Sized):
        def __tf_tracing_type__(self, context):
            return WithTensors(1)

    with pytest.raises(tf.errors.UnimplementedError, match="ExtensionType"):
        tf.function(lambda x: x)(Holding(1))


def test_defaults_and_protocols():
    kind = Size(2)
    assert kind.to_tensors(Sized(2)) == []
    assert kind.flatten() == []
    assert kind.from_tensors(iter([])).number == 2
    with pytest.raises(AssertionError, match="Can not cast"):
        kind.cast(Sized(2), None)
    assert isinstance(Sized(1), types.SupportsTracingProtocol)
    assert not isinstance(1, types.SupportsTracingProtocol)
    assert isinstance(tf.TensorSpec([]), types.TraceType)
    with pytest.raises(TypeError, match="abstract"):
        types.TraceType()
