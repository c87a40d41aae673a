"""Unicode normalization: NormalizeUTF8, CaseFoldUTF8. Invalid UTF-8 is unchanged."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define, same_as_input
from pinnace.ops.strings.elements import map_strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array

__all__: list[str] = []


def _of_text(function: Callable[[str], str], x: Array) -> Array:
    def mapped(data: bytes) -> bytes:
        if data.isascii():
            return function(data.decode("ascii")).encode("ascii")
        text = data.decode("utf-8", "surrogateescape")
        return function(text).encode("utf-8", "surrogateescape")

    return map_strings(mapped, x)


_FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def _normalize_kernel(input: Array, *, normalization_form: str) -> Array:
    form: Any = normalization_form.upper()
    if form not in _FORMS:
        raise InvalidArgumentError(
            f"NormalizeUTF8: normalization_form must be one of {', '.join(_FORMS)}, "
            f"got {normalization_form!r}"
        )
    return _of_text(lambda text: unicodedata.normalize(form, text), input)


NORMALIZE_UTF8 = define(
    name="NormalizeUTF8",
    signature="input: string -> output: string",
    attrs={"normalization_form": attr("string")},
    infer=same_as_input,
    kernel=_normalize_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


# Invisible code points (Default_Ignorable_Code_Point), which folding drops.
_IGNORED = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
_DROPPED: dict[int, None] = {}


def _dropped() -> dict[int, None]:
    if not _DROPPED:
        _DROPPED.update(dict.fromkeys(c for a, b in _IGNORED for c in range(a, b + 1)))
    return _DROPPED


def _folded(text: str) -> str:
    """NFKC_Casefold, by folding and composing repeatedly until nothing changes."""
    before = None
    while text != before:
        before = text
        text = unicodedata.normalize("NFKC", text.translate(_dropped()).casefold())
    return text


def _fold_kernel(input: Array) -> Array:
    return _of_text(_folded, input)


CASE_FOLD_UTF8 = define(
    name="CaseFoldUTF8",
    signature="input: string -> output: string",
    infer=same_as_input,
    kernel=_fold_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
