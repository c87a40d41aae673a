"""`keras.preprocessing.text`: texts as word indices; newer programs use TextVectorization."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pinnace.framework.tensor import Array

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'
_MODES = ("binary", "count", "tfidf", "freq")


def text_to_word_sequence(
    input_text: str, filters: str = FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """The words of a text.

    Args:
        input_text: the text.
        filters: characters that part words.
        lower: whether the text is put into lower case.
        split: the separator of words.
    """
    if lower:
        input_text = input_text.lower()
    parted = input_text.translate({ord(one): split for one in filters})
    return [word for word in parted.split(split) if word]


def one_hot(
    input_text: str,
    n: int,
    filters: str = FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable[[str], list[str]] | None = None,
) -> list[int]:
    """A text as word indices from 1 to n - 1 by Python's hash, which differs between processes."""
    return hashing_trick(input_text, n, hash, filters, lower, split, analyzer)


def hashing_trick(
    text: str,
    n: int,
    hash_function: Any = None,
    filters: str = FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable[[str], list[str]] | None = None,
) -> list[int]:
    """The words of a text as numbers from 1 to n - 1.

    Args:
        text: the text.
        n: one more than the largest number.
        hash_function: a function from a word to an integer; `md5` for one that stays; Python's
            `hash` if None.
        filters: characters that part words.
        lower: whether the text is put into lower case.
        split: the separator of words.
        analyzer: gives the words instead.
    """
    if hash_function == "md5":
        hash_function = _md5
    elif hash_function is None:
        hash_function = hash
    words = (
        text_to_word_sequence(text, filters, lower, split) if analyzer is None else analyzer(text)
    )
    return [hash_function(word) % (n - 1) + 1 for word in words]


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)


class Tokenizer:
    """Word indices by descending frequency; 0 is not a word.

    Args:
        num_words: only the num_words - 1 most frequent words get numbers in results.
        filters: characters that part words.
        lower: whether texts are put into lower case.
        split: the separator of words.
        char_level: whether characters are used as words.
        oov_token: the token of unknown words; they are left out if None.
        analyzer: gives the words of a text instead.

    Attributes:
        word_counts: how often each word occurs.
        word_docs: number of texts with each word.
        word_index: number by word.
        index_word: word by number.
        index_docs: number of texts with each word, by index.
        document_count: number of texts.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        analyzer: Callable[[str], list[str]] | None = None,
        document_count: int = 0,
    ) -> None:
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.document_count = document_count
        self.word_counts: OrderedDict[str, int] = OrderedDict()
        self.word_docs: dict[str, int] = defaultdict(int)
        self.index_docs: dict[int, int] = defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Count the words of texts, or of lists of words, and assign indices."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        by_count = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        front = [] if self.oov_token is None else [self.oov_token]
        self.word_index = {word: number for number, word in enumerate([*front, *by_count], 1)}
        self.index_word = {number: word for word, number in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Iterable[Iterable[int]]) -> None:
        """Count the sequences in which each index occurs, for `tfidf`."""
        for sequence in sequences:
            self.document_count += 1
            for number in set(sequence):
                self.index_docs[number] += 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """Each text as a list of word indices."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """Yields each text as a list of word indices."""
        unknown = self.word_index.get(self.oov_token) if self.oov_token is not None else None
        for text in texts:
            numbers = (
                self._number(self.word_index.get(word), unknown) for word in self._words(text)
            )
            yield [number for number in numbers if number is not None]

    def sequences_to_texts(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """Each list of indices as words joined by spaces."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields each list of indices as words joined by spaces."""
        for sequence in sequences:
            words = []
            for number in sequence:
                word = self.index_word.get(number)
                if word is None or self._number(number, None) is None:
                    word = self.oov_token
                if word is not None:
                    words.append(word)
            yield " ".join(words)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> Array:
        """A row of numbers per text; see `sequences_to_matrix`."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> Array:
        """A row of float64 per sequence, a column per number: [sequences, num_words].

        Args:
            sequences: lists of numbers.
            mode: `binary`: whether a number occurs; `count`: how often; `freq`: its share;
                `tfidf`: (1 + ln count) · ln(1 + texts / (1 + texts with it)).

        Raises:
            ValueError: unknown mode, or nothing was fitted.
        """
        if mode not in _MODES:
            raise ValueError(f"Tokenizer: mode must be one of {', '.join(_MODES)}, got {mode!r}")
        if not self.num_words and not self.word_index:
            raise ValueError("Tokenizer: give num_words, or fit it on texts first")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Tokenizer: fit it on texts or sequences before mode tfidf")
        width = self.num_words or len(self.word_index) + 1
        result = np.zeros((len(sequences), width))
        for row, sequence in zip(result, sequences, strict=True):
            numbers = np.array([number for number in sequence if number < width], np.int64)
            np.add.at(row, numbers, 1)
            if mode == "binary":
                np.minimum(row, 1, out=row)
            elif mode == "freq" and len(sequence):
                row /= len(sequence)
            elif mode == "tfidf":
                for number in np.flatnonzero(row):
                    rare = self.document_count / (1 + self.index_docs.get(int(number), 0))
                    row[number] = (1 + np.log(row[number])) * np.log(1 + rare)
        return result

    def get_config(self) -> dict[str, Any]:
        """The arguments and the counts; dicts are stored as JSON."""
        counted = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        own = ("num_words", "filters", "lower", "split", "char_level", "oov_token")
        return {
            **{name: getattr(self, name) for name in own},
            "document_count": self.document_count,
            **{name: json.dumps(getattr(self, name)) for name in counted},
        }

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as JSON, for `tokenizer_from_json`."""
        return json.dumps({"class_name": "Tokenizer", "config": self.get_config()}, **kwargs)

    def _words(self, text: Any) -> list[str]:
        if self.char_level or isinstance(text, list):
            if not self.lower:
                return list(text)
            return list(text.lower()) if isinstance(text, str) else [x.lower() for x in text]
        if self.analyzer is not None:
            return self.analyzer(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def _number(self, number: int | None, unknown: int | None) -> int | None:
        if number is None or (self.num_words and number >= self.num_words):
            return unknown
        return number


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The Tokenizer that `to_json` wrote.

    Raises:
        ValueError: the text describes no Tokenizer.
    """
    try:
        config: dict[str, Any] = json.loads(json_string)["config"]
        counts, docs, indices, words, numbers = (
            json.loads(config.pop(name))
            for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        )
        made = Tokenizer(**config)
        made.word_counts, made.word_index = OrderedDict(counts), numbers
        made.word_docs.update(docs)
        made.index_docs.update((int(number), count) for number, count in indices.items())
        made.index_word = {int(number): word for number, word in words.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"tokenizer_from_json: not what Tokenizer.to_json writes: {error}"
        ) from error
    return made
