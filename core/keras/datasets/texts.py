"""Texts as lists of word indices, marked, offset and truncated by the loader's arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pinnace.framework.tensor import Array

# Keras's largest file has 6 million words.
_MOST_WORDS = 1 << 26
_MOST_INDEX_BYTES = 1 << 26

Text = list[int]


class Marks(NamedTuple):
    """The numbers that mark a start and unknown words, and the first number of a word.

    Attributes:
        start_char: the number that each text begins with; None for none.
        oov_char: the number in place of rare words; None drops them.
        index_from: added to the numbers of words; None adds nothing.
    """

    start_char: int | None
    oov_char: int | None
    index_from: int | None


def mixed(
    who: str, texts: Array, labels: Array, random: np.random.RandomState
) -> tuple[Array, Array]:
    """Texts and labels, shuffled in the same order.

    Raises:
        ValueError: a text is not a list, labels are missing, or there are too many words.
    """
    sizes = [len(text) if isinstance(text, (list, np.ndarray)) else -1 for text in texts]
    if len(texts) != len(labels) or min(sizes, default=0) < 0 or sum(sizes) > _MOST_WORDS:
        raise ValueError(
            f"keras.datasets.{who}: the file must hold lists of numbers and a label for each"
        )
    order = np.arange(len(texts))
    random.shuffle(order)
    return texts[order], labels[order]


def marked(who: str, texts: Iterable[Any], marks: Marks) -> list[Text]:
    """Texts with their start mark, and with indices increased by `index_from`."""
    first = [] if marks.start_char is None else [marks.start_char]
    move = marks.index_from
    try:
        if move or first:
            return [first + [word + move for word in text] for text in texts]
        return [list(text) for text in texts]
    except TypeError as error:
        raise ValueError(
            f"keras.datasets.{who}: words must be numbers, and start_char and index_from too, "
            f"got start_char={marks.start_char!r} and index_from={move!r}"
        ) from error


def shorter(
    texts: list[Text], labels: Iterable[Any], maxlen: int | None
) -> tuple[list[Text], Iterable[Any]]:
    """Texts of fewer than `maxlen` indices, with their labels; all of them for None."""
    if not maxlen:
        return texts, labels
    kept = [(text, label) for text, label in zip(texts, labels, strict=True) if len(text) < maxlen]
    return [text for text, _ in kept], [label for _, label in kept]


def limited(
    texts: list[Text], num_words: int | None, skip_top: int, oov_char: int | None
) -> list[Text]:
    """Texts restricted to word indices in [skip_top, num_words).

    Keras: without `num_words` the limit is the largest index, which is itself left out.
    """
    end = num_words or max((max(text, default=0) for text in texts), default=0)
    if oov_char is None:
        return [[word for word in text if skip_top <= word < end] for text in texts]
    return [[word if skip_top <= word < end else oov_char for word in text] for text in texts]


def word_index(who: str, path: Path) -> dict[str, int]:
    """Word -> its rank by frequency."""
    if path.stat().st_size > _MOST_INDEX_BYTES:
        raise ValueError(f"keras.datasets.{who}: {path} has more than {_MOST_INDEX_BYTES} bytes")
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"keras.datasets.{who}: {path} must hold words and their ranks")  # noqa: TRY004 (the file is wrong)
    return found
