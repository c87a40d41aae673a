"""Film reviews with their sentiment: 50,000 texts as word indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.no_effect import no_effect
from pinnace.keras.datasets import texts
from pinnace.keras.datasets.archives import arrays
from pinnace.keras.datasets.files import HOST, fetched

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHA256 = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"
_INDEX_MD5 = "bfafd718b763782e994055a2d397834f"


def load_data(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
    **kwargs: Any,
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    Args:
        path: name of the file in `~/.keras/datasets`.
        num_words: numbers from this one on are left out; None leaves out the largest alone.
        skip_top: numbers below this one are left out.
        maxlen: texts of this length and more are left out.
        seed: seed of the order of the texts.
        start_char: the index that each text begins with; None for none.
        oov_char: replaces indices that are left out; None drops them.
        index_from: offset added to the ranks of words; by default, rank 1 becomes index 4.
        **kwargs: accepted for older programs; no effect.

    Returns:
        Lists of numbers, object [n] ([n, length] if all have one length); and labels, 1 for
        positive and 0 for negative reviews, int64 [n].

    Raises:
        OSError: the file is not there and cannot be fetched; the error says what to put where.
        ValueError: no text is shorter than `maxlen`, or it is another file.
    """
    for name in kwargs:
        no_effect("imdb.load_data", name, "Keras no longer has this argument")
    file = fetched("imdb", path, f"{HOST}imdb.npz", _SHA256)
    x_train, y_train, x_test, y_test = arrays(file, "x_train", "y_train", "x_test", "y_test")
    random = np.random.RandomState(seed)
    marks = texts.Marks(start_char, oov_char, index_from)
    parts = []
    for x, y in ((x_train, y_train), (x_test, y_test)):
        mixed, labels = texts.mixed("imdb", x, y, random)
        kept, left = texts.shorter(texts.marked("imdb", mixed, marks), labels, maxlen)
        if not kept:
            raise ValueError(
                f"keras.datasets.imdb: maxlen must leave some texts, and none is shorter than "
                f"{maxlen}"
            )
        parts.append((kept, left))
    cut = len(parts[0][0])
    both = texts.limited(parts[0][0] + parts[1][0], num_words, skip_top, oov_char)
    labels = np.concatenate([np.asarray(left) for _, left in parts])
    return (np.array(both[:cut], object), labels[:cut]), (
        np.array(both[cut:], object),
        labels[cut:],
    )


def get_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Word -> its rank; `load_data` increases ranks by `index_from`.

    Args:
        path: name of the file in `~/.keras/datasets`.

    Raises:
        OSError: the file is not there and cannot be fetched; the error says what to put where.
        ValueError: the file has other contents.
    """
    origin = f"{HOST}imdb_word_index.json"
    return texts.word_index("imdb", fetched("imdb", path, origin, _INDEX_MD5))
