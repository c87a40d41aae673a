"""Converts strings to a model's numerical inputs, by the steps in a `.tokenizer.json` file.

`pinnace export --cut-strings` writes the JSON, and this file beside it: it needs only Python's
standard library, so copy it to where the model runs. `tokenizer.js` does the same.

    numbers = Tokenizer.load("model.tokenizer.json")(text=["Hello, world!"])
    feeds = {name: np.array(t.data, t.dtype).reshape(t.shape) for name, t in numbers.items()}
    session.run(None, feeds)

Strings are bytes internally, as in TensorFlow. In JSON, and where characters matter, they are
UTF-8, and an invalid byte is the character U+DC00 plus that byte.
"""

# A single file that can be copied; all steps have the same signature, with attributes or not.
# ruff: noqa: ARG001

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

FORMAT, VERSION = "pinnace.tokenizer", 1
_MOST = 1 << 26  # elements of a tensor; more would come from wrong numbers
_MASK = (1 << 64) - 1
_SPACE = b" \t\n\v\f\r"
_BITS = {"int32": 32, "int64": 64, "uint8": 8}


class TokenizerError(ValueError):
    """The file is not a tokenizer, or the inputs do not match it."""


class Tensor(NamedTuple):
    """A tensor of numbers, bools or strings (bytes).

    Attributes:
        dtype: string, bool, uint8, int32, int64, float32 or float64.
        shape: sizes of the axes.
        data: the elements in row-major order.
    """

    dtype: str
    shape: tuple[int, ...]
    data: list[Any]

    def tolist(self) -> Any:
        """The elements as nested lists."""
        found: list[Any] = self.data
        for size in reversed(self.shape[1:]):
            found = [found[i : i + size] for i in range(0, len(found), size)] if size else []
        return found if self.shape else found[0]


class Tokenizer:
    """A tokenizer's program.

    Args:
        document: the content of the JSON file.

    Attributes:
        inputs: name -> {dtype, shape}; null is a variable size.
        outputs: the same, by the names of the model's inputs.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        if document.get("format") != FORMAT or document.get("version") != VERSION:
            raise TokenizerError(f"this is not a file of {FORMAT}, version {VERSION}")
        self.inputs: Mapping[str, Any] = document["inputs"]
        self.outputs: Mapping[str, Any] = document["outputs"]
        self._constants = {name: _constant(one) for name, one in document["constants"].items()}
        self._tables = {name: _table(one) for name, one in document["tables"].items()}
        self._steps: list[dict[str, Any]] = document["steps"]
        for step in self._steps:
            if step["op"] not in _STEPS and step["op"] != "lookup":
                raise TokenizerError(f"there is no step {step['op']!r}")

    @classmethod
    def load(cls, path: str) -> "Tokenizer":
        """Load the program from a file."""
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 (a file to copy: one import less)
            return cls(json.load(file))

    def __call__(self, **inputs: Any) -> dict[str, Tensor]:
        """Compute the model's inputs.

        Args:
            **inputs: by name: a string or number, or nested lists of them.
        """
        if set(inputs) != set(self.inputs):
            raise TokenizerError(f"inputs must be {sorted(self.inputs)}, got {sorted(inputs)}")
        values = dict(self._constants)
        for name, wanted in self.inputs.items():
            values[name] = _given(name, inputs[name], wanted)
        for step in self._steps:
            arguments = [values[name] for name in step["in"]]
            found: Tensor | tuple[Tensor, ...]
            if step["op"] == "lookup":
                found = _lookup(self._tables[step["table"]], *arguments)
            else:
                found = _STEPS[step["op"]](step, *arguments)
            results = (found,) if isinstance(found, Tensor) else found
            values.update(zip(step["out"], results, strict=True))
        return {name: values[one["value"]] for name, one in self.outputs.items()}


# Inputs.


def text_of(item: bytes) -> str:
    """Bytes as a str of characters."""
    return item.decode("utf-8", "surrogateescape")


def bytes_of(item: str | bytes) -> bytes:
    """A str as bytes."""
    return item if isinstance(item, bytes) else item.encode("utf-8", "surrogateescape")


def _constant(one: Mapping[str, Any]) -> Tensor:
    data = [_element(one["dtype"], item) for item in one["data"]]
    return Tensor(one["dtype"], tuple(one["shape"]), data)


def _element(dtype: str, item: Any) -> Any:
    """An element from its JSON form, in which large integers are strings."""
    if dtype == "string":
        return bytes_of(item)
    return int(item) if dtype in _BITS else item


def _table(one: Mapping[str, Any]) -> tuple[str, dict[Any, Any]]:
    keys = [_element(one["keys"]["dtype"], key) for key in one["keys"]["data"]]
    dtype = one["values"]["dtype"]
    first = one["values"].get("first")
    if first is not None:
        return dtype, {key: index for index, key in enumerate(keys, first)}
    values = [_element(dtype, value) for value in one["values"]["data"]]
    return dtype, dict(zip(keys, values, strict=True))


def _given(name: str, given: Any, wanted: Mapping[str, Any]) -> Tensor:
    shape: list[int] = []
    data = [given.tolist() if hasattr(given, "tolist") else given]
    while data and isinstance(data[0], (list, tuple)):
        size = len(data[0])
        if any(not isinstance(row, (list, tuple)) or len(row) != size for row in data):
            raise TokenizerError(f"input {name!r}: rows must have one length")
        shape.append(size)
        data = [item for row in data for item in row]
    sizes = wanted["shape"]
    shape += sizes[len(shape) :] if not data else []
    fits = len(shape) == len(sizes) and all(
        a in (b, None) for a, b in zip(sizes, shape, strict=True)
    )
    if not fits:
        raise TokenizerError(f"input {name!r} must have shape {sizes}, got {shape}")
    kinds = (str, bytes) if wanted["dtype"] == "string" else (int, float)
    if any(not isinstance(item, kinds) for item in data):
        raise TokenizerError(f"input {name!r} must be {wanted['dtype']}")
    return Tensor(wanted["dtype"], tuple(shape), [_element(wanted["dtype"], i) for i in data])


# Steps.


_Step = Callable[..., Tensor | tuple[Tensor, ...]]
_F = TypeVar("_F", bound=_Step)
_STEPS: dict[str, _Step] = {}  # `lookup`, which needs the tables, is not among them


def _step(function: _F) -> _F:
    """Register a step under its name without leading underscores."""
    _STEPS[function.__name__.strip("_")] = function
    return function


def _ints(dtype: str, items: Iterable[int]) -> Tensor:
    data = list(items)
    return Tensor(dtype, (len(data),), data)


def _strings(items: Iterable[bytes], shape: tuple[int, ...] | None = None) -> Tensor:
    data = list(items)
    return Tensor("string", (len(data),) if shape is None else shape, data)


def _number(x: Tensor) -> int:
    (found,) = x.data
    return int(found)


def _wrapped(dtype: str, value: Any) -> Any:
    """An integer wrapped to the range of its type."""
    bits = _BITS.get(dtype)
    if bits is None:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype != "uint8" and value >> (bits - 1) else value


def _size(shape: Sequence[int]) -> int:
    count = math.prod(shape)
    if count > _MOST:
        raise TokenizerError(f"a tensor of shape {list(shape)} is too large")
    return count


@_step
def _lower(step: dict[str, Any], x: Tensor) -> Tensor:
    if step["encoding"]:
        return x._replace(data=[bytes_of(text_of(item).lower()) for item in x.data])
    return x._replace(data=[item.lower() for item in x.data])


@_step
def _upper(step: dict[str, Any], x: Tensor) -> Tensor:
    if step["encoding"]:
        return x._replace(data=[bytes_of(text_of(item).upper()) for item in x.data])
    return x._replace(data=[item.upper() for item in x.data])


@_step
def _strip(step: dict[str, Any], x: Tensor) -> Tensor:
    return x._replace(data=[item.strip(_SPACE) for item in x.data])


@_step
def _length(step: dict[str, Any], x: Tensor) -> Tensor:
    if step["unit"] == "BYTE":
        return Tensor("int32", x.shape, [len(item) for item in x.data])
    return Tensor("int32", x.shape, [len(_starts(item)) - 1 for item in x.data])


def _starts(item: bytes) -> list[int]:
    """The offset of each code point, and the length."""
    return [*(i for i, byte in enumerate(item) if byte & 0xC0 != 0x80), len(item)]


@_step
def _substr(step: dict[str, Any], x: Tensor, begin: Tensor, count: Tensor) -> Tensor:
    shape, (items, begins, counts) = _spread(x, begin, count)
    return _strings(map(_part, items, begins, counts, [step["unit"]] * len(items)), shape)


def _part(item: bytes, begin: int, count: int, unit: str) -> bytes:
    at = range(len(item) + 1) if unit == "BYTE" else _starts(item)
    size = len(at) - 1
    if not -size <= begin <= size or (count < 0 and begin < 0 and unit != "BYTE"):
        raise TokenizerError(f"substr: position {begin} is out of range for {item!r}")
    begin += size if begin < 0 else 0
    if count < 0 and unit == "BYTE":
        return item[begin:]
    return item[at[begin] : at[min(begin + max(count, 0), size)]]


@_step
def _join(step: dict[str, Any], *xs: Tensor) -> Tensor:
    shape, columns = _spread(*xs)
    between = bytes_of(step["separator"])
    return _strings((between.join(row) for row in zip(*columns, strict=True)), shape)


@_step
def _reduce_join(step: dict[str, Any], x: Tensor) -> Tensor:
    shape, rows = _rows(step, x)
    return _strings((bytes_of(step["separator"]).join(row) for row in rows), shape)


@_step
def _split(step: dict[str, Any], x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    between, most = bytes_of(step["separator"]), step["most"]
    return _pieces([_parts(item, between, most) for item in x.data])


def _parts(item: bytes, between: bytes, most: int) -> list[bytes]:
    if most == 0:
        return [item]
    if between:
        return item.split(between, most)
    parts = []
    rest = item.lstrip(_SPACE)
    while rest:
        (word,) = rest.split(None, 1)[:1]
        parts.append(word)
        rest = rest[len(word) :].lstrip(_SPACE)
        if most == len(parts):
            return [*parts, rest]
    return parts


@_step
def _split_letters(step: dict[str, Any], x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    letters = bytes_of(step["letters"])
    rows = []
    for item in x.data:
        cut = bytes.maketrans(letters, letters[:1] * len(letters))
        parts = item.translate(cut).split(letters[:1]) if letters and item else []
        parts = parts if letters else [item[i : i + 1] for i in range(len(item))]
        rows.append([part for part in parts if part or not step["skip_empty"]])
    return _pieces(rows)


def _pieces(rows: list[list[bytes]]) -> tuple[Tensor, Tensor, Tensor]:
    """The components of a sparse tensor: indices, values, shape."""
    places = [place for i, row in enumerate(rows) for j in range(len(row)) for place in (i, j)]
    indices = Tensor("int64", (len(places) // 2, 2), places)
    words = _strings(word for row in rows for word in row)
    return indices, words, _ints("int64", (len(rows), max(map(len, rows), default=0)))


@_step
def _decode(step: dict[str, Any], x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rows = [_points(item, step) for item in x.data]
    splits = accumulate((len(row) for row in rows), initial=0)
    flat = [pair for row in rows for pair in row]
    points, starts = (point for point, _ in flat), (start for _, start in flat)
    return _ints(step["dtype"], splits), _ints("int32", points), _ints("int64", starts)


def _points(item: bytes, step: dict[str, Any]) -> list[tuple[int, int]]:
    """Code points, each with its byte offset."""
    found: list[tuple[int, int]] = []
    place = 0
    errors, replacement = step["errors"], step["replacement"]
    while place < len(item):
        stop = after = len(item)
        try:
            good = item[place:].decode()
        except UnicodeDecodeError as error:
            stop, after = place + error.start, place + error.end
            good = item[place:stop].decode()
        for char in good:
            control = step["controls"] and ord(char) < 32
            # TensorFlow's two ops differ here: the other one replaces control characters.
            if control and errors == "strict" and step["op"] == "recode":
                raise TokenizerError(f"recode: a control character in {item!r}")
            if not control or errors != "ignore":
                found.append((replacement if control else ord(char), place))
            place += len(char.encode())
        if stop < len(item):
            if errors == "strict":
                raise TokenizerError(f"{step['op']}: {item!r} is not UTF-8")
            if errors == "replace":
                found.append((replacement, stop))
            place = after
    return found


@_step
def _encode(step: dict[str, Any], points: Tensor, splits: Tensor) -> Tensor:
    ends = splits.data
    if not ends or ends[0] != 0 or ends[-1] != len(points.data) or ends != sorted(ends):
        raise TokenizerError("encode: row splits do not fit the values")
    return _strings(_letters(points.data[a:b], step) for a, b in pairwise(ends))


def _letters(points: Iterable[int], step: dict[str, Any]) -> bytes:
    found = []
    for point in points:
        if not 0 <= point <= 0x10FFFF or 0xD800 <= point < 0xE000:
            if step["errors"] == "strict":
                raise TokenizerError(f"encode: {point} is not a code point")
            if step["errors"] == "ignore":
                continue
            point = step["replacement"]
        found.append(chr(point))
    return "".join(found).encode()


@_step
def _recode(step: dict[str, Any], x: Tensor) -> Tensor:
    return _strings((_letters((p for p, _ in _points(i, step)), step) for i in x.data), x.shape)


@_step
def _ngrams(step: dict[str, Any], x: Tensor, splits: Tensor) -> tuple[Tensor, Tensor]:
    ends = splits.data
    if ends and (ends[0] != 0 or ends[-1] != len(x.data) or ends != sorted(ends)):
        raise TokenizerError("ngrams: row splits do not fit the values")
    if not x.data:
        return _strings([]), splits._replace(data=[0] * len(ends))
    between, left, right = (bytes_of(step[name]) for name in ("separator", "left", "right"))
    most, widths = step["pad"], step["widths"]
    found: list[bytes] = []
    after = [0]
    for a, b in pairwise(ends):
        before = len(found)
        pads = {width: width - 1 if most < 0 else min(most, width - 1) for width in widths}
        for width in widths:
            row = [left] * pads[width] + x.data[a:b] + [right] * pads[width]
            found += [between.join(row[i : i + width]) for i in range(len(row) - width + 1)]
        if step["keep_short"] and len(found) == before and b > a:
            pad = pads[min(widths)]
            found.append(between.join([left] * pad + x.data[a:b] + [right] * pad))
        after.append(len(found))
    return _strings(found), splits._replace(data=after)


@_step
def _bytes(step: dict[str, Any], x: Tensor) -> Tensor:
    """The bytes of each string; length 0 requires strings of equal length."""
    wanted = step["length"] or max(map(len, x.data), default=0)
    if not step["length"] and any(len(item) != wanted for item in x.data):
        raise TokenizerError("bytes: all strings must have one length")
    rows = (item[:wanted].ljust(wanted, b"\0") for item in x.data)
    return Tensor("uint8", (*x.shape, wanted), [byte for row in rows for byte in row])


@_step
def _to_integer(step: dict[str, Any], x: Tensor) -> Tensor:
    data = []
    for item in x.data:
        found = re.fullmatch(rb"[ \t\n\v\f\r]*([+-]?[0-9]+)[ \t\n\v\f\r]*", item)
        if not found or _wrapped(step["dtype"], int(found.group(1))) != int(found.group(1)):
            raise TokenizerError(f"to_integer: {item!r} is no {step['dtype']}")
        data.append(int(found.group(1)))
    return Tensor(step["dtype"], x.shape, data)


@_step
def _as_string(step: dict[str, Any], x: Tensor) -> Tensor:
    return _strings((b"%d" % item for item in x.data), x.shape)


@_step
def _hash(step: dict[str, Any], x: Tensor) -> Tensor:
    if step["kind"] == "farm64":
        numbers = [farm64(item) for item in x.data]
    else:
        low, high = (int(word) for word in step["key"])
        numbers = [sip64(item, low, high) for item in x.data]
    return Tensor("int64", x.shape, [number % int(step["buckets"]) for number in numbers])


def _lookup(table: tuple[str, dict[Any, Any]], keys: Tensor, default: Tensor) -> Tensor:
    dtype, known = table
    other = _spread(keys, default)[1][1]
    data = [known.get(key, no) for key, no in zip(keys.data, other, strict=True)]
    return Tensor(dtype, keys.shape, data)


# Numbers.


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _offsets(axes: Iterable[Iterable[int]]) -> list[int]:
    """The flat offset of each element, given the offsets of each index along each axis."""
    found = [0]
    for steps in map(list, axes):
        found = [offset + step for offset in found for step in steps]
    return found


def _spread(*xs: Tensor) -> tuple[tuple[int, ...], list[list[Any]]]:
    """The broadcast shape, and the elements of each tensor broadcast to it."""
    rank = max(len(x.shape) for x in xs)
    shapes = [(1,) * (rank - len(x.shape)) + x.shape for x in xs]
    sizes = []
    for column in zip(*shapes, strict=True):
        wide = {size for size in column if size != 1}
        if len(wide) > 1:
            raise TokenizerError(f"shapes {[list(x.shape) for x in xs]} do not fit")
        sizes.append(wide.pop() if wide else 1)
    count = _size(sizes)
    columns = []
    for x, shape in zip(xs, shapes, strict=True):
        if shape == tuple(sizes):
            columns.append(x.data)
        elif len(x.data) == 1:
            columns.append(x.data * count)
        else:
            axes = [
                [0] * size if own == 1 else range(0, size * stride, stride)
                for own, size, stride in zip(shape, sizes, _strides(shape), strict=True)
            ]
            columns.append([x.data[offset] for offset in _offsets(axes)])
    return tuple(sizes), columns


def _rows(step: dict[str, Any], x: Tensor) -> tuple[tuple[int, ...], list[list[Any]]]:
    """The shape of the results, and the elements that each result reduces."""
    axes, strides = step["axes"], _strides(x.shape)
    steps = [[i * stride for i in range(n)] for n, stride in zip(x.shape, strides, strict=True)]
    kept = _offsets(one for axis, one in enumerate(steps) if axis not in axes)
    within = _offsets(steps[axis] for axis in axes)
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    if not step["keep"]:
        shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
    return tuple(shape), [[x.data[a + b] for b in within] for a in kept]


def _divided(a: int, b: int) -> int:
    if not b:
        raise TokenizerError("division by 0")
    return a // b


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floor_div": _divided,
    "floor_mod": lambda a, b: a - _divided(a, b) * b,
    "maximum": max,
    "minimum": min,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}


def _binary(step: dict[str, Any], a: Tensor, b: Tensor) -> Tensor:
    function, dtype = _BINARY[step["op"]], step["dtype"]
    shape, columns = _spread(a, b)
    return Tensor(dtype, shape, [_wrapped(dtype, n) for n in map(function, *columns)])


_STEPS.update(dict.fromkeys(_BINARY, _binary))


@_step
def _not(step: dict[str, Any], x: Tensor) -> Tensor:
    return x._replace(data=[not item for item in x.data])


@_step
def _cast(step: dict[str, Any], x: Tensor) -> Tensor:
    dtype = step["dtype"]
    if dtype == "bool":
        return Tensor(dtype, x.shape, [item != 0 for item in x.data])
    return Tensor(dtype, x.shape, [_wrapped(dtype, int(item)) for item in x.data])


@_step
def _select(step: dict[str, Any], condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    shape, (truths, xs, ys) = _spread(condition, x, y)
    return Tensor(x.dtype, shape, [a if c else b for c, a, b in zip(truths, xs, ys, strict=True)])


@_step
def _shape(step: dict[str, Any], x: Tensor) -> Tensor:
    return _ints(step["dtype"], x.shape)


@_step
def _size_of(step: dict[str, Any], x: Tensor) -> Tensor:
    return Tensor(step["dtype"], (), [len(x.data)])


@_step
def _reshape(step: dict[str, Any], x: Tensor, sizes: Tensor) -> Tensor:
    shape = [int(size) for size in sizes.data]
    if -1 in shape:
        rest = math.prod(size for size in shape if size != -1)
        shape[shape.index(-1)] = len(x.data) // rest if rest else 0
    if math.prod(shape) != len(x.data):
        raise TokenizerError(f"reshape: {len(x.data)} elements do not fit {shape}")
    return x._replace(shape=tuple(shape))


@_step
def _expand(step: dict[str, Any], x: Tensor) -> Tensor:
    axis = step["axis"]
    return x._replace(shape=(*x.shape[:axis], 1, *x.shape[axis:]))


@_step
def _squeeze(step: dict[str, Any], x: Tensor) -> Tensor:
    axes = step["axes"]
    if any(x.shape[axis] != 1 for axis in axes):
        raise TokenizerError(f"squeeze: axes {axes} of {list(x.shape)} must have size 1")
    return x._replace(shape=tuple(n for axis, n in enumerate(x.shape) if axis not in axes))


@_step
def _concat(step: dict[str, Any], *xs: Tensor) -> Tensor:
    axis, first = step["axis"], xs[0].shape
    if any(x.shape[:axis] + x.shape[axis + 1 :] != first[:axis] + first[axis + 1 :] for x in xs):
        raise TokenizerError(f"concat: shapes {[list(x.shape) for x in xs]} do not fit")
    widths = [math.prod(x.shape[axis:]) for x in xs]
    data = [
        item
        for row in range(math.prod(first[:axis]))
        for x, width in zip(xs, widths, strict=True)
        for item in x.data[row * width : (row + 1) * width]
    ]
    size = sum(x.shape[axis] for x in xs)
    return Tensor(xs[0].dtype, (*first[:axis], size, *first[axis + 1 :]), data)


@_step
def _pack(step: dict[str, Any], *xs: Tensor) -> Tensor:
    axis = step["axis"]
    return _concat(step, *(x._replace(shape=(*x.shape[:axis], 1, *x.shape[axis:])) for x in xs))


@_step
def _slice(step: dict[str, Any], x: Tensor) -> Tensor:
    shape: list[int] = []
    axes: list[list[int]] = []
    places = iter(zip(x.shape, _strides(x.shape), strict=True))
    for one in step["axes"]:
        if one == "new":
            shape.append(1)
            continue
        size, stride = next(places)
        if isinstance(one, int):
            if not -size <= one < size:
                raise TokenizerError(f"slice: {one} is beyond an axis of size {size}")
            axes.append([one % size * stride])
            continue
        axes.append([i * stride for i in range(size)[slice(*one)]])
        shape.append(len(axes[-1]))
    return Tensor(x.dtype, tuple(shape), [x.data[offset] for offset in _offsets(axes)])


@_step
def _gather(step: dict[str, Any], x: Tensor, indices: Tensor) -> Tensor:
    axis = step["axis"]
    if any(not 0 <= i < x.shape[axis] for i in indices.data):
        raise TokenizerError(f"gather: an index is beyond an axis of size {x.shape[axis]}")
    strides = _strides(x.shape)
    axes: list[Iterable[int]] = [
        [i * stride for i in range(n)] for n, stride in zip(x.shape, strides, strict=True)
    ]
    axes[axis] = [int(i) * strides[axis] for i in indices.data]
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    _size(shape)
    return Tensor(x.dtype, shape, [x.data[offset] for offset in _offsets(axes)])


@_step
def _range(step: dict[str, Any], start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    by = _number(delta)
    if not by:
        raise TokenizerError("range: the step is 0")
    numbers = range(_number(start), _number(limit), by)
    _size((len(numbers),))
    return _ints(step["dtype"], numbers)


@_step
def _fill(step: dict[str, Any], sizes: Tensor, value: Tensor) -> Tensor:
    shape = tuple(int(size) for size in sizes.data)
    return Tensor(value.dtype, shape, value.data * _size(shape))


@_step
def _pad(step: dict[str, Any], x: Tensor, paddings: Tensor, value: Tensor) -> Tensor:
    sides = [(paddings.data[i], paddings.data[i + 1]) for i in range(0, len(paddings.data), 2)]
    if any(a < 0 or b < 0 for a, b in sides):
        raise TokenizerError("pad: paddings must not be negative")
    shape = tuple(a + n + b for n, (a, b) in zip(x.shape, sides, strict=True))
    data = value.data * _size(shape)
    axes = [
        [(a + i) * stride for i in range(n)]
        for n, (a, _), stride in zip(x.shape, sides, _strides(shape), strict=True)
    ]
    for offset, item in zip(_offsets(axes), x.data, strict=True):
        data[offset] = item
    return Tensor(x.dtype, shape, data)


_REDUCTIONS: dict[str, Callable[[list[Any], str], Any]] = {
    "sum": lambda row, _: sum(row),
    "prod": lambda row, _: math.prod(row),
    "max": lambda row, dtype: max(row, default=-(1 << (_BITS[dtype] - 1))),
    "min": lambda row, dtype: min(row, default=(1 << (_BITS[dtype] - 1)) - 1),
    "any": lambda row, _: any(row),
    "all": lambda row, _: all(row),
}


@_step
def _reduce(step: dict[str, Any], x: Tensor) -> Tensor:
    function = _REDUCTIONS[step["kind"]]
    shape, rows = _rows(step, x)
    return Tensor(x.dtype, shape, [_wrapped(x.dtype, function(row, x.dtype)) for row in rows])


@_step
def _cumsum(step: dict[str, Any], x: Tensor) -> Tensor:
    """Cumulative sums of a vector."""
    row = x.data[::-1] if step["reverse"] else x.data
    sums = list(accumulate(row, initial=0))
    sums = sums[:-1] if step["exclusive"] else sums[1:]
    sums = sums[::-1] if step["reverse"] else sums
    return x._replace(data=[_wrapped(x.dtype, item) for item in sums])


@_step
def _search(step: dict[str, Any], rows: Tensor, values: Tensor) -> Tensor:
    """The number of elements of each sorted row that are less than, or at most, a value."""
    (count, width), (_, wanted) = rows.shape, values.shape
    data = []
    for row in range(count):
        known = rows.data[row * width : (row + 1) * width]
        find = _before if step["side"] == "left" else _up_to
        data += [find(known, v) for v in values.data[row * wanted : (row + 1) * wanted]]
    return Tensor(step["dtype"], values.shape, data)


def _before(row: list[int], value: int) -> int:
    low, high = 0, len(row)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if row[middle] < value else (low, middle)
    return low


def _up_to(row: list[int], value: int) -> int:
    return _before(row, value + 1)


@_step
def _bincount(step: dict[str, Any], x: Tensor, size: Tensor) -> Tensor:
    return _counts(step, [x.data], _number(size), (_number(size),))


@_step
def _bincount_rows(step: dict[str, Any], splits: Tensor, x: Tensor, size: Tensor) -> Tensor:
    rows = [x.data[a:b] for a, b in pairwise(splits.data)]
    return _counts(step, rows, _number(size), (len(rows), _number(size)))


@_step
def _count_by_row(step: dict[str, Any], x: Tensor, owners: Tensor, rows: Tensor) -> Tensor:
    """The counts of each number in each row; numbers and rows out of range are ignored."""
    found: list[list[int]] = [[] for _ in range(_number(rows))]
    for item, owner in zip(x.data, owners.data, strict=True):
        if 0 <= owner < len(found) and 0 <= item < step["size"]:
            found[owner].append(item)
    return _counts(step, found, step["size"], (len(found), step["size"]))


def _counts(
    step: dict[str, Any], rows: list[list[int]], size: int, shape: tuple[int, ...]
) -> Tensor:
    one = 1.0 if step["dtype"].startswith("float") else 1
    data = [0 * one] * _size(shape)
    for index, row in enumerate(rows):
        for item in row:
            if item < 0:
                raise TokenizerError(f"bincount: {item} is negative")
            if item < size:
                place = index * size + item
                data[place] = one if step["binary"] else data[place] + one
    return Tensor(step["dtype"], shape, data)


@_step
def _to_dense(
    step: dict[str, Any], sizes: Tensor, values: Tensor, default: Tensor, *parts: Tensor
) -> Tensor:
    """Rows of different lengths, padded or truncated."""
    nested = _nested(step, parts)
    inner = values.shape[1:]
    shape = [len(nested[0]) - 1, *(max((b - a for a, b in pairwise(s)), default=0) for s in nested)]
    shape += inner
    if sizes.shape:
        shape = [own if told < 0 else told for own, told in zip(shape, sizes.data, strict=True)]
    if tuple(shape[len(nested) + 1 :]) != inner:
        raise TokenizerError("to_dense: the shape must end with that of the values")
    width = math.prod(inner)
    filler = _spread(default, Tensor("", inner, [0] * width))[1][0] if width else []
    data = filler * (_size(shape) // width if width else 0)
    places: list[int | None] = [i if i < shape[0] else None for i in range(len(nested[0]) - 1)]
    for splits, size in zip(nested, shape[1:], strict=False):
        places = [
            None if place is None or column >= size else place * size + column
            for place, (a, b) in zip(places, pairwise(splits), strict=True)
            for column in range(b - a)
        ]
    for index, place in enumerate(places):
        if place is not None:
            data[place * width : (place + 1) * width] = values.data[
                index * width : (index + 1) * width
            ]
    return Tensor(values.dtype, tuple(shape), data)


def _nested(step: dict[str, Any], parts: Sequence[Tensor]) -> list[list[int]]:
    """The row splits of each level."""
    found: list[list[int]] = []
    rows = 0
    for part, kind in zip(parts, step["rows"], strict=True):
        if kind == "FIRST_DIM_SIZE":
            rows = _number(part)
        elif kind == "ROW_SPLITS":
            found.append(part.data)
            rows = part.data[-1]
        else:
            lengths = [0] * rows
            for owner in part.data:
                lengths[owner] += 1
            found.append(list(accumulate(lengths, initial=0)))
            rows = len(part.data)
    return found


# Expressions: trees in the syntax of the engine.


def expression(tree: Mapping[str, Any]) -> str:
    """A tree in the syntax of Python's `re`."""
    if "text" in tree:
        return "".join(map(_code, map(ord, tree["text"])))
    if "set" in tree:
        ranges = "".join(f"{_code(low)}-{_code(high)}" for low, high in tree["set"])
        return f"[{ranges}]" if ranges else "(?!)"
    if "all" in tree:
        return "(?:" + "".join(map(expression, tree["all"])) + ")"
    if "any" in tree:
        return "(?:" + "|".join(map(expression, tree["any"])) + ")"
    if "group" in tree:
        return f"(?P<g{int(tree['number'])}>{expression(tree['group'])})"
    if "at" in tree:
        return _PLACES[tree["at"]]
    high = "" if tree["max"] is None else int(tree["max"])
    lazy = "?" if tree["lazy"] else ""
    return f"(?:{expression(tree['repeat'])}){{{int(tree['min'])},{high}}}{lazy}"


_PLACES = {
    "start": r"\A",
    "end": r"\Z",
    "line_start": r"(?<![^\n])",
    "line_end": r"(?![^\n])",
    "word": r"\b",
}


def _code(code: int) -> str:
    return f"\\U{code:08x}"


@_step
def _match(step: dict[str, Any], x: Tensor) -> Tensor:
    whole = re.compile(expression(step["expression"]), re.ASCII)
    truths = [whole.fullmatch(text_of(item)) is not None for item in x.data]
    return Tensor("bool", x.shape, truths)


@_step
def _replace(step: dict[str, Any], x: Tensor) -> Tensor:
    wanted = re.compile(expression(step["expression"]), re.ASCII)
    return x._replace(data=[_replaced(step, wanted, item) for item in x.data])


def _group(found: re.Match[str], number: int) -> str:
    return found.group(f"g{number}" if number else 0) or ""


def _replaced(step: dict[str, Any], wanted: re.Pattern[str], item: bytes) -> bytes:
    """Replace matches as RE2 does: an empty match directly behind another match is skipped."""
    text = text_of(item)
    out: list[str] = []
    place, last = 0, -1
    while place <= len(text):
        found = wanted.search(text, place)
        if found is None:
            break
        out.append(text[place : found.start()])
        if found.start() == found.end() == last:
            out.append(text[last : last + 1])
            place = last + 1
            continue
        out += [part if isinstance(part, str) else _group(found, part) for part in step["rewrite"]]
        place = last = found.end()
        if not step["all"]:
            break
    return bytes_of("".join(out) + text[place:])


# Hashes: FarmHash's Fingerprint64, and SipHash-2-4 with a key.

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _rotated(x: int, by: int) -> int:
    x &= _MASK
    return ((x >> by) | (x << (64 - by))) & _MASK


def _mixed(x: int) -> int:
    x &= _MASK
    return x ^ (x >> 47)


def _two(u: int, v: int, factor: int) -> int:
    """Combine two words to one."""
    a = _mixed(((u ^ v) & _MASK) * factor)
    return _mixed(((v ^ a) & _MASK) * factor) * factor & _MASK


def farm64(data: bytes) -> int:
    """Fingerprint64, from 0 to 2⁶⁴ - 1."""
    size = len(data)
    factor = _K2 + size * 2

    def word(at: int, width: int = 8) -> int:
        at += size if at < 0 else 0
        return int.from_bytes(data[at : at + width], "little")

    if size > 64:
        return _farm_long(data, word)
    if size > 16:
        a, b = word(0) * (_K1 if size <= 32 else _K2), word(8)
        c, d = word(-8) * factor, word(-16) * _K2
        y = _rotated(a + b, 43) + _rotated(c, 30) + d
        if size <= 32:
            return _two(y, a + _rotated(b + _K2, 18) + c, factor)
        z = _two(y, a + _rotated(b + _K2, 18) + c, factor)
        e, f = word(16) * factor, word(24)
        g, h = (y + word(-32)) * factor, (z + word(-24)) * factor
        return _two(_rotated(e + f, 43) + _rotated(g, 30) + h, e + _rotated(f + a, 18) + g, factor)
    if size >= 8:
        a, b = word(0) + _K2, word(-8)
        c = _rotated(b, 37) * factor + a
        return _two(c, (_rotated(a, 25) + b) * factor, factor)
    if size >= 4:
        return _two(size + (word(0, 4) << 3), word(-4, 4), factor)
    if not size:
        return _K2
    y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
    return _mixed((y * _K2) ^ (z * _K0)) * _K2 & _MASK


_Pair = tuple[int, int]


def _farm_long(data: bytes, word: Callable[[int], int]) -> int:
    size = len(data)
    y = 81 * _K1 + 113
    z = _mixed(y * _K2 + 113) * _K2
    v: _Pair = (0, 0)
    w: _Pair = (0, 0)
    x = 81 * _K2 + word(0)

    def weak(at: int, a: int, b: int) -> _Pair:
        a += word(at)
        b = _rotated(b + a + word(at + 24), 21)
        c = a
        a += word(at + 8) + word(at + 16)
        return (a + word(at + 24)) & _MASK, (b + _rotated(a, 44) + c) & _MASK

    def block(at: int, factor: int, nine: int) -> None:
        nonlocal x, y, z, v, w
        x = _rotated(x + y + v[0] + word(at + 8), 37) * factor & _MASK
        y = _rotated(y + v[1] + word(at + 48), 42) * factor & _MASK
        x ^= w[1] * nine & _MASK
        y = (y + v[0] * nine + word(at + 40)) & _MASK
        z = _rotated(z + w[0], 33) * factor & _MASK
        v = weak(at, v[1] * factor, x + w[0])
        w = weak(at + 32, z + w[1], y + word(at + 16))
        x, z = z, x

    for place in range(0, (size - 1) // 64 * 64, 64):
        block(place, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + ((size - 1) & 63)
    v = (v[0] + first, v[1])
    w = (first + v[0], w[1])
    block(size - 64, factor, 9)
    return _two(
        _two(v[0], w[0], factor) + _mixed(y) * _K0 + z, _two(v[1], w[1], factor) + x, factor
    )


def sip64(data: bytes, low: int, high: int) -> int:
    """SipHash-2-4 with a key of two words, from 0 to 2⁶⁴ - 1."""
    low, high = low & _MASK, high & _MASK
    a, b = low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D
    c, d = low ^ 0x6C7967656E657261, high ^ 0x7465646279746573

    def turns(count: int) -> None:
        nonlocal a, b, c, d
        for _ in range(count):
            a, c = (a + b) & _MASK, (c + d) & _MASK
            b, d = _rotated(b, 51) ^ a, _rotated(d, 48) ^ c
            a = (_rotated(a, 32) + d) & _MASK
            c = (c + b) & _MASK
            d, b = _rotated(d, 43) ^ a, _rotated(b, 47) ^ c
            c = _rotated(c, 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        d ^= word
        turns(2)
        a ^= word
    c ^= 0xFF
    turns(4)
    return a ^ b ^ c ^ d


def main() -> None:
    """`python tokenizer.py model.tokenizer.json < inputs.json`: nested lists by name."""
    found = Tokenizer.load(sys.argv[1])(**json.load(sys.stdin))
    told = {
        name: {"dtype": tensor.dtype, "shape": tensor.shape, "data": tensor.data}
        for name, tensor in found.items()
    }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
