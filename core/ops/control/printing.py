"""Printing from programs and graphs: print, Print, StringFormat."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework import structure
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.framework.visible_text import printed
from pinnace.ops import gate
from pinnace.ops.array import constants
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.memory import NUMBER, claim, joined
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, same_as_input, scalar

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_FILE = "file://"


def _write(text: str, output_stream: str) -> None:
    if output_stream == "stdout":
        sys.stdout.write(text)
        sys.stdout.flush()
    elif _is_file(output_stream):
        from pathlib import Path  # slow to import, and seldom needed

        with Path(_text(output_stream)[len(_FILE) :]).open("a", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stderr.write(text)
        sys.stderr.flush()


def _text(text: str | bytes) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _is_file(output_stream: str | bytes) -> bool:
    return _text(output_stream).startswith(_FILE)


def tf_print(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Prints values; in `function`, each time the graph runs, in program order.

    Args:
        *inputs: tensors, structures of tensors, and anything that has a `str`.
        output_stream: sys.stdout, sys.stderr (also if None), or `file://` and a path.
        summarize: how many elements from either end of each axis; all if -1.
        sep: text between values.
        end: text after the last value.
        name: name of the node while tracing.

    Source:
        TensorFlow ops `StringFormat` (string_format_op.cc) and `PrintV2` (logging_ops.cc).
    """
    found: list[Tensor] = []
    text = sep.join(_marked(item, found, summarize) for item in inputs)
    # Texts of ragged tensors stand between the others as they are, without quotes.
    pieces = _LISTED.split(text)
    parts = [
        found[int(piece)] if index % 2 else _formatted(piece, found, summarize)
        for index, piece in enumerate(pieces)
        if index % 2 or piece or len(pieces) == 1
    ]
    line = parts[0]
    if parts[1:]:
        from pinnace.ops.strings import joining  # loaded only by programs with strings

        line = joining.join(parts)
    execute(PRINT_V2, line, output_stream=_stream(output_stream), end=end, name=name)


def _formatted(text: str, found: list[Tensor], summarize: int) -> Tensor:
    """The text with tensors in place of their marks."""
    tensors = [found[int(number)] for number in _MARKED.findall(text)]
    placeholder = "{}"
    while placeholder in text:  # it is in the user's own words
        placeholder = f"{{{placeholder}}}"
    text = _MARKED.sub(lambda _: placeholder, text)
    if text == placeholder and _is_text(tensors[0]):
        return tensors[0]
    return string_format(text, tensors, placeholder, summarize)


def _is_text(tensor: Tensor) -> bool:
    return tensor.dtype.name == "string" and tensor.shape.rank == 0


def _marked(item: Any, found: list[Tensor], summarize: int) -> str:
    """The text of a value, with marks for the tensors in it, which are appended to `found`."""

    def leaf(x: Any) -> Any:
        composite = isinstance(x, CompositeTensor)
        if isinstance(x, (Tensor, Variable)):
            found.append(_printable(x, summarize))
            return _Mark(len(found) - 1)
        if composite and hasattr(x, "flat_values"):
            found.append(_printable(x, summarize))
            return _Mark(len(found) - 1, "\ue002{}\ue003")
        if composite and hasattr(x, "dense_shape"):
            kind = type(x).__name__
            return _Sparse(leaf(x.indices), leaf(x.values), leaf(x.dense_shape), kind)
        return x

    marked = structure.map_structure(leaf, item)
    return marked if isinstance(marked, str) else str(marked)


@takes_composites(ragged="strings:listed_rows")
def _printable(x: Any, summarize: int) -> Tensor:
    """The tensor that is printed for a value: a ragged tensor's text, otherwise the value."""
    del summarize  # only rows of ragged tensors are shortened before they are joined
    return convert_to_tensor(x)


class _Sparse(NamedTuple):
    """The text of a sparse tensor, in quotes as TensorFlow prints it."""

    indices: Any
    values: Any
    shape: Any
    kind: str

    def __repr__(self) -> str:
        return f"'{self.kind}(indices={self.indices}, values={self.values}, shape={self.shape})'"


class _Mark:
    """The mark of a tensor in the text of a structure."""

    def __init__(self, number: int, form: str = "\ue000{}\ue001") -> None:
        self._text = form.format(number)

    def __repr__(self) -> str:
        return self._text


_MARKED = re.compile("\ue000([0-9]+)\ue001")
_LISTED = re.compile("\ue002([0-9]+)\ue003")


def _stream(stream: Any) -> str:
    if stream is sys.stdout:
        return "stdout"
    if stream is None or stream is sys.stderr:
        return "stderr"
    if isinstance(stream, str):
        return stream
    name = getattr(stream, "name", "")
    if name in {"<stdout>", "<stderr>"}:
        return str(name).strip("<>")
    raise ValueError(
        f"print: output_stream must be sys.stdout, sys.stderr or 'file://…', got {stream!r}"
    )


def _line(input: Array, end: str | bytes) -> str:
    value = input[()] if isinstance(input, np.ndarray) else input
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return f"{text}{_text(end)}"


def _print_kernel(input: Array, *, output_stream: str, end: str) -> None:
    _write(_line(input, end), output_stream)


def _guarded_print_kernel(input: Array, *, output_stream: str, end: str) -> None:
    """Print for a loaded model: to the terminal only, with control characters removed."""
    if _is_file(output_stream):
        gate.refuse("PrintV2", "files")
    _write(printed(_line(input, end)), output_stream)


def _infer_print(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {None, 0}:
        call.fail("input must be a scalar")
    return ()


PRINT_V2 = define(
    name="PrintV2",
    signature="input: string ->",
    attrs={"output_stream": attr("string", default="stderr"), "end": attr("string", default="\n")},
    infer=_infer_print,
    kernel=_print_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    reaches=lambda attrs: "files" if _is_file(attrs["output_stream"]) else "the terminal",
    guarded=_guarded_print_kernel,
    traceless=True,
)


# How characters of a printed string are escaped: control characters by number, UTF-8 not at all.
_ESCAPES = {byte: b"\\%03o" % byte for byte in (*range(32), 127)}
_ESCAPES |= {
    ord(c): f"\\{name}".encode() for c, name in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)
}
_ESCAPED = re.compile(rb"[\x00-\x1f\x7f\"'\\]")


def _escape(text: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0][0]], text)


def _element(value: Any) -> bytes:
    if isinstance(value, bytes):
        return b'"%b"' % _escape(value)
    return _number(value).encode()


def _number(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        # The shorter of two formats if it reads back exactly: 6 or 9 digits, 15 or 17 for float64.
        wide = isinstance(value, float)
        short, long, kind = (15, 17, np.float64) if wide else (6, 9, np.float32)
        text = f"{float(value):.{short}g}"
        return text if value != value or kind(text) == value else f"{float(value):.{long}g}"
    return str(value)


def _nested(array: Array, summarize: int, depth: int) -> bytes:
    if array.ndim == 0:
        return _element(array[()])
    count = len(array)
    if summarize >= 0 and 2 * summarize < count:
        first = [_nested(array[i, ...], summarize, depth + 1) for i in range(summarize)]
        last = [
            _nested(array[i, ...], summarize, depth + 1) for i in range(count - summarize, count)
        ]
        parts = [*first, b"...", *last]
    else:
        parts = [_nested(array[i, ...], summarize, depth + 1) for i in range(count)]
    if array.ndim == 1:
        return b"[%b]" % b" ".join(parts)
    gap = b"\n" * (array.ndim - 1) + b" " * (depth + 1)
    return b"[%b]" % gap.join(parts)


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """`template` with each placeholder replaced by the text of a tensor.

    Args:
        template: a text.
        inputs: tensors, one per placeholder.
        placeholder: the text that a tensor replaces.
        summarize: how many elements from either end of each axis; all if -1.
        name: name of the node while tracing.
    """
    tensors = [inputs] if isinstance(inputs, (Tensor, Variable)) else list(inputs)
    if template.count(placeholder) != len(tensors):
        count = template.count(placeholder)
        raise ValueError(
            f"string format: The template expects {count} tensors, but the inputs only has "
            f"{len(tensors)}.\n  template: {template!r}"
        )
    if not tensors:
        return constants.constant(template)
    return execute_one(
        STRING_FORMAT,
        tensors,
        template=template,
        placeholder=placeholder,
        summarize=summarize,
        name=name,
    )


def _format_kernel(
    inputs: tuple[Array, ...], *, template: str, placeholder: str, summarize: int
) -> Array:
    first, *pieces = _text(template).split(_text(placeholder))
    parts = [first.encode()]
    for array, piece in zip(inputs, pieces, strict=False):
        if summarize < 0 or 2 * summarize > max(np.shape(array), default=0):
            claim(np.size(array) * NUMBER)
        parts.append(array_text(np.asarray(array), summarize) + piece.encode())
        claim(len(parts[-1]))
    out = np.empty((), object)
    out[()] = joined(b"", parts)
    return out


STRING_FORMAT = define(
    name="StringFormat",
    signature="inputs: (T) -> output: string",
    attrs={
        "T": attr("list(type)", default=()),
        "template": attr("string", default="%s"),
        "placeholder": attr("string", default="%s"),
        "summarize": attr("int", default=3),
    },
    infer=scalar,
    kernel=_format_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _old_line(message: str | bytes, data: tuple[Array, ...], summarize: int) -> str:
    texts = [_first_elements(np.asarray(one), summarize) for one in data]
    line = b"".join(b"[%b]" % text for text in texts).decode("utf-8", "replace")
    return f"{_text(message)}{line}\n"


def _first_elements(array: Array, limit: int) -> bytes:
    """An array in version 1's print format: rows in brackets, `...` after a number of elements."""
    shown = array.size if limit < 0 else min(limit, array.size)
    if array.ndim == 0:
        return _bare(array[()])
    text, _ = _rows(array, shown)
    return text + (b"..." if array.ndim > 1 and shown < array.size else b"")


def _rows(array: Array, left: int) -> tuple[bytes, int]:
    """The text of the first `left` elements, and how many more fit."""
    if array.ndim == 1:
        text = b" ".join(_bare(value) for value in array[:left])
        return text + (b"..." if len(array) > left else b""), max(left - len(array), 0)
    parts = []
    for index in range(len(array)):
        if not left:
            break
        part, left = _rows(array[index, ...], left)
        parts.append(b"[%b]" % part)
    return b"".join(parts), left


def _bare(value: Any) -> bytes:
    return _escape(value) if isinstance(value, bytes) else _number(value).encode()


def _old_print_kernel(
    input: Array, data: tuple[Array, ...], *, message: str, first_n: int, summarize: int
) -> Array:
    del first_n
    _write(_old_line(message, data, summarize), "stderr")
    return input


def _guarded_old_print_kernel(
    input: Array, data: tuple[Array, ...], *, message: str, first_n: int, summarize: int
) -> Array:
    del first_n
    _write(printed(_old_line(message, data, summarize)), "stderr")
    return input


PRINT = define(
    name="Print",
    signature="input: T, data: (U) -> output: T",
    types={"T": ANY_VALUE},
    attrs={
        "U": attr("list(type)", default=()),
        "message": attr("string", default=""),
        "first_n": attr("int", default=-1),
        "summarize": attr("int", default=3),
    },
    infer=same_as_input,
    kernel=_old_print_kernel,
    gradient=lambda call, dy: (dy, tuple(None for _ in call.inputs[1])),
    effect="io",
    reaches="the terminal",
    guarded=_guarded_old_print_kernel,
    traceless=True,
)


def array_text(array: Array, summarize: int) -> bytes:
    """An array in TensorFlow's print format: `[1 2 3 ... 8 9 10]`, strings in quotes."""
    return _nested(array, summarize, 0)
