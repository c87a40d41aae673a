"""TensorSpec: equality, compatibility, relaxing, its text."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec, parse

shapes = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3)
specs = st.builds(
    TensorSpec,
    shapes,
    st.sampled_from([dtypes.float32, dtypes.int32, dtypes.string]),
    st.none() | st.sampled_from(["x", "y/z:0"[:3]]),
)


@given(specs)
def test_the_text_is_read_back(spec: TensorSpec) -> None:
    named = spec.text if spec.name is None else f"{spec.name}: {spec.text}"
    assert parse(named) == spec
    assert parse(spec.text) == spec.with_name(None)


def test_it_prints_as_tensorflow_prints_it() -> None:
    spec = TensorSpec([2, None], dtypes.int64, "a")
    assert str(spec) == "TensorSpec(shape=(2, None), dtype=tf.int64, name='a')"


@given(specs)
def test_copies_and_pickles_are_equal(spec: TensorSpec) -> None:
    for other in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec)):  # noqa: S301 (our own bytes)
        assert other == spec
        assert hash(other) == hash(spec)


@given(specs, specs)
def test_relaxing_gives_the_spec_of_both(a: TensorSpec, b: TensorSpec) -> None:
    if a.dtype is not b.dtype:
        with pytest.raises(ValueError, match="No spec describes both"):
            a.relax(b)
        assert a.most_specific_common_supertype([b]) is None
        return
    both = a.relax(b)
    assert both == b.relax(a)
    assert a.is_subtype_of(both)
    assert b.is_subtype_of(both)


@given(specs, specs)
def test_names_count_for_equality_but_not_for_compatibility(a: TensorSpec, b: TensorSpec) -> None:
    assert a.is_compatible_with(b) == b.is_compatible_with(a)
    assert a.is_compatible_with(a.with_name("other"))
    assert a != a.with_name("other")
    if a == b:
        assert a.is_compatible_with(b)


def test_arrays_are_compatible_with_what_describes_them() -> None:
    array = np.zeros((2, 3), np.float32)
    assert parse("float32[?, 3]").is_compatible_with(array)
    assert not parse("float32[?, 4]").is_compatible_with(array)
    assert not parse("float64[?, 3]").is_compatible_with(array)
    assert not parse("float32[...]").is_compatible_with("text")
    assert TensorSpec.from_tensor(array) == parse("float32[2, 3]")
    assert TensorSpec.from_spec(parse("x: int32[2]"), "y") == parse("y: int32[2]")


def test_the_defaults_are_tensorflows() -> None:
    assert TensorSpec([1]).dtype is dtypes.float32
    assert TensorSpec().shape.rank is None
    assert repr(TensorSpec([None, 3])) == "TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)"


def test_an_axis_has_a_size_or_an_error_that_names_it() -> None:
    spec = parse("float32[?, 5]")
    assert (spec.rank, spec.axis_size(-1), spec.axis_size(1)) == (2, 5, 5)
    with pytest.raises(ValueError, match=r"Axis 0 of float32\[\?, 5\] must have a known size"):
        spec.axis_size(0)
    with pytest.raises(ValueError, match="must have an axis 2, its rank is 2"):
        spec.axis_size(2)
    with pytest.raises(ValueError, match="must have a known size"):
        parse("float32[...]").axis_size(0)


@pytest.mark.parametrize(
    "text", ["", "float32", "float32[", "float33[2]", "float32[a]", "float32[-2]", "[2]"]
)
def test_a_text_that_is_no_spec_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="must look like"):
        parse(text)


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        parse("float32[2]").shape = Shape(None)


def test_a_tensor_is_its_own_component() -> None:
    spec = parse("float32[2]")
    assert spec.component_specs() == (spec,)
    assert spec.from_components(spec.to_components("value")) == "value"
