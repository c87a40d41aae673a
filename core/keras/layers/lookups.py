"""Vocabulary lookups: strings or integers as indices, with a given or adapted vocabulary."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import is_composite
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Tensor
from pinnace.keras import restoring
from pinnace.keras.call_context import calls
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.categories import checked_mode, current_mode, encoded, on_elements
from pinnace.keras.layers.open_rows import with_open_rows
from pinnace.keras.layers.preprocessing import batches_of_data
from pinnace.keras.layers.sparse_categories import refuse_numbers, weighted
from pinnace.keras.layers.unknowns import checked_salt, spread
from pinnace.keras.plain_lists import one_array
from pinnace.lookup.initializers import KeyValueTensorInitializer
from pinnace.lookup.static import StaticHashTable
from pinnace.ops.array import casting, constants, selecting, shapes
from pinnace.ops.control import assertions
from pinnace.ops.math import comparison, logic, reduction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


class LookupOptions(LayerOptions, total=False):
    """The common arguments of StringLookup and IntegerLookup; see IndexLookup and Layer."""

    vocabulary_size: int | None
    oov_method: str
    salt: Any


class IndexLookup(Layer):
    """The base class of StringLookup and IntegerLookup.

    The indices are: 0 for the mask token if there is one and indices are returned;
    `num_oov_indices` for unknown tokens; then the vocabulary in order.

    Args:
        max_tokens: largest number of indices, including those for the mask and unknown tokens.
        num_oov_indices: number of indices for unknown tokens; 0 refuses them.
        mask_token: the token of masked places.
        oov_token: the token of unknown entries when `invert`.
        vocabulary: a list, an array, or the path of a file with one entry a line.
        idf_weights: for `tf_idf`, a weight for each entry.
        invert: whether numbers become entries.
        output_mode: `int`, or as `CategoryEncoding`; `tf_idf` counts times weights.
        sparse: whether the result is a SparseTensor; not for `int`.
        pad_to_max_tokens: whether rows have `max_tokens` numbers however small the vocabulary is.
        **options: see Layer.
    """

    _untracked = frozenset({"_tokens", "_weights"})

    _asset_names: ClassVar[tuple[str, ...]] = ("vocabulary.txt",)
    _TF_MODULE_IGNORED_PROPERTIES = Layer._TF_MODULE_IGNORED_PROPERTIES | {"_tokens"}
    _kind: ClassVar[dtypes.DType] = dtypes.string

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: Any = None,
        oov_token: Any = None,
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        vocabulary_size: int | None = None,
        oov_method: str = "floormod",
        salt: Any = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        who = type(self).__name__
        self.output_mode = checked_mode(who, current_mode(output_mode), _MODES)
        refuse_numbers(who, output_mode, sparse)
        self.sparse = sparse
        if invert and output_mode != "int":
            raise ValueError(f"{who}: output_mode must be int if invert, got {output_mode!r}")
        if max_tokens is not None and max_tokens <= 1:
            raise ValueError(f"{who}: max_tokens must be above 1, got {max_tokens}")
        if num_oov_indices < 0 or (invert and num_oov_indices > 1):
            raise ValueError(
                f"{who}: num_oov_indices must be at least 0, and at most 1 if invert, "
                f"got {num_oov_indices}"
            )
        if pad_to_max_tokens and max_tokens is None:
            raise ValueError(f"{who}: max_tokens must be given to pad to it")
        self.salt = checked_salt(who, self._kind, oov_method, salt)
        self.oov_method = oov_method
        self.max_tokens = max_tokens
        self.num_oov_indices = num_oov_indices
        self.mask_token = mask_token
        self.oov_token = oov_token
        self.invert = invert
        self.pad_to_max_tokens = pad_to_max_tokens
        self._tokens: list[Any] = []
        self._weights: Any = None
        self._given = vocabulary is not None
        # Stored in configurations for a vocabulary that is loaded later.
        self._told_size = vocabulary_size
        self._table: StaticHashTable | None = None
        self._build_at_init()
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)
        elif idf_weights is not None:
            raise ValueError(f"{who}: idf_weights must be None without a vocabulary")

    # The vocabulary.

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Set the vocabulary.

        Args:
            vocabulary: a list, an array, or the path of a file; the entries for mask and unknown
                may stand at its beginning.
            idf_weights: for `tf_idf`, a weight for each.

        Raises:
            ValueError: an entry twice, none at all, or more than `max_tokens`.
        """
        who = type(self).__name__
        if (idf_weights is not None) != (self.output_mode == "tf_idf"):
            raise ValueError(f"{who}: idf_weights must be given for tf_idf, and for it alone")
        tokens = self._listed(vocabulary)
        special = self._special()
        has_special = bool(special) and tokens[: len(special)] == special
        if idf_weights is not None:
            self._set_weights(idf_weights, len(tokens), has_special)
        self._set_tokens(tokens[len(special) :] if has_special else tokens)

    def _listed(self, vocabulary: Any) -> list[Any]:
        if isinstance(vocabulary, (str, Path)):
            if restoring.current() is not None:
                raise ValueError(
                    f"{type(self).__name__}: a configuration must hold its vocabulary; a file is "
                    f"not read, got {str(vocabulary)!r}"
                )
            vocabulary = Path(vocabulary).read_text(encoding="utf-8").splitlines()
        if isinstance(vocabulary, Tensor):
            vocabulary = vocabulary.numpy()
        entries = one_array(vocabulary, f"{type(self).__name__}: the vocabulary")
        return [self._entry(x) for x in entries.ravel().tolist()]

    def _entry(self, x: Any) -> Any:
        if self._kind is dtypes.string:
            return x.decode() if isinstance(x, bytes) else str(x)
        return int(x)

    def _special(self) -> list[Any]:
        return [self.mask_token] * self._first_unknown() + [self.oov_token] * self.num_oov_indices

    def _first_unknown(self) -> int:
        return int(self.mask_token is not None and self.output_mode == "int")

    def _set_tokens(self, tokens: list[Any]) -> None:
        who = type(self).__name__
        if not tokens:
            raise ValueError(f"{who}: the vocabulary must have an entry")
        repeated = [x for x, count in Counter(tokens).items() if count > 1]
        if repeated:
            raise ValueError(f"{who}: entries must be distinct, these are repeated: {repeated[:5]}")
        for x in (self.mask_token, self.oov_token if self.invert else None):
            if x is not None and x in tokens:
                raise ValueError(f"{who}: {x!r} may only be at the beginning of the vocabulary")
        start = self._first_unknown() + self.num_oov_indices
        if self.max_tokens is not None and start + len(tokens) > self.max_tokens:
            raise ValueError(
                f"{who}: the vocabulary must have at most {self.max_tokens - start} entries, "
                f"got {len(tokens)}"
            )
        self._tokens = tokens
        keys = constants.constant(tokens, self._kind)
        numbers = constants.constant(np.arange(start, start + len(tokens)), dtypes.int64)
        if self.invert:
            unknown = constants.constant(self.oov_token, self._kind)
            self._table = StaticHashTable(KeyValueTensorInitializer(numbers, keys), unknown)
        else:
            self._table = StaticHashTable(KeyValueTensorInitializer(keys, numbers), -1)

    def _set_weights(self, given: Any, count: int, has_special: bool) -> None:
        weights = np.asarray(given, floatx()).ravel()
        if len(weights) != count:
            raise ValueError(
                f"{type(self).__name__}: idf_weights must have one weight per entry, {count}, "
                f"got {len(weights)}"
            )
        if not has_special:
            # Keras: their frequencies are unknown, so they get the average weight.
            front = self._first_unknown() + self.num_oov_indices
            weights = np.concatenate([np.full(front, weights.mean(), weights.dtype), weights])
        self._weights = weights

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """The vocabulary in order of index, optionally with mask and unknown tokens first."""
        special = self._special() if include_special_tokens else []
        return [*special, *self._tokens]

    def vocabulary_size(self) -> int:
        """The number of indices."""
        return len(self._special()) + len(self._tokens)

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Compute the vocabulary from data, most frequent tokens first.

        Args:
            data: an array, a tensor, or a dataset of batches.
            batch_size: accepted for Keras' sake.
            steps: number of batches of a dataset; None takes all.
        """
        ignored(f"{type(self).__name__}.adapt", "all data is counted", batch_size=batch_size)
        self._adapt_to(row for batch in batches_of_data(data, steps) for row in _rows(batch))

    def _adapt_to(self, documents: Iterable[Any]) -> None:
        if self._given:
            raise ValueError(f"{type(self).__name__}.adapt: a vocabulary was given already")
        counts: Counter[Any] = Counter()
        within: Counter[Any] = Counter()
        number = 0
        for document in documents:
            entries = [self._entry(x) for x in document]
            counts.update(entries)
            within.update(set(entries))
            number += 1
        for x in (self.mask_token, self.oov_token):
            counts.pop(x, None)
        # Keras: equally frequent tokens are in descending order.
        is_text = self._kind is dtypes.string
        tokens = sorted(
            counts, key=lambda x: (counts[x], x.encode() if is_text else x), reverse=True
        )
        special = self._first_unknown() + self.num_oov_indices
        if self.max_tokens is not None:
            tokens = tokens[: self.max_tokens - special]
        if self.output_mode == "tf_idf":
            found = [np.log(1 + number / (1 + within[x])) for x in tokens]
            self._set_weights(found, len(tokens), has_special=False)
        self._set_tokens(tokens)

    # Looking up.

    def call(self, x: Any) -> Any:
        """The indices, or their encoding; ragged for ragged input, sparse for sparse."""
        if self.invert:
            return on_elements(self._inverted, x)
        numbers = on_elements(self._numbers, x)
        if self.output_mode == "int":
            return numbers
        return self._encoded(numbers)

    def _looked_up(self, x: Tensor, unknown: Any, kind: Any) -> Tensor:
        if self._table is not None:
            found: Tensor = self._table.lookup(x)
            return found
        if not calls.inferring_specs:
            raise ValueError(
                f"{self._described()} has no vocabulary: set_vocabulary or adapt it first"
            )
        # The vocabulary may be set after the model is built; shapes do not depend on it.
        return constants.fill(shapes.shape(x), constants.constant(unknown, kind))

    def _inverted(self, x: Tensor) -> Tensor:
        numbers = casting.cast(x, dtypes.int64)
        found = self._looked_up(numbers, self.oov_token, self._kind)
        if self.mask_token is None:
            return found
        mask = constants.constant(self.mask_token, self._kind)
        return selecting.where(comparison.equal(x, 0), mask, found)

    def _numbers(self, x: Tensor) -> Tensor:
        if x.dtype is not self._kind:
            x = casting.cast(x, self._kind)
        found = self._looked_up(x, -1, dtypes.int64)
        first = self._first_unknown()
        unknown = comparison.less(found, 0)
        if self.num_oov_indices == 1:
            instead: Any = constants.ones_like(found) * first
        elif self.num_oov_indices:
            instead = spread(x, self.num_oov_indices, self.oov_method, self.salt) + first
        else:
            known = logic.logical_not(unknown)
            if self.mask_token is not None:
                known = logic.logical_or(known, self._is_mask(x))
            assertions.Assert(
                reduction.reduce_all(known),
                [f"{type(self).__name__} has no number for what is not in its vocabulary", x],
            )
            instead = constants.zeros_like(found)
        found = selecting.where(unknown, instead, found)
        if self.mask_token is None:
            return found
        # Encodings have no column for the mask token.
        number = 0 if first else dtypes.int64.max
        return selecting.where(self._is_mask(x), constants.ones_like(found) * number, found)

    def _is_mask(self, x: Tensor) -> Tensor:
        return comparison.equal(x, constants.constant(self.mask_token, self._kind))

    def _depth(self) -> int:
        if self.pad_to_max_tokens and self.max_tokens:
            return self.max_tokens
        told: int | None = self._told_size
        return told if told and self._table is None else self.vocabulary_size()

    def _dtype_of_shapes(self) -> str:
        return "int64" if self.invert else self._kind.name

    def _encoded(self, numbers: Any) -> Any:
        rows = self._encoded_rows(numbers)
        padded = self.pad_to_max_tokens and self.max_tokens
        is_known = self._table is not None or padded or self._told_size
        return rows if is_known else with_open_rows(rows)

    def _encoded_rows(self, numbers: Any) -> Any:
        if self.output_mode == "tf_idf":
            kind = dtypes.as_dtype(floatx())
            counts = encoded(numbers, "count", self._depth(), kind, sparse=self.sparse)
            weights = self._row_of_weights()
            return weighted(counts, weights) if self.sparse else counts * weights
        mode = self.output_mode
        return encoded(numbers, mode, self._depth(), dtypes.int64, sparse=self.sparse)

    def _row_of_weights(self) -> Tensor:
        weights = self._weights
        if weights is None and not calls.inferring_specs:
            raise ValueError(f"{self._described()} has no idf_weights: set_vocabulary with them")
        if weights is None:
            weights = np.zeros(0, floatx())
        padded = np.zeros(self._depth(), weights.dtype)
        padded[: len(weights)] = weights
        return constants.constant(padded)

    # Configuration.

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        names = (
            *("invert", "max_tokens", "num_oov_indices", "oov_token", "mask_token", "output_mode"),
            *("pad_to_max_tokens", "sparse"),
        )
        tokens: Sequence[Any] = self._tokens
        weights = self._weights
        special = self._first_unknown() + self.num_oov_indices
        return {
            **super().get_config(),
            **{name: getattr(self, name) for name in names},
            "vocabulary": list(tokens) if tokens else None,
            "idf_weights": None if weights is None else weights[special:].tolist(),
            # Older versions of Keras lack these.
            **({} if self.oov_method == "floormod" else {"oov_method": self.oov_method}),
            **({} if self.salt is None else {"salt": self.salt}),
        }

    def _restore_asset(self, name: str, data: bytes) -> None:
        """Load a vocabulary that Keras stores in a separate file."""
        del name
        if self._tokens:
            return
        # Keras: lines end with `\n`, on Windows with `\r\n`; other line breaks are parts of tokens.
        lines = data.decode().replace("\r\n", "\n").rstrip("\n").split("\n")
        entries = [self._entry(line) for line in lines]
        self._set_tokens(entries[len(self._special()) :])


def _rows(batch: Any) -> Any:
    if is_composite(batch):
        return batch.to_list()
    array = np.asarray(batch)
    return np.atleast_2d(array if array.ndim != 1 else array[:, None])


class StringLookup(IndexLookup):
    """Maps strings to vocabulary indices.

    Args:
        max_tokens: most numbers there may be.
        num_oov_indices: number of indices for unknown strings, chosen by hash.
        mask_token: the text that means nothing.
        oov_token: the text for unknown tokens.
        vocabulary: a list, an array, or the path of a file.
        idf_weights: for `tf_idf`.
        invert: whether numbers become texts.
        output_mode: `int`, `one_hot`, `multi_hot`, `count` or `tf_idf`.
        pad_to_max_tokens: whether rows have `max_tokens` numbers.
        sparse: whether the result is a SparseTensor; not for `int`.
        encoding: must be `utf-8`.
        **options: see Layer.

    Shapes:
        x [b, ...] → the same, int64; with `one_hot` [b, ..., k], a last axis of 1 left out; with
        the other modes [b, n] → [b, k], k the size of the vocabulary.

    Source:
        Keras `StringLookup`; see IndexLookup.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        **options: Unpack[LookupOptions],
    ) -> None:
        if encoding.lower() not in {"utf-8", "utf8"}:
            raise ValueError(f"StringLookup: encoding must be utf-8, got {encoding!r}")
        super().__init__(
            max_tokens=max_tokens,
            num_oov_indices=num_oov_indices,
            mask_token=mask_token,
            oov_token=oov_token,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            invert=invert,
            output_mode=output_mode,
            sparse=sparse,
            pad_to_max_tokens=pad_to_max_tokens,
            **options,
        )

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**super().get_config(), "encoding": "utf-8"}


class IntegerLookup(IndexLookup):
    """Maps integers to vocabulary indices.

    Args:
        max_tokens: most numbers there may be.
        num_oov_indices: number of indices for unknown integers, chosen by remainder.
        mask_token: the integer that means nothing.
        oov_token: the integer for unknown tokens.
        vocabulary: a list or an array.
        vocabulary_dtype: must be `int64`.
        idf_weights: for `tf_idf`.
        invert: whether numbers become entries.
        output_mode: `int`, `one_hot`, `multi_hot`, `count` or `tf_idf`.
        pad_to_max_tokens: whether rows have `max_tokens` numbers.
        sparse: whether the result is a SparseTensor; not for `int`.
        **options: see Layer.

    Shapes:
        x [b, ...] → the same, int64; with `one_hot` [b, ..., k], a last axis of 1 left out; with
        the other modes [b, n] → [b, k], k the size of the vocabulary.

    Source:
        Keras `IntegerLookup`; see IndexLookup.
    """

    _kind = dtypes.int64

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Any = None,
        vocabulary_dtype: str = "int64",
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        **options: Unpack[LookupOptions],
    ) -> None:
        if vocabulary_dtype != "int64":
            raise ValueError(
                f"IntegerLookup: vocabulary_dtype must be int64, got {vocabulary_dtype!r}"
            )
        super().__init__(
            max_tokens=max_tokens,
            num_oov_indices=num_oov_indices,
            mask_token=mask_token,
            oov_token=oov_token,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            invert=invert,
            output_mode=output_mode,
            sparse=sparse,
            pad_to_max_tokens=pad_to_max_tokens,
            **options,
        )

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**super().get_config(), "vocabulary_dtype": "int64"}
