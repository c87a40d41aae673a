"""String ops as steps of a tokenizer, which `tokenizer.py` and `tokenizer.js` run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from pinnace.deploy.tokenizer.errors import UnsupportedError
from pinnace.deploy.tokenizer.expressions import parse
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.tensor import Array
from pinnace.graph.graph import Node, Value

_INTEGERS = (dtypes.int32, dtypes.int64)
CARRIED = (dtypes.string, dtypes.bool, dtypes.uint8, *_INTEGERS, dtypes.float32, dtypes.float64)
Operand: TypeAlias = "Value | Array | str"


@dataclass(frozen=True, slots=True)
class Step:
    """A step.

    Attributes:
        op: its name in the JSON.
        inputs: values of the graph, constants, or names of earlier steps' results.
        outputs: values of the graph, or names.
        attrs: further entries of the JSON.
    """

    op: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Value | str, ...]
    attrs: dict[str, Any] = field(default_factory=dict)


class NodeView:
    """The node that a converter converts."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.inputs = node.inputs
        self.out = node.outputs[0]

    def attr(self, name: str) -> Any:
        """An attribute, or its default."""
        attrs = self.node.attrs
        return attrs[name] if name in attrs else self.node.op.default(name)

    def text(self, name: str) -> str:
        """An attribute as a string."""
        return text_of(self.attr(name))

    def constant(self, index: int, what: str) -> Array:
        """The value of an input, which must be a constant."""
        value = constant_of(self.inputs[index])
        if value is None:
            self.fail(f"{what} must be a constant")
        return value

    def rank(self, index: int = 0) -> int:
        """The rank of an input, which must be known."""
        rank = self.inputs[index].shape.rank
        if rank is None:
            self.fail("the rank of its input must be known")
        return rank

    def axis(self, index: int, rank: int, what: str = "axis") -> int:
        """An axis argument as a non-negative number."""
        return int(self.constant(index, what).reshape(-1)[0]) % max(rank, 1)

    def only(self, allowed: Iterable[DType], *values: Value) -> None:
        """Refuse values of other types."""
        for value in values:
            if value.dtype not in allowed:
                self.fail(f"it does not compute with {value.dtype.name}")

    def step(self, op: str, *inputs: Operand, **attrs: Any) -> list[Step]:
        """One step from the given inputs, or from all inputs, to all outputs."""
        return [Step(op, inputs or tuple(self.inputs), tuple(self.node.outputs), attrs)]

    def fail(self, reason: str) -> NoReturn:
        """Refuse the node."""
        raise UnsupportedError(reason)


def text_of(text: Any) -> str:
    """A string attribute as JSON text."""
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else str(text)


def constant_of(value: Value) -> Array | None:
    """The array of a constant."""
    if value.node.op.name != "Const":
        return None
    return np.asarray(value.node.attrs["value"])


_Converter: TypeAlias = Callable[[NodeView], list[Step]]
_CONVERTERS: dict[str, _Converter] = {}


def converts(*names: str) -> Callable[[_Converter], _Converter]:
    """Register a converter of these ops to steps."""

    def install(function: _Converter) -> _Converter:
        _CONVERTERS.update(dict.fromkeys(names, function))
        return function

    return install


def alias_of(value: Value) -> Value:
    """The value for which this one is an alias."""
    while value.node.op.alias or value.node.op.forwards:
        value = value.node.inputs[value.index]
    return value


def steps_of(node: Node) -> list[Step]:
    """The steps of a node; none for an alias.

    Raises:
        UnsupportedError: the node cannot be converted.
    """
    if node.op.alias or node.op.forwards:
        return []
    converter = _CONVERTERS.get(node.op.name)
    call = NodeView(node)
    if converter is None:
        call.fail("a tokenizer has no such step")
    for value in (*node.inputs, *node.outputs):
        if value.dtype not in CARRIED and value.dtype is not dtypes.resource:
            call.fail(f"a tokenizer does not have {value.dtype.name}")
        array = constant_of(value) if value.dtype.is_floating else None
        if array is not None and not np.isfinite(array).all():
            call.fail("JSON has no infinity and no NaN")
    return converter(call)


# Strings.


@converts("StringLower", "StringUpper")
def _case(call: NodeView) -> list[Step]:
    encoding = call.text("encoding")
    if encoding not in {"", "utf-8"}:
        call.fail(f"encoding {encoding!r}")
    return call.step(call.node.op.name.removeprefix("String").lower(), encoding=encoding)


@converts("StringStrip")
def _strip(call: NodeView) -> list[Step]:
    return call.step("strip")


@converts("StringLength")
def _length(call: NodeView) -> list[Step]:
    return call.step("length", unit=call.text("unit"))


@converts("Substr")
def _substr(call: NodeView) -> list[Step]:
    return call.step("substr", unit=call.text("unit"))


def _pattern(call: NodeView, index: int) -> str:
    if call.node.op.name.startswith("Static"):
        return call.text("pattern")
    return text_of(call.constant(index, "pattern").reshape(-1)[0])


@converts("StaticRegexReplace", "RegexReplace")
def _replace(call: NodeView) -> list[Step]:
    if call.node.op.name.startswith("Static"):
        rewrite = call.text("rewrite")
    else:
        rewrite = text_of(call.constant(2, "rewrite").reshape(-1)[0])
    parts = _rewrite(call, rewrite)
    tree = _tree(call, _pattern(call, 1), {part for part in parts if isinstance(part, int)})
    every = bool(call.attr("replace_global"))
    return call.step("replace", call.inputs[0], expression=tree, rewrite=parts, all=every)


def _rewrite(call: NodeView, rewrite: str) -> list[str | int]:
    """The parts of a rewrite string: texts, and indices of groups; 0 is the whole match."""
    parts: list[str | int] = [""]
    place = 0
    while place < len(rewrite):
        char, after = rewrite[place], rewrite[place + 1 : place + 2]
        if char == "\\" and after.isdigit():
            parts += [int(after), ""]
        elif char == "\\" and after != "\\":
            call.fail(f"rewrite {rewrite!r} has a backslash that begins nothing")
        else:
            parts[-1] = f"{parts[-1]}{char}"
        place += 2 if char == "\\" else 1
    return [part for part in parts if part != ""]


@converts("StaticRegexFullMatch", "RegexFullMatch")
def _match(call: NodeView) -> list[Step]:
    return call.step("match", call.inputs[0], expression=_tree(call, _pattern(call, 1), ()))


def _tree(call: NodeView, pattern: str, used: Iterable[int]) -> dict[str, Any]:
    try:
        return parse(pattern, used)
    except UnsupportedError as error:
        call.fail(f"expression {pattern!r} has {error}; not every engine does that alike")


@converts("StringJoin")
def _join(call: NodeView) -> list[Step]:
    if not call.inputs:
        call.fail("nothing is joined")
    return call.step("join", separator=call.text("separator"))


@converts("ReduceJoin")
def _reduce_join(call: NodeView) -> list[Step]:
    rank = call.rank()
    axes = [int(axis) % rank for axis in call.constant(1, "reduction_indices").reshape(-1)]
    keep = bool(call.attr("keep_dims"))
    return call.step(
        "reduce_join", call.inputs[0], axes=axes, keep=keep, separator=call.text("separator")
    )


@converts("StringSplitV2")
def _split(call: NodeView) -> list[Step]:
    separator = text_of(call.constant(1, "sep").reshape(-1)[0])
    return call.step("split", call.inputs[0], separator=separator, most=int(call.attr("maxsplit")))


@converts("StringSplit")
def _split_letters(call: NodeView) -> list[Step]:
    letters = text_of(call.constant(1, "delimiter").reshape(-1)[0])
    skip = bool(call.attr("skip_empty"))
    return call.step("split_letters", call.inputs[0], letters=letters, skip_empty=skip)


def _unicode(call: NodeView, *encodings: str) -> dict[str, Any]:
    for name in encodings:
        if call.text(name).upper() != "UTF-8":
            call.fail(f"{name} must be UTF-8, it is {call.text(name)}")
    return {"errors": call.text("errors"), "replacement": int(call.attr("replacement_char"))}


@converts("UnicodeDecode", "UnicodeDecodeWithOffsets")
def _decode(call: NodeView) -> list[Step]:
    attrs = _unicode(call, "input_encoding")
    controls = bool(call.attr("replace_control_characters"))
    outputs: tuple[Value | str, ...] = tuple(call.node.outputs)
    if len(outputs) < 3:
        outputs = (*outputs, "starts")
    attrs |= {"controls": controls, "dtype": call.out.dtype.name}
    return [Step("decode", (call.inputs[0],), outputs, attrs)]


@converts("UnicodeEncode")
def _encode(call: NodeView) -> list[Step]:
    return call.step("encode", **_unicode(call, "output_encoding"))


@converts("UnicodeTranscode")
def _recode(call: NodeView) -> list[Step]:
    attrs = _unicode(call, "input_encoding", "output_encoding")
    return call.step("recode", controls=bool(call.attr("replace_control_characters")), **attrs)


@converts("StringNGrams")
def _ngrams(call: NodeView) -> list[Step]:
    return call.step(
        "ngrams",
        separator=call.text("separator"),
        widths=[int(width) for width in call.attr("ngram_widths")],
        left=call.text("left_pad"),
        right=call.text("right_pad"),
        pad=int(call.attr("pad_width")),
        keep_short=bool(call.attr("preserve_short_sequences")),
    )


@converts("DecodeRaw", "DecodePaddedRaw")
def _bytes(call: NodeView) -> list[Step]:
    call.only((dtypes.uint8,), call.out)
    length = 0
    if call.node.op.name == "DecodePaddedRaw":
        length = int(call.constant(1, "fixed_length").reshape(-1)[0])
    return call.step("bytes", call.inputs[0], length=length)


@converts("StringToNumber")
def _to_integer(call: NodeView) -> list[Step]:
    call.only(_INTEGERS, call.out)
    return call.step("to_integer", dtype=call.out.dtype.name)


@converts("AsString")
def _as_string(call: NodeView) -> list[Step]:
    call.only(_INTEGERS, call.inputs[0])
    if call.attr("width") != -1 or call.attr("precision") != -1 or call.attr("fill"):
        call.fail("integers are written without width, precision and fill only")
    return call.step("as_string")


@converts("StringToHashBucketFast", "StringToHashBucketStrong")
def _hash(call: NodeView) -> list[Step]:
    attrs: dict[str, Any] = {"buckets": json_int(call.attr("num_buckets"))}
    if call.node.op.name.endswith("Strong"):
        key = [json_int(int(word) % (1 << 64)) for word in call.attr("key")]
        if len(key) != 2:
            call.fail("key must be two integers")
        return call.step("hash", kind="sip64", key=key, **attrs)
    return call.step("hash", kind="farm64", **attrs)


def json_int(number: int) -> int | str:
    """An integer for any JSON reader: a string if it has more than 53 bits."""
    return int(number) if abs(int(number)) < 1 << 53 else str(int(number))


@converts("LookupTableFindV2")
def _lookup(call: NodeView) -> list[Step]:
    handle = constant_of(call.inputs[0])
    table: Any = None if handle is None or handle.ndim else handle[()]
    if not hasattr(table, "export"):
        call.fail("which table it is must be known")
    keys, values = (np.asarray(part) for part in table.export("LookupTableFindV2"))
    call.only((dtypes.string, *_INTEGERS), call.inputs[1])
    if values.ndim != 1 or call.rank(2):
        call.fail("the values of a table must be single ones")
    if call.out.dtype.is_floating and not np.isfinite(values).all():
        call.fail("JSON has no infinity and no NaN")
    types = call.inputs[1].dtype, call.out.dtype
    return call.step("lookup", *call.inputs[1:], table=(keys, types[0], values, types[1]))
