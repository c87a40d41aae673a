"""Words by labels or by scripts of characters: SplitMerge… and UnicodeScriptTokenize…."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import INDEX, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.kernels.script_runs import newest_scripts_of
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define
from pinnace.ops.text.piece_normalization import character_size
from pinnace.ops.text.splitting import Pieces

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_SPLIT_MERGE = "SplitMergeTokenizeWithOffsets"
_SCRIPT = "UnicodeScriptTokenizeWithOffsets"
_NO_SCRIPT = -1
# The characters of Unicode's property White_Space.
_SPACES = frozenset([*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)])
_SPACES |= {0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
_SPACE_TEXTS = frozenset(chr(code).encode() for code in _SPACES)


def _merged(text: bytes, labels: list[int], pieces: Pieces, *, splits_at_spaces: bool) -> None:
    """Append the words of one text to the others.

    Args:
        text: the text to split.
        labels: 0 for each character that begins a word.
        pieces: get them.
        splits_at_spaces: whether a word ends at a space, whatever the next label is.
    """
    at, index = 0, 0
    start = end = -1
    word = bytearray()
    after_space = False
    while at < len(text):
        size = character_size(text, at)
        character = text[at : at + size]
        if index >= len(labels):
            raise InvalidArgumentError(
                f"{_SPLIT_MERGE}: {len(labels)} labels are too few for the text {text!r:.120}"
            )
        is_space = character in _SPACE_TEXTS
        if not is_space:
            if labels[index] == 0 or start < 0 or (after_space and splits_at_spaces):
                if start >= 0:
                    pieces.add(bytes(word), start, end)
                start, word = at, bytearray()
            word += character
            end = at + size
        after_space = is_space
        at += size
        index += 1
    if start >= 0:
        pieces.add(bytes(word), start, end)
    pieces.end_row()


def _split_merge_kernel(
    input_values: Array, labels: Array, row_splits: Array, *, force_split_at_break_character: bool
) -> tuple[Array, ...]:
    texts, ends = input_values.reshape(-1).tolist(), row_splits.reshape(-1)
    if len(ends) != len(texts) + 1:
        raise InvalidArgumentError(
            f"{_SPLIT_MERGE}: Expecting row_splits have {len(texts) + 1} elements, got {len(ends)}"
        )
    if ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > labels.size:
        raise InvalidArgumentError(
            f"{_SPLIT_MERGE}: row_splits must ascend within {labels.size} labels, got "
            f"{ends.tolist()[:20]}"
        )
    every, places, pieces = labels.reshape(-1).tolist(), ends.tolist(), Pieces()
    for index, text in enumerate(texts):
        own = every[places[index] : places[index + 1]]
        _merged(text, own, pieces, splits_at_spaces=force_split_at_break_character)
    numbers = (pieces.splits, pieces.starts, pieces.ends)
    splits, starts, limits = (np.array(part, np.int64) for part in numbers)
    return pieces.values, splits, starts, limits


def _infer_split_merge(call: InferCall) -> tuple[Shape, ...]:
    unknown = Shape([None])
    return unknown, call.spec(2).shape, unknown, unknown


SPLIT_MERGE = define(
    name=_SPLIT_MERGE,
    signature=(
        "input_values: string, labels: int32, row_splits: int32 -> output_values: string, "
        "output_row_splits: int64, start_values: int64, limit_values: int64"
    ),
    attrs={"force_split_at_break_character": attr("bool", default=True)},
    infer=_infer_split_merge,
    kernel=_split_merge_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


class _Words:
    """Code points grouped to words, with the start and end of each in its text."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.inner: list[int] = []
        self.starts: list[int] = []
        self.limits: list[int] = []

    def add(self, points: list[int], scripts: list[int], *, keeps_spaces: bool) -> None:
        """The words of one text: a new one begins where the script changes.

        Spaces are left out of words, but count as a script, which ends the one before them.
        """
        before, was_space, is_open = _NO_SCRIPT, False, False
        skipped = 0
        for place, (point, script) in enumerate(zip(points, scripts, strict=True)):
            is_space = point in _SPACES
            if script != before or (keeps_spaces and is_space != was_space):
                if is_open:
                    self.limits.append(place - skipped)
                before, is_open = script, False
            if keeps_spaces or not is_space:
                if not is_open:
                    self.starts.append(place)
                    self.inner.append(len(self.values))
                    is_open = True
                self.values.append(point)
            skipped = skipped + 1 if is_space and not keeps_spaces else 0
            was_space = is_space
        if is_open:
            self.limits.append(len(points) - skipped)


def _script_kernel(
    input_values: Array, input_splits: Array, *, keep_whitespace: bool
) -> tuple[Array, ...]:
    points, ends = input_values.reshape(-1), input_splits.reshape(-1)
    if not len(ends) or ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > len(points):
        raise InvalidArgumentError(
            f"{_SCRIPT}: input_splits must ascend within {len(points)} code points, got "
            f"{ends.tolist()[:20]}"
        )
    every, scripts = points.tolist(), newest_scripts_of(points).tolist()
    words, outer = _Words(), [0]
    for start, end in itertools.pairwise(ends.tolist()):
        words.add(every[start:end], scripts[start:end], keeps_spaces=keep_whitespace)
        outer.append(len(words.starts))
    words.inner.append(len(words.values))
    return (
        np.array(words.values, np.int32),
        np.array(words.inner, ends.dtype),
        np.array(words.starts, np.int64),
        np.array(words.limits, np.int64),
        np.array(outer, ends.dtype),
    )


def _infer_script(call: InferCall) -> tuple[Shape, ...]:
    unknown = Shape([None])
    return unknown, unknown, unknown, unknown, call.spec(1).shape


UNICODE_SCRIPT_WORDS = define(
    name=_SCRIPT,
    signature=(
        "input_values: int32, input_splits: Tsplits -> output_values: int32, "
        "output_values_inner_splits: Tsplits, output_offset_starts: int64, "
        "output_offset_limits: int64, output_outer_splits: Tsplits"
    ),
    types={"Tsplits": typed(INDEX, default=int64)},
    attrs={"keep_whitespace": attr("bool", default=False)},
    infer=_infer_script,
    kernel=_script_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
