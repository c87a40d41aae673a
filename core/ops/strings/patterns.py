r"""Regular expressions: RegexFullMatch, RegexReplace and their static forms.

TensorFlow's expressions are RE2's, ours run on Python's `re`: both prefer what stands first in the
expression, so that they agree on what matches. What is written differently is translated by
`translate`. Not to be had: `\C`, flag `U`, Unicode scripts.
Text is read as UTF-8; bytes that are not UTF-8 stand for themselves.
"""

import functools
import re
import sys
import unicodedata

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import register, same_as_input
from pinnace.ops.strings.elements import map_numbers, map_strings

__all__ = ["regex_full_match", "regex_replace"]

# RE2's ASCII classes; `\s` of Python has the vertical tab as well.
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SPACE = "\\t\\n\\f\\r "


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Whether the whole of each string matches the expression.

    Args:
        input: [...], string.
        pattern: an expression in RE2's syntax, a scalar.
        name: name of the node while tracing.

    Returns:
        [...], bool.

    Raises:
        InvalidArgumentError: `pattern` is no expression.

    Source:
        TensorFlow ops `RegexFullMatch`, `StaticRegexFullMatch` (string_ops.cc).
    """
    if isinstance(pattern, (str, bytes)):
        return execute(STATIC_REGEX_FULL_MATCH, input, pattern=pattern, name=name)  # type: ignore[no-any-return]
    return execute(REGEX_FULL_MATCH, input, pattern, name=name)  # type: ignore[no-any-return]


def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Each string with what matches the expression replaced.

    Args:
        input: [...], string.
        pattern: an expression in RE2's syntax, a scalar.
        rewrite: what takes its place, a scalar: `\1` to `\9` are groups, `\0` the whole match.
        replace_global: every match; the first one if False.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `pattern` is no expression, or `rewrite` names a group that it lacks.

    Source:
        TensorFlow ops `RegexReplace`, `StaticRegexReplace` (string_ops.cc).
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return execute(  # type: ignore[no-any-return]
            STATIC_REGEX_REPLACE,
            input,
            pattern=pattern,
            rewrite=rewrite,
            replace_global=bool(replace_global),
            name=name,
        )
    return execute(  # type: ignore[no-any-return]
        REGEX_REPLACE, input, pattern, rewrite, replace_global=bool(replace_global), name=name
    )


# The language.


@functools.lru_cache(maxsize=1024)
def compiled(op: str, pattern: str | bytes) -> re.Pattern[str]:
    """The expression, ready; InvalidArgumentError in the name of `op` if it is none."""
    text = pattern.decode("utf-8", "surrogateescape") if isinstance(pattern, bytes) else pattern
    try:
        return re.compile(translate(text), re.ASCII)
    except (re.error, ValueError, OverflowError) as error:
        message = f"{op}: pattern must be a regular expression, got {text!r}: {error}"
        raise InvalidArgumentError(message) from None


def translate(pattern: str) -> str:
    """An expression of RE2 as Python writes it.

    Raises:
        ValueError: something that Python's `re` cannot say.
    """
    out: list[str] = []
    multiline = bool(re.match(r"\(\?[a-zA-Z]*m[a-zA-Z]*[):]", pattern))
    place = 0
    flags = ""
    while place < len(pattern):
        char = pattern[place]
        if char == "\\":
            piece, place = _escape(pattern, place, inside=False)
            out.append(piece)
        elif char == "[":
            piece, place = _class(pattern, place)
            out.append(piece)
        elif char == "$" and not multiline:
            # Python's `$` also matches before a last newline.
            out.append("\\Z")
            place += 1
        else:
            found = re.compile(r"\(\?([imsU]+)\)").match(pattern, place)
            if found:
                if "U" in found.group(1):
                    message = "the flag U is not supported"
                    raise ValueError(message)
                # Python takes flags only at the beginning.
                flags += found.group(1)
                place = found.end()
            else:
                out.append(char)
                place += 1
    text = "".join(out)
    return f"(?{''.join(sorted(set(flags)))}){text}" if flags else text


def _escape(pattern: str, place: int, *, inside: bool) -> tuple[str, int]:
    """What a backslash begins, and where it ends."""
    kind = pattern[place + 1 : place + 2]
    if kind == "z":
        return "\\Z", place + 2
    if kind == "Q":
        end = pattern.find("\\E", place)
        end = len(pattern) if end < 0 else end
        return re.escape(pattern[place + 2 : end]), end + 2
    if kind in {"p", "P"}:
        return _category(pattern, place, inside=inside)
    if kind == "x" and pattern[place + 2 : place + 3] == "{":
        end = pattern.index("}", place)
        return re.escape(chr(int(pattern[place + 3 : end], 16))), end + 1
    if kind == "s":
        return _SPACE if inside else f"[{_SPACE}]", place + 2
    if kind == "S" and not inside:
        return f"[^{_SPACE}]", place + 2
    if kind == "C":
        message = "\\C, a single byte, is not supported"
        raise ValueError(message)
    if kind == "a":
        return "\\x07", place + 2
    return pattern[place : place + 2], place + 2


def _category(pattern: str, place: int, *, inside: bool) -> tuple[str, int]:
    r"""\pL, \p{Lu}, \PL: general categories of Unicode, written out as ranges."""
    if pattern[place + 2 : place + 3] == "{":
        end = pattern.index("}", place)
        wanted, after = pattern[place + 3 : end], end + 1
    else:
        wanted, after = pattern[place + 2 : place + 3], place + 3
    negated = pattern[place + 1] == "P"
    if wanted.startswith("^"):
        wanted, negated = wanted[1:], not negated
    ranges = _ranges(wanted)
    if not inside:
        return f"[{'^' if negated else ''}{ranges}]", after
    if negated:
        message = f"\\P{wanted} inside of brackets is not supported"
        raise ValueError(message)
    return ranges, after


@functools.lru_cache(maxsize=64)
def _ranges(category: str) -> str:
    found: list[str] = []
    start: int | None = None
    for code in range(sys.maxunicode + 2):
        member = code <= sys.maxunicode and unicodedata.category(chr(code)).startswith(category)
        if member and start is None:
            start = code
        elif not member and start is not None:
            found.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    if not found:
        message = f"there is no general category {category!r}; scripts are not supported"
        raise ValueError(message)
    return "".join(found)


def _class(pattern: str, place: int) -> tuple[str, int]:
    """A bracket expression, and where it ends."""
    out = ["["]
    place += 1
    if pattern[place : place + 1] == "^":
        out.append("^")
        place += 1
    first = True
    while place < len(pattern):
        char = pattern[place]
        if char == "]" and not first:
            out.append("]")
            return "".join(out), place + 1
        first = False
        if char == "[" and pattern[place + 1 : place + 2] == ":":
            end = pattern.find(":]", place)
            if end < 0 or pattern[place + 2 : end] not in _POSIX:
                message = f"{pattern[place : end + 2]!r} is no class of characters"
                raise ValueError(message)
            out.append(_POSIX[pattern[place + 2 : end]])
            place = end + 2
        elif char == "\\":
            piece, place = _escape(pattern, place, inside=True)
            out.append(piece)
        else:
            # Python warns of nested sets.
            out.append(f"\\{char}" if char in "[]&~|" else char)
            place += 1
    message = "missing closing ]"
    raise ValueError(message)


def _rewriter(op: str, expression: re.Pattern[str], rewrite: str) -> list[str | int]:
    """The rewrite as texts and numbers of groups."""
    parts: list[str | int] = []
    place = 0
    while place < len(rewrite):
        char = rewrite[place]
        if char != "\\":
            parts.append(char)
            place += 1
            continue
        following = rewrite[place + 1 : place + 2]
        if following.isdigit():
            if int(following) > expression.groups:
                message = (
                    f"{op}: rewrite {rewrite!r} names group {following}, pattern has "
                    f"{expression.groups}"
                )
                raise InvalidArgumentError(message)
            parts.append(int(following))
        elif following == "\\":
            parts.append("\\")
        else:
            message = (
                f"{op}: a backslash in rewrite must begin a group or a backslash, got {rewrite!r}"
            )
            raise InvalidArgumentError(message)
        place += 2
    return parts


def _replaced(expression: re.Pattern[str], parts: list[str | int], text: str, every: bool) -> str:
    """RE2's GlobalReplace: no empty match stands right after another match."""
    out: list[str] = []
    place = 0
    last_end = -1
    while place <= len(text):
        found = expression.search(text, place)
        if found is None:
            break
        out.append(text[place : found.start()])
        if found.start() == last_end and found.end() == found.start():
            out.append(text[found.start() : found.start() + 1])
            place = found.start() + 1
            continue
        out += [part if isinstance(part, str) else found.group(part) or "" for part in parts]
        place = last_end = found.end()
        if not every:
            break
    out.append(text[place:])
    return "".join(out)


# Kernels.


def _text(value: Array) -> str:
    return bytes(value.reshape(-1)[0]).decode("utf-8", "surrogateescape")


def _matches(op: str, x: Array, pattern: str | bytes) -> Array:
    expression = compiled(op, pattern)

    def whole(item: bytes) -> bool:
        return expression.fullmatch(item.decode("utf-8", "surrogateescape")) is not None

    return map_numbers(whole, x, bool)


def _rewritten(op: str, x: Array, pattern: str | bytes, rewrite: str | bytes, every: bool) -> Array:
    expression = compiled(op, pattern)
    text = rewrite.decode("utf-8", "surrogateescape") if isinstance(rewrite, bytes) else rewrite
    parts = _rewriter(op, expression, text)

    def replaced(item: bytes) -> bytes:
        old = item.decode("utf-8", "surrogateescape")
        return _replaced(expression, parts, old, every).encode("utf-8", "surrogateescape")

    return map_strings(replaced, x)


def _full_match_kernel(input: Array, pattern: Array) -> Array:
    return _matches("RegexFullMatch", input, _text(pattern))


def _static_full_match_kernel(input: Array, *, pattern: str) -> Array:
    return _matches("StaticRegexFullMatch", input, pattern)


def _replace_kernel(input: Array, pattern: Array, rewrite: Array, *, replace_global: bool) -> Array:
    return _rewritten("RegexReplace", input, _text(pattern), _text(rewrite), replace_global)


def _static_replace_kernel(
    input: Array, *, pattern: str, rewrite: str, replace_global: bool
) -> Array:
    return _rewritten("StaticRegexReplace", input, pattern, rewrite, replace_global)


def _infer_dynamic(call: InferCall) -> Shape:
    for index in range(1, len(call.inputs)):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail("pattern and rewrite must be scalars")
    return call.spec(0).shape


REGEX_FULL_MATCH = register(
    OpDef(
        name="RegexFullMatch",
        signature="input: string, pattern: string -> output: bool",
        infer=_infer_dynamic,
        kernel=_full_match_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
STATIC_REGEX_FULL_MATCH = register(
    OpDef(
        name="StaticRegexFullMatch",
        signature="input: string -> output: bool",
        attrs={"pattern": attr("string")},
        infer=same_as_input,
        kernel=_static_full_match_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
REGEX_REPLACE = register(
    OpDef(
        name="RegexReplace",
        signature="input: string, pattern: string, rewrite: string -> output: string",
        attrs={"replace_global": attr("bool", default=True)},
        infer=_infer_dynamic,
        kernel=_replace_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
STATIC_REGEX_REPLACE = register(
    OpDef(
        name="StaticRegexReplace",
        signature="input: string -> output: string",
        attrs={
            "pattern": attr("string"),
            "rewrite": attr("string"),
            "replace_global": attr("bool", default=True),
        },
        infer=same_as_input,
        kernel=_static_replace_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
