"""Ops as steps of a tokenizer: what `tokenizer.py` and `tokenizer.js` can do of a program."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from pinnace.deploy.onnx.text.expressions import ExpressionError, parse
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.tensor import Array
from pinnace.graph.graph import Node, Value

_INTEGERS = (dtypes.int32, dtypes.int64)
CARRIED = (dtypes.string, dtypes.bool, dtypes.uint8, *_INTEGERS, dtypes.float32, dtypes.float64)
Operand: TypeAlias = "Value | Array | str"


class UnsayableError(ValueError):
    """What a node does is no step of a tokenizer; the message says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step.

    Attributes:
        op: its name in the JSON.
        inputs: values of the graph, constants, or names of what a step before gave.
        outputs: values of the graph, or names.
        attrs: the rest of what the JSON says.
    """

    op: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Value | str, ...]
    attrs: dict[str, Any] = field(default_factory=dict)


class Said:
    """A node, asked for what its step needs."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.inputs = node.inputs
        self.out = node.outputs[0]

    def attr(self, name: str) -> Any:
        """An attribute, its default if it is not written."""
        attrs = self.node.attrs
        return attrs[name] if name in attrs else self.node.op.default(name)

    def text(self, name: str) -> str:
        """A text attribute."""
        return text_of(self.attr(name))

    def constant(self, index: int, what: str) -> Array:
        """An input that must be a constant."""
        value = constant_of(self.inputs[index])
        if value is None:
            self.fail(f"{what} must be a constant")
        return value

    def rank(self, index: int = 0) -> int:
        """How many axes an input has."""
        rank = self.inputs[index].shape.rank
        if rank is None:
            self.fail("how many axes there are must be known")
        return rank

    def axis(self, index: int, rank: int, what: str = "axis") -> int:
        """An input that is an axis, not negative."""
        return int(self.constant(index, what).reshape(-1)[0]) % max(rank, 1)

    def only(self, allowed: Iterable[DType], *values: Value) -> None:
        """Refuse other types."""
        for value in values:
            if value.dtype not in allowed:
                self.fail(f"it does not compute with {value.dtype.name}")

    def step(self, op: str, *inputs: Operand, **attrs: Any) -> list[Step]:
        """One step from all inputs, or from those given, to all outputs."""
        return [Step(op, inputs or tuple(self.inputs), tuple(self.node.outputs), attrs)]

    def fail(self, reason: str) -> NoReturn:
        """This is no step."""
        raise UnsayableError(reason)


def text_of(text: Any) -> str:
    """A string as the JSON has it."""
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else str(text)


def constant_of(value: Value) -> Array | None:
    """The array of a constant."""
    if value.node.op.name != "Const":
        return None
    return np.asarray(value.node.attrs["value"])


_Sayer: TypeAlias = Callable[[Said], list[Step]]
SAYERS: dict[str, _Sayer] = {}


def says(*names: str) -> Callable[[_Sayer], _Sayer]:
    """Register how ops are said."""

    def install(function: _Sayer) -> _Sayer:
        SAYERS.update(dict.fromkeys(names, function))
        return function

    return install


def alias_of(value: Value) -> Value:
    """What a value is another name of."""
    while value.node.op.name in _ALIASES:
        value = value.node.inputs[value.index]
    return value


_ALIASES = frozenset({"Identity", "IdentityN", "StopGradient", "Snapshot", "EnsureShape"})


def say(node: Node) -> list[Step]:
    """The steps of a node; none if it only gives another name.

    Raises:
        UnsayableError: a tokenizer cannot do it.
    """
    if node.op.name in _ALIASES:
        return []
    sayer = SAYERS.get(node.op.name)
    said = Said(node)
    if sayer is None:
        said.fail("a tokenizer has no such step")
    for value in (*node.inputs, *node.outputs):
        if value.dtype not in CARRIED and value.dtype is not dtypes.resource:
            said.fail(f"a tokenizer does not have {value.dtype.name}")
        array = constant_of(value) if value.dtype.is_floating else None
        if array is not None and not np.isfinite(array).all():
            said.fail("JSON has no infinity and no NaN")
    return sayer(said)


# Strings.


@says("StringLower", "StringUpper")
def _case(said: Said) -> list[Step]:
    encoding = said.text("encoding")
    if encoding not in {"", "utf-8"}:
        said.fail(f"encoding {encoding!r}")
    return said.step(said.node.op.name.removeprefix("String").lower(), encoding=encoding)


@says("StringStrip")
def _strip(said: Said) -> list[Step]:
    return said.step("strip")


@says("StringLength")
def _length(said: Said) -> list[Step]:
    return said.step("length", unit=said.text("unit"))


@says("Substr")
def _substr(said: Said) -> list[Step]:
    return said.step("substr", unit=said.text("unit"))


def _pattern(said: Said, index: int) -> str:
    if said.node.op.name.startswith("Static"):
        return said.text("pattern")
    return text_of(said.constant(index, "pattern").reshape(-1)[0])


@says("StaticRegexReplace", "RegexReplace")
def _replace(said: Said) -> list[Step]:
    if said.node.op.name.startswith("Static"):
        rewrite = said.text("rewrite")
    else:
        rewrite = text_of(said.constant(2, "rewrite").reshape(-1)[0])
    parts = _rewrite(said, rewrite)
    tree = _tree(said, _pattern(said, 1), {part for part in parts if isinstance(part, int)})
    every = bool(said.attr("replace_global"))
    return said.step("replace", said.inputs[0], expression=tree, rewrite=parts, all=every)


def _rewrite(said: Said, rewrite: str) -> list[str | int]:
    """Texts, and numbers of groups; 0 is the whole match."""
    parts: list[str | int] = [""]
    place = 0
    while place < len(rewrite):
        char, after = rewrite[place], rewrite[place + 1 : place + 2]
        if char == "\\" and after.isdigit():
            parts += [int(after), ""]
        elif char == "\\" and after != "\\":
            said.fail(f"rewrite {rewrite!r} has a backslash that begins nothing")
        else:
            parts[-1] = f"{parts[-1]}{char}"
        place += 2 if char == "\\" else 1
    return [part for part in parts if part != ""]


@says("StaticRegexFullMatch", "RegexFullMatch")
def _match(said: Said) -> list[Step]:
    return said.step("match", said.inputs[0], expression=_tree(said, _pattern(said, 1), ()))


def _tree(said: Said, pattern: str, used: Iterable[int]) -> dict[str, Any]:
    try:
        return parse(pattern, used)
    except ExpressionError as error:
        said.fail(f"expression {pattern!r} has {error}; not every engine does that alike")


@says("StringJoin")
def _join(said: Said) -> list[Step]:
    if not said.inputs:
        said.fail("nothing is joined")
    return said.step("join", separator=said.text("separator"))


@says("ReduceJoin")
def _reduce_join(said: Said) -> list[Step]:
    rank = said.rank()
    axes = [int(axis) % rank for axis in said.constant(1, "reduction_indices").reshape(-1)]
    keep = bool(said.attr("keep_dims"))
    return said.step(
        "reduce_join", said.inputs[0], axes=axes, keep=keep, separator=said.text("separator")
    )


@says("StringSplitV2")
def _split(said: Said) -> list[Step]:
    separator = text_of(said.constant(1, "sep").reshape(-1)[0])
    return said.step("split", said.inputs[0], separator=separator, most=int(said.attr("maxsplit")))


@says("StringSplit")
def _split_letters(said: Said) -> list[Step]:
    letters = text_of(said.constant(1, "delimiter").reshape(-1)[0])
    skip = bool(said.attr("skip_empty"))
    return said.step("split_letters", said.inputs[0], letters=letters, skip_empty=skip)


def _unicode(said: Said, *encodings: str) -> dict[str, Any]:
    for name in encodings:
        if said.text(name).upper() != "UTF-8":
            said.fail(f"{name} must be UTF-8, it is {said.text(name)}")
    return {"errors": said.text("errors"), "replacement": int(said.attr("replacement_char"))}


@says("UnicodeDecode", "UnicodeDecodeWithOffsets")
def _decode(said: Said) -> list[Step]:
    attrs = _unicode(said, "input_encoding")
    controls = bool(said.attr("replace_control_characters"))
    outputs: tuple[Value | str, ...] = tuple(said.node.outputs)
    if len(outputs) < 3:
        outputs = (*outputs, "starts")
    attrs |= {"controls": controls, "dtype": said.out.dtype.name}
    return [Step("decode", (said.inputs[0],), outputs, attrs)]


@says("UnicodeEncode")
def _encode(said: Said) -> list[Step]:
    return said.step("encode", **_unicode(said, "output_encoding"))


@says("UnicodeTranscode")
def _recode(said: Said) -> list[Step]:
    attrs = _unicode(said, "input_encoding", "output_encoding")
    return said.step("recode", controls=bool(said.attr("replace_control_characters")), **attrs)


@says("StringNGrams")
def _ngrams(said: Said) -> list[Step]:
    return said.step(
        "ngrams",
        separator=said.text("separator"),
        widths=[int(width) for width in said.attr("ngram_widths")],
        left=said.text("left_pad"),
        right=said.text("right_pad"),
        pad=int(said.attr("pad_width")),
        keep_short=bool(said.attr("preserve_short_sequences")),
    )


@says("DecodeRaw", "DecodePaddedRaw")
def _bytes(said: Said) -> list[Step]:
    said.only((dtypes.uint8,), said.out)
    length = 0
    if said.node.op.name == "DecodePaddedRaw":
        length = int(said.constant(1, "fixed_length").reshape(-1)[0])
    return said.step("bytes", said.inputs[0], length=length)


@says("StringToNumber")
def _to_integer(said: Said) -> list[Step]:
    said.only(_INTEGERS, said.out)
    return said.step("to_integer", dtype=said.out.dtype.name)


@says("AsString")
def _as_string(said: Said) -> list[Step]:
    said.only(_INTEGERS, said.inputs[0])
    if said.attr("width") != -1 or said.attr("precision") != -1 or said.attr("fill"):
        said.fail("integers are written without width, precision and fill only")
    return said.step("as_string")


@says("StringToHashBucketFast", "StringToHashBucketStrong")
def _hash(said: Said) -> list[Step]:
    attrs: dict[str, Any] = {"buckets": json_int(said.attr("num_buckets"))}
    if said.node.op.name.endswith("Strong"):
        key = [json_int(int(word) % (1 << 64)) for word in said.attr("key")]
        if len(key) != 2:
            said.fail("key must be two integers")
        return said.step("hash", kind="sip64", key=key, **attrs)
    return said.step("hash", kind="farm64", **attrs)


def json_int(number: int) -> int | str:
    """An integer as every reader of JSON keeps it: beyond 53 bits as a text."""
    return int(number) if abs(int(number)) < 1 << 53 else str(int(number))


@says("LookupTableFindV2")
def _lookup(said: Said) -> list[Step]:
    handle = constant_of(said.inputs[0])
    table: Any = None if handle is None or handle.ndim else handle[()]
    if not hasattr(table, "export"):
        said.fail("which table it is must be known")
    keys, values = (np.asarray(part) for part in table.export("LookupTableFindV2"))
    said.only((dtypes.string, *_INTEGERS), said.inputs[1])
    if values.ndim != 1 or said.rank(2):
        said.fail("the values of a table must be single ones")
    if said.out.dtype.is_floating and not np.isfinite(values).all():
        said.fail("JSON has no infinity and no NaN")
    types = said.inputs[1].dtype, said.out.dtype
    return said.step("lookup", *said.inputs[1:], table=(keys, types[0], values, types[1]))
