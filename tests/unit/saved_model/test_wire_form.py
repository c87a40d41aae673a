"""Canonical bytes of messages: the shortcut for attributes without maps changes nothing."""

from __future__ import annotations

import functools
import random
from typing import TYPE_CHECKING, Any

from pinnace.proto.attr_value_pb2 import AttrValue, NameAttrList
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.saved_model import wire_form

if TYPE_CHECKING:
    import pytest

# Each string is a prefix of others, and some look like tags.
NAMES = ("T", "Tidx", "T\n", "shape", "shapes", "J", "\x12", "", "a" * 130)


def attribute(draw: random.Random, depth: int) -> AttrValue:
    """Any kind of attribute; functions have attributes, too."""
    kind = draw.choice(["s", "i", "type", "shape", "list", "func", "funcs", "none"])
    found = AttrValue()
    if kind == "s":
        found.s = draw.choice([b"", b"\x12\x0a\x52\x4a", draw.randbytes(draw.randrange(300))])
    elif kind == "i":
        found.i = draw.choice([0, 10, 18, 74, 82, -1, 2**40])
    elif kind == "type":
        found.type = draw.randrange(23)
    elif kind == "shape":
        found.shape.dim.add(size=draw.choice([-1, 10, 18, 74, 82]))
    elif kind == "list":
        found.list.i.extend(draw.choices([10, 18, 74, 82], k=draw.randrange(4)))
        found.list.s.extend(draw.choices([b"J", b"\x4a\x12"], k=draw.randrange(3)))
    elif kind == "func" and depth:
        found.func.CopyFrom(function(draw, depth - 1))
    elif kind == "funcs" and depth:
        found.list.func.extend(function(draw, depth - 1) for _ in range(draw.randrange(3)))
    return found


def function(draw: random.Random, depth: int) -> NameAttrList:
    found = NameAttrList(name=draw.choice(NAMES))
    for name in draw.sample(NAMES, draw.randrange(len(NAMES))):
        found.attr[name].CopyFrom(attribute(draw, depth))
    return found


def graph(seed: int) -> GraphDef:
    draw = random.Random(seed)
    found = GraphDef()
    for number in range(draw.randrange(1, 4)):
        node = found.node.add(name=f"n{number}", op=draw.choice(NAMES))
        for name in draw.sample(NAMES, draw.randrange(len(NAMES))):
            node.attr[name].CopyFrom(attribute(draw, 2))
    for name in draw.sample(NAMES, draw.randrange(4)):
        made = found.library.function.add()
        made.attr[name].CopyFrom(attribute(draw, 1))
        made.arg_attr[draw.randrange(300)].attr[name].CopyFrom(attribute(draw, 1))
        made.ret[name] = name[::-1]
    return found


def test_what_is_passed_over_is_what_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [graph(seed) for seed in range(400)]
    found = [wire_form.canonical(one) for one in drawn]
    # Without the shortcut, every value is parsed.
    fields: Any = wire_form._fields_with_maps.__wrapped__

    @functools.cache
    def taken_apart(kind: Any) -> Any:
        return {number: one._replace(deep=None) for number, one in fields(kind).items()}

    monkeypatch.setattr(wire_form, "_fields_with_maps", taken_apart)
    assert [wire_form.canonical(one) for one in drawn] == found
    for one, data in zip(drawn, found, strict=True):
        assert GraphDef.FromString(data) == one
