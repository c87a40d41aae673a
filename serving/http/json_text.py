"""JSON text ↔ Python values, with the extensions that TensorFlow Serving accepts.

orjson parses strict JSON. What it refuses is parsed again by `json`, which accepts NaN and
Infinity, so that only requests with these extensions pay for them. Long texts are parsed in
pieces. The extensions are:

- `NaN`, `Infinity`, `-Infinity`, `Inf` and `-Inf` are numbers;
- bytes after the end of the value are ignored;
- of two equal keys the first counts.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, TypeAlias

import orjson

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.http.json_pieces import (
    NOT_UTF8,
    DeepError,
    is_long,
    parse_in_pieces,
    shallow,
)
from pinnace.serving.requests.expansion import check_expansion

if TYPE_CHECKING:
    from collections.abc import Sequence

Json: TypeAlias = (
    "dict[str, Json] | list[Json] | str | int | float | bool | None"  # the result of a parser
)

_EXCERPT_BYTES = 256
_LARGE_BYTES = 2**20  # smaller texts stay below the limit of any request
_LIST_BYTES, _ITEM_BYTES = 64, 28  # the sizes of their Python objects
_BLANKS = re.compile(r"[ \t\r\n]*")
# A string is matched first, so that `Inf` within one is not replaced.
_STRING_OR_INF = re.compile(r'"(?:[^"\\]|\\.)*"|Inf(?!inity)', re.DOTALL)


def parse_json(body: bytes) -> Json:
    """Parse the value of a body.

    Args:
        body: JSON in UTF-8, with the extensions above. The first of equal keys counts only if the
            text needs the tolerant parser for another reason, see `parse_json_tolerantly`.

    Raises:
        InvalidArgumentError: the body has no valid value; the message has the offset.
        RequestTooLargeError: its lists and numbers would take too much memory.
    """
    if len(body) > _LARGE_BYTES:
        lists = body.count(b"[") + body.count(b"{")
        check_expansion(
            lists * _LIST_BYTES + body.count(b",") * _ITEM_BYTES, f"JSON of {lists} lists"
        )
    try:
        return _parse(body)
    except DeepError:
        return _parse(shallow(body, _parse_piece))


def _parse(body: bytes) -> Json:
    if is_long(body):
        return parse_in_pieces(body, _parse_piece)
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _parse_long_tolerantly(body)
    return value


def parse_json_tolerantly(body: bytes) -> Json:
    """`parse_json` by the slower parser that accepts all extensions.

    Raises:
        InvalidArgumentError: the body has no valid value; the message has the offset.
    """
    try:
        return _parse_long_tolerantly(body)
    except DeepError:
        return _parse_long_tolerantly(shallow(body, _parse_piece_tolerantly))


def _parse_long_tolerantly(body: bytes) -> Json:
    if is_long(body):
        return parse_in_pieces(body, _parse_piece_tolerantly, first_wins=True)
    return _parse_tolerantly(body, 0)[0]


def _parse_piece(piece: bytes, offset: int) -> Json:
    try:
        value: Json = orjson.loads(piece)
    except orjson.JSONDecodeError:
        return _parse_piece_tolerantly(piece, offset)
    return value


def _parse_piece_tolerantly(piece: bytes, offset: int) -> Json:
    value, end = _parse_tolerantly(piece, offset)
    if end < len(piece):  # within a text, nothing may follow a value
        raise _parse_error("Expecting ',' delimiter", offset + end)
    return value


def _parse_tolerantly(body: bytes, begin: int) -> tuple[Json, int]:
    """Parse the value at the start of some bytes of a body; also return where it ends in them.

    Args:
        body: the bytes.
        begin: their offset in the body, for messages.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _parse_error(NOT_UTF8, begin + error.start) from None
    start = _BLANKS.match(text)
    offset = 0 if start is None else start.end()
    if offset == len(text):
        raise InvalidArgumentError("JSON Parse error: The document is empty")
    added: list[int] = []
    if "Inf" in text:
        text = _spell_infinity(text, added)
    try:
        value, end = _DECODER.raw_decode(text, offset)
    except json.JSONDecodeError as error:
        before = sum(1 for position in added if position < error.pos)
        raise _parse_error(error.msg, begin + error.pos - before * len("inity")) from None
    except RecursionError:
        raise DeepError from None
    except _NumberError as error:
        raise InvalidArgumentError(f"JSON Parse error: {error}") from None
    return value, len(body) if end == len(text) else len(text[:end].encode())


def dump_excerpt(value: Json) -> str:
    """A value as text for a message, truncated to 256 bytes."""
    try:
        text = orjson.dumps(_head(value, [_EXCERPT_BYTES])).decode()
    except (TypeError, orjson.JSONEncodeError):
        text = repr(value)
    return text if len(text) <= _EXCERPT_BYTES else text[:_EXCERPT_BYTES] + "..."


def type_name(value: Json) -> str:
    """The name of a JSON type in TensorFlow Serving's messages."""
    if isinstance(value, bool):
        return "True" if value else "False"
    for kind, name in ((dict, "Object"), (list, "Array"), (str, "String"), (int | float, "Number")):
        if isinstance(value, kind):
            return name
    return "Null"


class _NumberError(Exception):
    """A number that no tensor can hold; no ValueError, which `json` might catch."""


def _parse_error(message: str, offset: int) -> InvalidArgumentError:
    said = "Invalid value." if message == "Expecting value" else message  # RapidJSON's wording
    return InvalidArgumentError(f"JSON Parse error: {said} at offset: {offset}")


def _spell_infinity(text: str, added: list[int]) -> str:
    """Replace `Inf` by `Infinity`, which `json` accepts; `added` gets the insertion points."""

    def spell(match: re.Match[str]) -> str:
        word = match.group()
        if word != "Inf":
            return word
        added.append(match.end() + len("inity") * len(added))
        return "Infinity"

    return _STRING_OR_INF.sub(spell, text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _NumberError(f"Number too big to be stored in double: {text[:40]}")
    return value


def _integer(text: str) -> int | float:
    # Convert integers beyond 64 bits to floats, as orjson does.
    if len(text) > 20:
        return _number(text)
    value = int(text)
    return value if -(2**63) <= value < 2**64 else float(value)


def _first_wins(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    return dict(reversed(pairs))


_DECODER = json.JSONDecoder(
    parse_float=_number, parse_int=_integer, object_pairs_hook=_first_wins, strict=True
)


def _head(value: Json, budget: list[int]) -> Json:
    """The first values of a nested value, within a budget."""
    budget[0] -= 1
    if isinstance(value, list):
        return [_head(item, budget) for item in value[: max(budget[0], 0)] if budget[0] > 0]
    if isinstance(value, dict):
        return {k: _head(v, budget) for k, v in value.items() if budget[0] > 0}
    return value[: 2 * _EXCERPT_BYTES] if isinstance(value, str) else value
