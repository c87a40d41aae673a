"""Nested structures: TensorFlow's order of leaves, packing, mapping, and mismatches."""

import collections
import types
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import structure
from pinnace.framework.containers import DictWrapper, ListWrapper, wrap
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.trackable import Trackable


class Pair(NamedTuple):
    first: object
    second: object


@dataclass
class Record:
    x: int


leaves = st.none() | st.integers() | st.text(max_size=3) | st.binary(max_size=3)
nests = st.recursive(
    leaves,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.lists(inside, max_size=3).map(tuple)
        | st.builds(Pair, inside, inside)
        | st.dictionaries(st.text(max_size=2), inside, max_size=3)
        | st.dictionaries(st.text(max_size=2), inside, max_size=3).map(collections.OrderedDict)
        | st.lists(inside, max_size=3).map(ListWrapper)
        | st.dictionaries(st.text(max_size=2), inside, max_size=3).map(DictWrapper)
    ),
    max_leaves=10,
)


@given(nests)
def test_packing_undoes_flattening(nest: Any) -> None:
    flat = structure.flatten(nest)
    packed = structure.pack_sequence_as(nest, flat)
    assert packed == nest
    structure.assert_same_structure(nest, packed)
    assert structure.map_structure(lambda x: x, nest) == nest


@given(nests)
def test_paths_lead_to_the_leaves_in_order(nest: Any) -> None:
    with_paths = structure.flatten_with_paths(nest)
    assert [leaf for _, leaf in with_paths] == structure.flatten(nest)
    for path, leaf in with_paths:
        here = nest
        for key in path:
            here = getattr(here, key) if isinstance(here, Pair) else here[key]
        assert here is leaf


@given(nests, nests)
def test_structures_are_the_same_if_their_leaves_are_at_the_same_places(a: Any, b: Any) -> None:
    same = [path for path, _ in structure.flatten_with_paths(a)] == [
        path for path, _ in structure.flatten_with_paths(b)
    ]
    try:
        structure.assert_same_structure(a, b)
    except (ValueError, TypeError) as error:
        assert "The structures differ" in str(error)  # noqa: PT017 (either class may come)
    else:
        assert same


def test_mappings_are_flattened_by_key_and_packed_in_their_own_order() -> None:
    for make in (dict, collections.OrderedDict, DictWrapper, types.MappingProxyType):
        nest = make({"b": 1, "a": (2, 3)})
        assert structure.flatten(nest) == [2, 3, 1]
        packed = structure.pack_sequence_as(nest, [20, 30, 10])
        assert list(packed.items()) == [("b", 10), ("a", (20, 30))]
    default = collections.defaultdict(list, z=1, y=2)
    packed = structure.pack_sequence_as(default, [5, 6])
    assert (packed, packed.default_factory) == ({"z": 6, "y": 5}, list)


def test_what_is_a_leaf() -> None:
    for leaf in (None, "text", b"bytes", np.zeros(3), Record(1), {1, 2}, iter([1]), 1.5):
        assert not structure.is_nested(leaf)
        assert len(structure.flatten(leaf)) == 1
        assert structure.pack_sequence_as(leaf, ["x"]) == "x"
    for nest in ([], (), {}, Pair(1, 2), ListWrapper(), collections.OrderedDict()):
        assert structure.is_nested(nest)


def test_tracked_containers_count_as_the_plain_ones_and_are_packed_as_them() -> None:
    plain = {"a": [1, (2, [3])], "b": Pair(4, [5])}
    tracked = wrap(plain)
    assert structure.flatten(tracked) == [1, 2, 3, 4, 5]
    structure.assert_same_structure(plain, tracked)
    packed = structure.pack_sequence_as(tracked, [1, 2, 3, 4, 5])
    assert packed == plain
    assert [type(packed), type(packed["a"]), type(packed["b"])] == [dict, list, Pair]
    assert not isinstance(packed["b"], Trackable)


def test_mapping_takes_the_leaves_of_one_place_together() -> None:
    total = structure.map_structure(lambda x, y: x + y, {"a": 1, "b": [2]}, {"b": [20], "a": 10})
    assert total == {"a": 11, "b": [22]}
    assert structure.map_structure(str, Pair(1, None)) == Pair("1", "None")
    assert structure.map_structure(lambda a, b: a + b, [1], (2,), check_types=False) == [3]
    paths = structure.map_structure_with_paths(lambda path, x: (path, x), {"a": [5]})
    assert paths == {"a": [(("a", 0), 5)]}


@pytest.mark.parametrize(
    ("a", "b", "error", "text"),
    [
        ([1, (2,)], [1, [2]], TypeError, r"at \[1\]: a tuple .* against a list"),
        ({"a": [1]}, {"a": 1}, ValueError, r"at \['a'\]: a list .* against a leaf"),
        ([1, {"a": [1, 2]}], [1, {"a": [1]}], ValueError, r"at \[1\]\['a'\]: 2 elements against 1"),
        ({"a": 1}, {"b": 1}, ValueError, r"at the top: keys \['a'\] against \['b'\]"),
        ([1], {0: 1}, ValueError, "at the top: a list .* against a mapping"),
        (Pair(1, 2), (1, 2), TypeError, "a named tuple .* against a tuple"),
        (
            Pair(1, 2),
            collections.namedtuple("Other", "first second")(1, 2),  # noqa: PYI024 (a second class)
            TypeError,
            "Pair against Other",
        ),
    ],
)
def test_the_message_names_the_first_difference(
    a: object, b: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        structure.assert_same_structure(a, b)
    with pytest.raises(error, match=text):
        structure.map_structure(lambda x, y: (x, y), a, b)


def test_types_may_differ_if_they_are_not_asked_for() -> None:
    structure.assert_same_structure([1, (2,)], (1, [2]), check_types=False)
    structure.assert_same_structure(Pair(1, 2), [1, 2], check_types=False)
    double = collections.namedtuple("Pair", "first second")  # noqa: PYI024 (a second class)
    structure.assert_same_structure(Pair(1, 2), double(1, 2))


@pytest.mark.parametrize("values", [[], [1], [1, 2, 3]])
def test_packing_wants_as_many_values_as_leaves(values: list[int]) -> None:
    with pytest.raises(ValueError, match=f"has 2 leaves, got {len(values)} values"):
        structure.pack_sequence_as({"a": 0, "b": [0]}, values)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="flat_sequence must be a sequence"):
        structure.pack_sequence_as([1], 1)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(TypeError, match="func must be callable"):
        structure.map_structure(1, [1])  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="at least one structure"):
        structure.map_structure(len)
    with pytest.raises(TypeError, match="keys that can be sorted"):
        structure.flatten({1: 1, "a": 2})


def test_up_to_stops_where_the_shallow_structure_does() -> None:
    deep = {"a": [1, 2], "b": ({"c": 3}, 4)}
    assert structure.flatten_up_to({"a": 0, "b": (0, 0)}, deep) == [[1, 2], {"c": 3}, 4]
    assert structure.map_structure_up_to([0, 0], len, [[1, 2], "abc"]) == [2, 3]
    with pytest.raises(ValueError, match=r"at \['b'\]: 3 elements against 2"):
        structure.flatten_up_to({"a": 0, "b": (0, 0, 0)}, deep)
    with pytest.raises(ValueError, match=r"a list .* against a leaf"):
        structure.flatten_up_to([0], 1)


class Halves:
    """A composite value: two tensors."""

    _is_composite = True

    def __init__(self, left: object, right: object) -> None:
        self.left, self.right = left, right

    @property
    def spec(self) -> "HalvesSpec":
        return HalvesSpec()


class HalvesSpec(TypeSpec):
    value_type = Halves

    def is_compatible_with(self, spec_or_value: object) -> bool:
        return isinstance(spec_or_value, (Halves, HalvesSpec))

    def is_subtype_of(self, other: object) -> bool:
        return isinstance(other, HalvesSpec)

    def most_specific_common_supertype(self, others: Any) -> "HalvesSpec | None":
        return self if all(isinstance(other, HalvesSpec) for other in others) else None

    def component_specs(self) -> tuple[TensorSpec, ...]:
        return (TensorSpec([1]), TensorSpec([2]))

    def to_components(self, value: Any) -> tuple[object, ...]:
        return (value.left, value.right)

    def from_components(self, components: Any) -> Halves:
        return Halves(*components)


def test_composites_expand_to_their_components_and_back() -> None:
    nest = [Halves(1, 2), {"x": 3}]
    assert structure.flatten(nest)[0] is nest[0]
    assert structure.flatten(nest, expand_composites=True) == [1, 2, 3]
    packed = structure.pack_sequence_as(nest, [10, 20, 30], expand_composites=True)
    assert (packed[0].left, packed[0].right, packed[1]) == (10, 20, {"x": 30})
    doubled = structure.map_structure(lambda x: 2 * x, nest, expand_composites=True)
    assert (doubled[0].left, doubled[0].right, doubled[1]) == (2, 4, {"x": 6})
    specs = [HalvesSpec(), TensorSpec([3])]
    assert structure.flatten(specs, expand_composites=True) == [
        TensorSpec([1]),
        TensorSpec([2]),
        TensorSpec([3]),
    ]
    assert structure.pack_sequence_as(specs, [1, 2, 3], expand_composites=True)[0].right == 2


@dataclass
class Masked:
    mask: bool
    value: Any

    def __tf_flatten__(self) -> tuple[tuple[bool], tuple[Any]]:
        return (self.mask,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, metadata: tuple[bool], leaves: tuple[Any]) -> "Masked":
        return cls(metadata[0], leaves[0])


class Fields:
    """What a class of `attrs` looks like: its fields by name, in order."""

    __attrs_attrs__ = (types.SimpleNamespace(name="y"), types.SimpleNamespace(name="x"))

    def __init__(self, y: Any, x: Any) -> None:
        self.y, self.x = y, x


def test_sequences_views_and_objects_with_parts_are_opened_as_tensorflow_does() -> None:
    losses = {"b": 1, "a": 2}
    for nest, leaves in (
        (losses.values(), [1, 2]),  # in their own order
        (losses.keys(), ["b", "a"]),
        (losses.items(), ["b", 1, "a", 2]),
        (range(3), [0, 1, 2]),
        (collections.deque([1, (2,)]), [1, 2]),
        (collections.UserList([1, 2]), [1, 2]),
        (Masked(True, [1, 2]), [1, 2]),
        (Fields([3], 4), [3, 4]),
    ):
        assert structure.is_nested(nest)
        assert structure.flatten([nest, 5]) == [*leaves, 5]
    assert structure.map_structure(lambda x: x + 1, losses.values()) == [2, 3]
    assert structure.map_structure(lambda x: x + 1, collections.deque([1, 2])) == collections.deque(
        [2, 3]
    )
    assert structure.map_structure(lambda x: 2 * x, Masked(True, [1, 2])) == Masked(True, [2, 4])
    pair = structure.map_structure(lambda a, b: a + b, Fields([3], 4), Fields([30], 40))
    assert (type(pair), pair.y, pair.x) == (Fields, [33], 44)
    with pytest.raises(ValueError, match=r"at \['x'\]: a leaf .* against a list"):
        structure.assert_same_structure(Fields(1, 2), Fields(1, [2]))
    with pytest.raises(TypeError, match="Fields against Masked"):
        structure.assert_same_structure(Fields(1, 2), Masked(True, 1))
