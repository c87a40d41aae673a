"""TextVectorization: texts as rows of token indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import ignored
from pinnace.keras import registry
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.lookups import StringLookup
from pinnace.keras.layers.preprocessing import batches_of_data
from pinnace.keras.layers.sparse_categories import refuse_numbers
from pinnace.ops.array import padding, reshaping, shapes
from pinnace.ops.strings import conversion, patterns

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_PUNCTUATION = r"[!\"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']"
_STANDARD = ("lower_and_strip_punctuation", "lower", "strip_punctuation")
_SPLITS = ("whitespace", "character")


class TextVectorization(Layer):
    """Standardizes texts, splits them into tokens, and looks these up in a vocabulary.

    The indices are 0 for padding, 1 for an unknown token, then the vocabulary in order.

    Args:
        max_tokens: most numbers there may be.
        standardize: `lower_and_strip_punctuation`, `lower`, `strip_punctuation`, a function of
            string tensors, or None.
        split: `whitespace`, `character`, a function, or None.
        ngrams: an int: also all n-grams of up to this length; a tuple: n-grams of these lengths
            only.
        output_mode: `int`: the numbers in order; `multi_hot`, `count`, `tf_idf`: a row over the
            vocabulary; `one_hot`: a row for each word.
        output_sequence_length: length of rows in `int` mode: longer ones are cut, shorter ones end
            with 0.
        pad_to_max_tokens: whether rows over the vocabulary have `max_tokens` numbers.
        vocabulary: a list, an array, or the path of a file.
        idf_weights: for `tf_idf`.
        sparse: whether rows over the vocabulary are a SparseTensor; not for `int`.
        ragged: whether the numbers of `int` are a RaggedTensor: rows keep their lengths, those
            above `output_sequence_length` are cut.
        encoding: must be `utf-8`.
        vocabulary_size: told in configurations.
        **options: see Layer.

    Shapes:
        [b] or [b, 1] → int64[b, steps], or float[b, vocabulary].
    """

    _asset_names: ClassVar[tuple[str, ...]] = ("vocabulary.txt",)

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: Any = "lower_and_strip_punctuation",
        split: Any = "whitespace",
        ngrams: Any = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Any = None,
        idf_weights: Any = None,
        sparse: bool = False,
        ragged: bool = False,
        encoding: str = "utf-8",
        vocabulary_size: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        refuse_numbers("TextVectorization", output_mode, sparse)
        if ragged and output_mode != "int":
            raise ValueError(
                "TextVectorization: `ragged` must be False unless `output_mode` is 'int', got "
                f"output_mode={output_mode!r}"
            )
        for name, value, known in (
            ("standardize", standardize, _STANDARD),
            ("split", split, _SPLITS),
        ):
            if value is not None and value not in known and not callable(value):
                raise ValueError(
                    f"TextVectorization: {name} must be one of {', '.join(known)}, a function or "
                    f"None, got {value!r}"
                )
        widths = ngrams if isinstance(ngrams, (list, tuple)) else [ngrams or 1]
        if not all(isinstance(width, int) for width in widths):
            raise ValueError(
                "TextVectorization: `ngrams` must be None, an integer, or a tuple of integers, got "
                f"{ngrams!r}"
            )
        if output_sequence_length is not None and output_mode != "int":
            raise ValueError(
                "TextVectorization: `output_sequence_length` must not be set if `output_mode` is "
                f"not 'int', got output_mode={output_mode!r}"
            )
        self.standardize = standardize
        self.split = split
        self.ngrams = ngrams
        self.output_sequence_length = output_sequence_length
        self.ragged = ragged
        self._lookup_layer = StringLookup(
            max_tokens=max_tokens,
            mask_token="",
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            output_mode=output_mode,
            sparse=sparse,
            pad_to_max_tokens=pad_to_max_tokens,
            encoding=encoding,
            vocabulary_size=vocabulary_size,
        )
        self._build_at_init()

    @property
    def output_mode(self) -> str:
        """The form of the output."""
        return self._lookup_layer.output_mode

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """See StringLookup."""
        self._lookup_layer.set_vocabulary(vocabulary, idf_weights)

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """See StringLookup."""
        return self._lookup_layer.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """The number of indices."""
        return self._lookup_layer.vocabulary_size()

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Build the vocabulary from data, the most frequent tokens first.

        Args:
            data: texts: an array, a tensor, or a dataset of batches.
            batch_size: accepted for Keras' sake.
            steps: number of batches of a dataset; None takes all.
        """
        ignored("TextVectorization.adapt", "all data is counted", batch_size=batch_size)

        def documents() -> Any:
            for batch in batches_of_data(data, steps):
                words = self._words(convert_to_tensor(batch))
                if is_composite(words):
                    yield from words.to_list()
                else:
                    yield from np.atleast_2d(words.numpy()).tolist()

        self._lookup_layer._adapt_to(documents())

    def _words(self, x: Tensor) -> Any:
        """The tokens: ragged [b, (tokens)], or a tensor without splitting."""
        words = self._cut(self._alike(x))
        if self.ngrams is not None:
            widths = self.ngrams
            if isinstance(widths, int):
                widths = tuple(range(1, widths + 1))
            words = _ragged_strings().ngrams(words, ngram_width=tuple(widths), separator=" ")
        return words

    def _alike(self, x: Tensor) -> Any:
        if self.standardize in {"lower", "lower_and_strip_punctuation"}:
            x = conversion.lower(x)
        if self.standardize in {"strip_punctuation", "lower_and_strip_punctuation"}:
            x = patterns.regex_replace(x, _PUNCTUATION, "")
        if callable(self.standardize):
            return self.standardize(x)
        return x

    def _cut(self, x: Any) -> Any:
        if self.split is None:
            return x
        if len(x.shape) > 1:
            if x.shape[-1] != 1:
                raise ValueError(
                    f"{self._described()}: texts must have shape [b] or [b, 1], got {x.shape.text}"
                )
            x = reshaping.squeeze(x, [-1])
        if self.split == "whitespace":
            return _ragged_strings().split(x)
        if self.split == "character":
            return _ragged_strings().unicode_split(x, "UTF-8")
        return self.split(x)

    def _dtype_of_shapes(self) -> str:
        return "string"

    def call(self, x: Any) -> Any:
        """The rows: ragged or sparse if requested."""
        words = self._words(convert_to_tensor(x))
        found = self._lookup_layer.call(words)
        if not is_composite(words):
            return self._fitted(found)
        length = self.output_sequence_length
        if self.output_mode != "int":
            return found
        if self.ragged:
            return found if length is None else found[..., :length]
        return found.to_tensor(0, shape=None if length is None else [None, length])

    def _fitted(self, numbers: Tensor) -> Tensor:
        length = self.output_sequence_length
        if self.output_mode != "int" or length is None:
            return numbers
        cut = numbers[..., :length]
        if self.ragged:
            return cut
        missing = length - shapes.shape(cut)[-1]
        front = [[0, 0]] * (len(cut.shape) - 1)
        padded = padding.pad(cut, [*front, [0, missing]])
        padded.set_shape([*cut.shape.as_list()[:-1], length])
        return padded

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        inner = self._lookup_layer.get_config()
        names = (
            *("max_tokens", "output_mode", "sparse", "pad_to_max_tokens"),
            *("vocabulary", "idf_weights"),
        )
        own = ("ngrams", "output_sequence_length", "ragged")
        return {
            **super().get_config(),
            **{name: inner[name] for name in names},
            **{name: getattr(self, name) for name in own},
            "standardize": registry.serialize_keras_object(self.standardize),
            "split": registry.serialize_keras_object(self.split),
            "encoding": "utf-8",
        }

    def _restore_asset(self, name: str, data: bytes) -> None:
        self._lookup_layer._restore_asset(name, data)


def _ragged_strings() -> Any:
    """The functions that return ragged tensors, which few models need."""
    from pinnace.ops.composites import strings

    return strings
