r"""Regular expressions: RegexFullMatch, RegexReplace and their static forms.

TensorFlow's expressions are RE2's, and so is the engine here: the meaning is the same, and a search
takes linear time, whatever the expression. Text is bytes, decoded as UTF-8 where valid; only `\C`
matches invalid bytes.
"""

import functools
import re
import sys
from typing import Any

import numpy as np

from pinnace.framework.asset_path import with_folder_kept
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.memory import claim, joined
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, same_as_input
from pinnace.ops.strings.elements import map_numbers, map_strings

__all__ = ["regex_full_match", "regex_replace"]

# The number of compiled patterns kept: each may come from a request and take up to 8 MB.
_KEPT = 64

# A set of ASCII characters, such as punctuation or white space, or all but such a set.
_SET = re.compile(rb"\[\^?(?:[^\\\[\]\x80-\xff]|\\[^0-9A-Za-z\x80-\xff]|\\[dsw])+\]")

# One ASCII character out of some, and whether it repeats.
_ATOM = re.compile(
    rb"(%b|\\[^0-9A-Za-z\x80-\xff]|\\[dsw]|[^\\^$|?*+()\[\]{}\x80-\xff])([*+?]?)" % _SET.pattern
)
_ATOMS = re.compile(rb"\^?((?:%b)*)\$?" % _ATOM.pattern)
_UNANCHORED = re.compile(rb"(?:%b)+" % _ATOM.pattern)
_MANY = 256  # texts for which an expression is worth an analysis

_SHORTEST = {1: 0, 2: 0x80, 3: 0x800, 4: 0x10000}


def _engine(op: str) -> Any:
    try:
        import re2  # late: only for programs with patterns
    except ImportError:
        raise UnimplementedError(
            f"{op} needs the package google-re2\n  Try: pip install google-re2"
        ) from None
    return re2


def _readable(text: str | bytes) -> str:
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text


def _matches(op: str, x: Array, pattern: str | bytes) -> Array:
    expression = compiled(op, pattern)
    whole = expression.fullmatch
    pythons = _pythons(op, expression.pattern) if x.size >= _MANY else None
    if pythons is None:
        return map_numbers(lambda item: whole(item) is not None, x, bool)
    quick = pythons.fullmatch
    return map_numbers(
        lambda item: (quick(item) if item.isascii() else whole(item)) is not None, x, bool
    )


@functools.lru_cache(maxsize=_KEPT)
def _pythons(op: str, pattern: bytes) -> re.Pattern[bytes] | None:
    """Python's expression for full matches of ASCII texts; None where it may take longer.

    Calls of Python's engine are faster. It tries again with one repetition less where RE2 need not.
    Time stays linear if that fails at the next character, or if nothing that repeats follows.
    """
    found = _ATOMS.fullmatch(pattern)
    if found is None:
        return None
    every = [bytes([code]) for code in range(128)]
    parts = []
    for atom, mark in _ATOM.findall(found.group(1)):
        fits = compiled.__wrapped__(op, atom).fullmatch
        parts.append(({one for one in every if fits(one) is not None}, mark))
    for place, (letters, mark) in enumerate(parts):
        following = parts[place + 1 :]
        if mark and any(later for _, later in following):
            for others, later in following:
                if letters & others:
                    return None
                if later in {b"", b"+"}:
                    break
    if not all(letters for letters, _ in parts):
        return None
    sets = [b"[%b]%b" % (b"".join(map(re.escape, sorted(part))), mark) for part, mark in parts]
    return re.compile(b"".join(sets))


@takes_composites(values=1)
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
        return execute_one(STATIC_REGEX_FULL_MATCH, input, pattern=pattern, name=name)
    return execute_one(REGEX_FULL_MATCH, input, pattern, name=name)


def _static_full_match_kernel(input: Array, *, pattern: str) -> Array:
    return _matches("StaticRegexFullMatch", input, pattern)


STATIC_REGEX_FULL_MATCH = define(
    name="StaticRegexFullMatch",
    signature="input: string -> output: bool",
    attrs={"pattern": attr("string")},
    infer=same_as_input,
    kernel=_static_full_match_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _rewriter(op: str, groups: int, rewrite: bytes) -> list[bytes | int]:
    """The rewrite as texts and group numbers."""
    parts: list[bytes | int] = []
    shown = _readable(rewrite)
    place = 0
    while place < len(rewrite):
        end = rewrite.find(b"\\", place)
        if end < 0:
            end = len(rewrite)
        if end > place:
            parts.append(rewrite[place:end])
        if end == len(rewrite):
            break
        following = rewrite[end + 1 : end + 2]
        if following.isdigit():
            if int(following) > groups:
                raise InvalidArgumentError(
                    f"{op}: rewrite {shown!r} names group {int(following)}, pattern has {groups}"
                )
            parts.append(int(following))
        elif following == b"\\":
            parts.append(following)
        else:
            raise InvalidArgumentError(
                f"{op}: a backslash in rewrite must begin a group or a backslash, got {shown!r}"
            )
        place = end + 2
    return parts


def _replaced(expression: Any, parts: list[bytes | int], text: bytes, every: bool) -> bytes:
    """RE2's GlobalReplace: no empty match directly follows another match."""
    out: list[bytes] = []
    copied = 0
    last_end = -1
    place = 0
    while True:
        restart = -1
        for found in expression.finditer(text, place):
            start, end = found.span()
            if start != end or start != last_end:
                out.append(text[copied:start])
                for part in parts:
                    if isinstance(part, int):
                        at, to = found.span(part)
                        part = text[at:to] if at >= 0 else b""
                    out.append(part)
                copied = last_end = end
                if not every:
                    break
            if start == end:
                # The next search starts after a whole character.
                step = _width(text, start)
                if step > 1:
                    restart = start + step
                    break
        if restart < 0:
            break
        place = restart
    out.append(text[copied:])
    return joined(b"", out)


@functools.lru_cache(maxsize=_KEPT)
def _few_atoms(op: str, pattern: bytes) -> tuple[re.Pattern[bytes], int] | None:
    """Python's expression for searches in ASCII texts, and the length of its shortest match.

    None where a search may take longer than a pass for each atom: only an atom that is the only one
    may repeat.
    """
    if not _UNANCHORED.fullmatch(pattern):
        return None
    marks = [mark for _, mark in _ATOM.findall(pattern)]
    if any(marks) and marks != [b"+"]:
        return None
    found = _pythons(op, pattern)
    return None if found is None else (found, len(marks))


@functools.lru_cache(maxsize=_KEPT)
def _letters(expression: Any) -> bytes | None:
    """The ASCII characters that an expression matches, if it matches single characters only."""
    if not _SET.fullmatch(expression.pattern):
        return None
    every = (bytes([code]) for code in range(128))
    return b"".join(one for one in every if expression.fullmatch(one) is not None)


def _exchanged(text: bytes, letters: bytes, new: bytes) -> bytes:
    """`text` with each of the letters replaced."""
    if not new:
        return text.translate(None, letters)
    if len(new) == 1:
        return text.translate(bytes.maketrans(letters, new * len(letters)))
    mark = letters[:1]
    same = text.translate(bytes.maketrans(letters, mark * len(letters)))
    if not letters:
        return text
    claim(same.count(mark) * len(new))
    return same.replace(mark, new)


def _width(text: bytes, place: int) -> int:
    """The number of bytes of the character at `place`; 1 if there is none."""
    first = text[place] if place < len(text) else 0
    if first < 0xC0:
        return 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4 if first < 0xF8 else 1
    rest = text[place + 1 : place + size]
    if len(rest) < size - 1 or any(byte & 0xC0 != 0x80 for byte in rest):
        return 1
    code = first & (0x7F >> size)
    for byte in rest:
        code = code << 6 | byte & 0x3F
    # For RE2, half of a surrogate pair is a character; an overlong encoding is not.
    return size if _SHORTEST[size] <= code <= sys.maxunicode else 1


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return bytes(value.reshape(-1)[0]) if isinstance(value, np.ndarray) else value


def _rewritten(op: str, x: Array, pattern: str | bytes, rewrite: Any, every: bool) -> Array:
    expression = compiled(op, pattern)
    parts = _rewriter(op, expression.groups, _bytes(rewrite))
    letters = _letters(expression) if every else None
    if letters is not None and not any(isinstance(part, int) for part in parts):
        new = b"".join(part for part in parts if isinstance(part, bytes))
        if not expression.pattern.startswith(b"[^"):
            return map_strings(lambda item: _exchanged(item, letters, new), x)
        return map_strings(
            lambda item: (
                _exchanged(item, letters, new)
                if item.isascii()
                else _replaced(expression, parts, item, every)
            ),
            x,
        )
    quick = _few_atoms(op, expression.pattern) if x.size >= _MANY else None
    texts = [part for part in parts if isinstance(part, bytes)]
    shown = b"".join(texts) if len(texts) == len(parts) else None
    # Results that may be longer than texts are accounted for piece by piece.
    if quick is None or shown is None or len(shown) > quick[1]:
        return map_strings(lambda item: _replaced(expression, parts, item, every), x)
    replace, count = functools.partial(quick[0].sub, shown.replace(b"\\", rb"\\")), int(not every)
    return map_strings(
        lambda item: (
            replace(item, count) if item.isascii() else _replaced(expression, parts, item, every)
        ),
        x,
    )


@takes_composites(values=1)
def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Each string with matches of the expression replaced.

    Args:
        input: [...], string.
        pattern: an expression in RE2's syntax, a scalar.
        rewrite: its replacement, a scalar: `\1` to `\9` are groups, `\0` the whole match.
        replace_global: every match; the first one if False.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `pattern` is no expression, or `rewrite` names a group that it lacks.

    Source:
        TensorFlow ops `RegexReplace`, `StaticRegexReplace` (string_ops.cc).
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return execute_one(
            STATIC_REGEX_REPLACE,
            input,
            pattern=pattern,
            rewrite=rewrite,
            replace_global=bool(replace_global),
            name=name,
        )
    return execute_one(
        REGEX_REPLACE, input, pattern, rewrite, replace_global=bool(replace_global), name=name
    )


def _static_replace_kernel(
    input: Array, *, pattern: str, rewrite: str, replace_global: bool
) -> Array:
    found = _rewritten("StaticRegexReplace", input, pattern, rewrite, replace_global)
    if not found.ndim:  # TensorFlow Decision Forests finds its assets' folder by such an op
        found[()] = with_folder_kept(input.item(), found.item())
    return found


STATIC_REGEX_REPLACE = define(
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


def _infer_dynamic(call: InferCall) -> Shape:
    for index in range(1, len(call.inputs)):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail("pattern and rewrite must be scalars")
    return call.spec(0).shape


def _full_match_kernel(input: Array, pattern: Array) -> Array:
    return _matches("RegexFullMatch", input, _bytes(pattern))


REGEX_FULL_MATCH = define(
    name="RegexFullMatch",
    signature="input: string, pattern: string -> output: bool",
    infer=_infer_dynamic,
    kernel=_full_match_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _replace_kernel(input: Array, pattern: Array, rewrite: Array, *, replace_global: bool) -> Array:
    return _rewritten("RegexReplace", input, _bytes(pattern), _bytes(rewrite), replace_global)


REGEX_REPLACE = define(
    name="RegexReplace",
    signature="input: string, pattern: string, rewrite: string -> output: string",
    attrs={"replace_global": attr("bool", default=True)},
    infer=_infer_dynamic,
    kernel=_replace_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


@functools.lru_cache(maxsize=_KEPT)
def compiled(op: str, pattern: str | bytes) -> Any:
    """The compiled expression; InvalidArgumentError in the name of `op` if it is invalid."""
    re2 = _engine(op)
    text = pattern.encode("utf-8", "surrogateescape") if isinstance(pattern, str) else pattern
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(text, options)
    except re2.error as error:
        why = _readable(error.args[0]) if error.args else "no reason"
        raise InvalidArgumentError(
            f"{op}: Invalid pattern: {_readable(text)}, error: {why}"
        ) from None
    re2.purge()  # RE2's own cache would keep more of them
    return found
