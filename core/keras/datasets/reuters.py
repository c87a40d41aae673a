"""News articles with 46 topics: 11,228 texts as word indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.keras.datasets import texts
from pinnace.keras.datasets.archives import arrays
from pinnace.keras.datasets.files import HOST, fetched

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHA256 = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
_INDEX_MD5 = "4d44cc38712099c9e383dc6e5f11a921"
# Topics by label.
_TOPICS = (
    *("cocoa", "grain", "veg-oil", "earn", "acq", "wheat", "copper", "housing", "money-supply"),
    *("coffee", "sugar", "trade", "reserves", "ship", "cotton", "carcass", "crude", "nat-gas"),
    *("cpi", "money-fx", "interest", "gnp", "meal-feed", "alum", "oilseed", "gold", "tin"),
    *("strategic-metal", "livestock", "retail", "ipi", "iron-steel", "rubber", "heat", "jobs"),
    *("lei", "bop", "zinc", "orange", "pet-chem", "dlr", "gas", "silver", "wpi", "hog", "lead"),
)


def load_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    Args:
        path: name of the file in `~/.keras/datasets`.
        num_words: numbers from this one on are left out; None leaves out the largest alone.
        skip_top: numbers below this one are left out.
        maxlen: texts of this length and more are left out.
        test_split: the share of the second part.
        seed: seed of the order of the texts.
        start_char: the index that each text begins with; None for none.
        oov_char: replaces indices that are left out; None drops them.
        index_from: offset added to the ranks of words; by default, rank 1 becomes index 4.

    Returns:
        Lists of numbers, object [n] ([n, length] if all have one length); topics, int64 [n], as
        `get_label_names` lists them.

    Raises:
        OSError: the file is not there and cannot be fetched; the error says what to put where.
        ValueError: no text is shorter than `maxlen`, or it is another file.
    """
    x, y = arrays(fetched("reuters", path, f"{HOST}reuters.npz", _SHA256), "x", "y")
    random = np.random.RandomState(seed)
    mixed, labels = texts.mixed("reuters", x, y, random)
    marks = texts.Marks(start_char, oov_char, index_from)
    kept, left = texts.shorter(texts.marked("reuters", mixed, marks), labels, maxlen)
    if not kept:
        raise ValueError(
            f"keras.datasets.reuters: maxlen must leave some texts, and none is shorter than "
            f"{maxlen}"
        )
    found, topics = texts.limited(kept, num_words, skip_top, oov_char), np.asarray(left)
    cut = int(len(found) * (1 - test_split))
    train = (np.array(found[:cut], object), topics[:cut])
    return train, (np.array(found[cut:], object), topics[cut:])


def get_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Word -> its rank; `load_data` increases ranks by `index_from`.

    Args:
        path: name of the file in `~/.keras/datasets`.

    Raises:
        OSError: the file is not there and cannot be fetched; the error says what to put where.
        ValueError: the file has other contents.
    """
    origin = f"{HOST}reuters_word_index.json"
    return texts.word_index("reuters", fetched("reuters", path, origin, _INDEX_MD5))


def get_label_names() -> tuple[str, ...]:
    """The topics by label."""
    return _TOPICS
