"""The object graph: what becomes a child, under which name, and how it is found."""

import collections
import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import context
from pinnace.framework.autotrackable import AutoTrackable, no_automatic_dependency_tracking
from pinnace.framework.containers import (
    DictWrapper,
    ListWrapper,
    OrderedDictWrapper,
    TupleWrapper,
    wrap,
)
from pinnace.framework.module import Module, snake_case
from pinnace.framework.trackable import NoDependency, Trackable, walk, walk_variables


class Leaf(Trackable):
    pass


class Value(Trackable):
    """A class that counts as a variable."""

    _is_variable = True

    def __init__(self, trainable: bool = True) -> None:
        self.trainable = trainable

    def __eq__(self, other: object) -> bool:
        raise AssertionError("variables compare element by element")

    __hash__ = None  # type: ignore[assignment]  # as variables


class Node(AutoTrackable):
    pass


class Pair(NamedTuple):
    first: object
    second: object


def names(x: Trackable) -> list[str]:
    return list(x._trackable_children())


def test_trackable_attributes_are_children_in_the_order_they_came() -> None:
    node = Node()
    node.z, node.number, node.a = Leaf(), 3, Leaf()
    assert names(node) == ["z", "a"]
    assert node._trackable_children()["a"] is node.a
    node.z = Leaf()
    assert names(node) == ["z", "a"]
    assert node._trackable_children()["z"] is node.z


def test_replacing_or_deleting_an_attribute_takes_the_child_away() -> None:
    node = Node()
    node.a, node.b = Leaf(), Leaf()
    node.a = 1
    assert names(node) == ["b"]
    del node.b
    assert names(node) == []
    with pytest.raises(AttributeError):
        del node.b


def test_a_subclass_need_not_call_the_constructor() -> None:
    class Silent(AutoTrackable):
        def __init__(self) -> None:
            self.child = Leaf()

    assert names(Silent()) == ["child"]
    assert Leaf()._trackable_children() == {}


def test_tracking_by_hand_refuses_a_second_child_of_one_name() -> None:
    leaf, child = Leaf(), Leaf()
    assert leaf._track("x", child) is child
    leaf._track("x", child)
    with pytest.raises(ValueError, match="Leaf: a child named 'x' is there already"):
        leaf._track("x", Leaf())
    leaf._track("x", Leaf(), overwrite=True)
    with pytest.raises(TypeError, match="must be a Trackable, got int"):
        leaf._track("y", 1)  # type: ignore[arg-type]  # on purpose


def test_tracking_can_be_declined() -> None:
    class Private(AutoTrackable):
        def __init__(self) -> None:
            self.shared = NoDependency(Leaf())
            self.items = NoDependency([Leaf()])
            self.fill()
            self.seen = Leaf()

        @no_automatic_dependency_tracking
        def fill(self) -> None:
            self.hidden = Leaf()

    private = Private()
    assert names(private) == ["seen"]
    assert isinstance(private.shared, Leaf)
    assert type(private.items) is list


def test_a_property_is_tracked_under_the_name_it_stores() -> None:
    class Guarded(AutoTrackable):
        @property
        def inner(self) -> Leaf:
            return self._inner

        @inner.setter
        def inner(self, value: Leaf) -> None:
            self._inner = value

    guarded = Guarded()
    guarded.inner = Leaf()
    assert names(guarded) == ["_inner"]


def test_containers_become_tracked_ones_and_stay_what_they_are() -> None:
    node = Node()
    node.items, node.table = [Leaf()], {"k": Leaf()}
    node.pair, node.point = (Leaf(), 1), Pair(Leaf(), 2)
    node.ordered = collections.OrderedDict(z=Leaf(), a=Leaf())
    node.plain, node.numbers = (1, 2), Pair(1, 2)
    assert [type(x) for x in (node.items, node.table, node.pair, node.ordered)] == [
        ListWrapper,
        DictWrapper,
        TupleWrapper,
        OrderedDictWrapper,
    ]
    assert isinstance(node.items, list)
    assert isinstance(node.table, dict)
    assert isinstance(node.ordered, collections.OrderedDict)
    assert isinstance(node.point, Pair)
    assert [type(node.plain), type(node.numbers)] == [tuple, Pair]
    assert [names(x) for x in (node.items, node.table, node.pair, node.point, node.ordered)] == [
        ["0"],
        ["k"],
        ["0"],
        ["first"],
        ["z", "a"],
    ]
    assert names(node) == ["items", "table", "pair", "point", "ordered"]


STEPS: dict[str, Callable[[list[Any], int, object], object]] = {
    "append": lambda items, _, value: items.append(value),
    "insert": lambda items, i, value: items.insert(i, value),
    "extend": lambda items, i, value: items.extend([value, i]),
    "add": lambda items, i, value: operator.iadd(items, [value, i]),
    "set": lambda items, i, value: i < len(items) and operator.setitem(items, i, value),
    "slice": lambda items, i, value: operator.setitem(items, slice(i, i + 1), [value]),
    "pop": lambda items, i, _: i < len(items) and items.pop(i),
    "delete": lambda items, i, _: operator.delitem(items, slice(i, i + 2)),
    "reverse": lambda items, _i, _value: items.reverse(),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 5))))
def test_a_tracked_list_does_what_a_list_does_and_its_children_follow(
    steps: list[tuple[str, int]],
) -> None:
    plain: list[Any] = []
    tracked: ListWrapper[Any] = ListWrapper()
    for step, i in steps:
        value: object = Leaf() if i % 2 else [i]
        STEPS[step](plain, i, value)
        STEPS[step](tracked, i, value)
    assert tracked == plain
    assert plain == tracked
    children = tracked._trackable_children()
    assert list(children) == [
        str(i) for i, x in enumerate(plain) if isinstance(x, (Trackable, list))
    ]
    assert all(children[name] is tracked[int(name)] for name in children)


def test_a_tracked_dict_does_what_a_dict_does_and_its_children_follow() -> None:
    tracked: DictWrapper[Any, Any] = DictWrapper({"a": 1}, b=[2])
    tracked["c"] = Leaf()
    tracked.update({"d": {"e": Leaf()}}, f=3)
    tracked |= {"g": [4]}
    assert tracked.setdefault("h", [5]) is tracked["h"]
    assert tracked.setdefault("a", 9) == 1
    assert names(tracked) == ["b", "c", "d", "g", "h"]
    assert names(tracked["d"]) == ["e"]
    del tracked["c"], tracked["d"]
    assert tracked == {"a": 1, "b": [2], "f": 3, "g": [4], "h": [5]}
    assert names(tracked) == ["b", "g", "h"]
    assert type(tracked.copy()) is DictWrapper
    assert type(DictWrapper.fromkeys("xy", [1])["x"]) is ListWrapper


def test_a_dict_with_something_to_save_must_have_names_for_it() -> None:
    assert DictWrapper({1: 2})._trackable_children() == {}
    with pytest.raises(ValueError, match=r"strings as keys, got 1 \(int\) for Leaf"):
        DictWrapper({1: Leaf()})._trackable_children()


@pytest.mark.parametrize(
    "plain",
    [[1, [2]], {"a": 1, "b": [2]}, (1, [2]), Pair(1, [2]), collections.OrderedDict(b=1, a=[2])],
    ids=lambda x: type(x).__name__,
)
def test_tracked_containers_survive_copying_and_pickling(plain: object) -> None:
    tracked = wrap(plain)
    assert isinstance(tracked, Trackable)
    for other in (
        pickle.loads(pickle.dumps(tracked)),  # noqa: S301 (our own bytes)
        copy.copy(tracked),
        copy.deepcopy(tracked),
    ):
        assert other == tracked == plain
        assert isinstance(other, Trackable)
        assert isinstance(other, type(plain))


def test_a_deep_copy_has_children_of_its_own() -> None:
    node = Node()
    node.leaf = Leaf()
    node.items = [node.leaf]
    other = copy.deepcopy(node)
    assert other._trackable_children()["leaf"] is other.leaf is other.items[0]
    assert other.leaf is not node.leaf


def test_walking_visits_each_object_once_breadth_first() -> None:
    root, left, right = Node(), Node(), Node()
    shared = Leaf()
    root.left, root.right = left, right
    left.deep = [shared]
    right.shared = shared
    right.up = root
    found = list(walk(root))
    assert [path for _, path in found] == [
        (),
        ("left",),
        ("right",),
        ("left", "deep"),
        ("right", "shared"),
    ]
    assert found[-1][0] is shared


class Net(Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.w = Value()
        self.layers = [Net(depth - 1)] if depth else []
        self.extra = {"b": Value(trainable=False), "a": Value()}


def test_a_module_lists_its_variables_by_name_its_own_first() -> None:
    net = Net(1)
    expected = [net.extra["a"], net.extra["b"], net.w]
    below = net.layers[0]
    expected += [below.extra["a"], below.extra["b"], below.w]
    assert [id(v) for v in net.variables] == [id(v) for v in expected]
    assert [id(v) for v in net.trainable_variables] == [id(v) for v in expected if v.trainable]
    assert [id(v) for v in net.non_trainable_variables] == [
        id(v) for v in expected if not v.trainable
    ]
    assert {id(v) for v, _ in walk_variables(net)} == {id(v) for v in expected}


def test_submodules_are_found_once_even_in_a_cycle() -> None:
    net = Net(2)
    net.me, net.again = net, net.layers[0]
    assert [id(m) for m in net.submodules] == [id(net.layers[0]), id(net.layers[0].layers[0])]
    assert len(net.variables) == 9


def test_a_walk_with_paths_tells_where_a_value_stands() -> None:
    net = Net(1)
    found = dict(net._flatten(predicate=lambda x: isinstance(x, Value), with_path=True))
    assert ("layers", 0, "extra", "a") in found
    assert found["w",] is net.w


def test_an_attribute_that_cannot_be_searched_is_named() -> None:
    net = Net(0)
    net.mixed = {1: 1, "a": 2}
    with pytest.raises(ValueError, match="Net: attribute 'mixed' cannot be searched"):
        _ = net.variables


def test_names_are_those_of_tensorflow() -> None:
    assert Net(0).name == "net"
    assert Module("given").name == "given"
    for camel, snake in {
        "MyDense": "my_dense",
        "HTTPServer2": "http_server2",
        "Conv2DTranspose": "conv2_d_transpose",
    }.items():
        assert snake_case(camel) == snake
    with pytest.raises(ValueError, match="must be a Python identifier, got 'a b'"):
        Module("a b")


def test_methods_run_in_the_scope_of_their_module() -> None:
    class Scoped(Module):
        @Module.with_name_scope
        def scope(self) -> str:
            return context.state.scope

    with context.name_scope("outer"):
        scoped = Scoped("inner")
    assert scoped.scope() == "outer/inner/"
    with context.name_scope("elsewhere"), scoped.name_scope as prefix:
        assert prefix == context.state.scope == "outer/inner/"
    assert context.state.scope == ""
