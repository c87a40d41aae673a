"""The objects of a SavedModel as messages and back."""

import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.proto.object_graph_pb2 import SavedObjectGraph
from pinnace.saved_model.codecs.objects import (
    AssetObject,
    CallSpec,
    CapturedObject,
    ConcreteInfo,
    ConcreteObject,
    ConstantObject,
    FunctionObject,
    Objects,
    ResourceObject,
    SavedItem,
    UserObject,
    VariableObject,
    decode_call_spec,
    decode_objects,
    encode_call_spec,
    encode_objects,
)
from pinnace.saved_model.codecs.structures import encode_structure

WORDS = st.text("abc", min_size=1, max_size=4)
SIGNATURES = [
    inspect.signature(f)
    for f in (
        lambda: None,
        lambda x, y=1, *rest, z, w="a", **more: None,  # noqa: ARG005
        lambda x, training=False: None,  # noqa: ARG005
        lambda *, a=None, b=(1, 2): None,  # noqa: ARG005
    )
]
SPECS = st.builds(
    CallSpec.of, st.sampled_from(SIGNATURES), st.none() | st.just((TensorSpec([None], "int8"),))
)
KINDS = (
    st.builds(UserObject, WORDS, WORDS)
    | st.builds(
        VariableObject,
        st.sampled_from([dtypes.float32, dtypes.bool_]),
        st.just(Shape([None, 3])) | st.just(Shape(None)),
        st.booleans(),
        WORDS,
        st.integers(0, 3),
        st.integers(0, 3),
    )
    | st.builds(FunctionObject, st.lists(WORDS).map(tuple), SPECS)
    | st.builds(ConcreteObject, WORDS, st.lists(WORDS).map(tuple), st.integers(0, 9), SPECS)
    | st.builds(AssetObject, st.integers(0, 9))
    | st.just(ResourceObject())
    | st.builds(CapturedObject, WORDS, WORDS)
)


@st.composite
def objects(draw: st.DrawFn) -> Objects:
    count = draw(st.integers(1, 5))
    edges = st.lists(st.tuples(WORDS, st.integers(0, count - 1)), max_size=3).map(tuple)
    items = [
        SavedItem(draw(KINDS), draw(edges), draw(edges), draw(st.sampled_from(["", "tf.X"])))
        for _ in range(count)
    ]
    info = st.builds(
        ConcreteInfo,
        st.lists(st.integers(0, count - 1), max_size=3).map(tuple),
        st.just(encode_structure(((TensorSpec([2]), 3), {}))),
        st.just(encode_structure({"y": TensorSpec([2])})),
    )
    return Objects(tuple(items), draw(st.dictionaries(WORDS, info, max_size=2)))


@given(objects())
def test_objects_come_back(value: Objects) -> None:
    message = SavedObjectGraph.FromString(encode_objects(value).SerializeToString())
    assert decode_objects(message, "here") == value


def test_a_constant_says_what_tensorflow_says() -> None:
    message = encode_objects(Objects((SavedItem(ConstantObject("Const")),), {}))
    assert message.nodes[0].registered_name == "tf.TrackableConstant"
    assert message.nodes[0].constant.operation == "Const"


@pytest.mark.parametrize("signature", SIGNATURES, ids=str)
def test_parameters_come_back(signature: inspect.Signature) -> None:
    spec = CallSpec.of(signature)
    again = decode_call_spec(encode_call_spec(spec), "here")
    assert again == spec
    assert str(again.signature()) == str(signature)


def test_all_seven_parts_of_the_parameters_are_written() -> None:
    named = encode_call_spec(CallSpec(("x",))).fullargspec.named_tuple_value
    assert named.name == "FullArgSpec"
    assert [pair.key for pair in named.values] == [
        "args", "varargs", "varkw", "defaults", "kwonlyargs", "kwonlydefaults", "annotations"
    ]  # fmt: skip


def test_self_is_not_a_parameter_of_a_method() -> None:
    message = encode_call_spec(CallSpec(("self", "x")))
    message.is_method = True
    assert decode_call_spec(message, "here").args == ("x",)


@pytest.mark.parametrize(
    "spec",
    [CallSpec(("x", "x")), CallSpec(("not a name",)), CallSpec(("x",), defaults=(1, 2))],
    ids=["twice", "no name", "defaults"],
)
def test_parameters_that_no_function_has_are_refused(spec: CallSpec) -> None:
    with pytest.raises(InvalidArgumentError, match="these are not the parameters of a function"):
        decode_call_spec(encode_call_spec(spec), "here").signature()


@pytest.mark.parametrize("number", [-1, 1, 1 << 30])
def test_a_number_that_is_no_object_is_refused(number: int) -> None:
    def refused(value: Any) -> None:
        with pytest.raises(DataLossError, match=f"refers to object {number}, there are 1"):
            decode_objects(encode_objects(value), "here")

    info = ConcreteInfo((number,), encode_structure(()), encode_structure(()))
    refused(Objects((SavedItem(UserObject(), (("a", number),)),), {}))
    refused(Objects((SavedItem(UserObject(), (), (("a", number),)),), {}))
    refused(Objects((SavedItem(UserObject()),), {"f": info}))


def test_no_objects_at_all_are_refused() -> None:
    with pytest.raises(DataLossError, match="here: the object graph is empty"):
        decode_objects(SavedObjectGraph(), "here")
