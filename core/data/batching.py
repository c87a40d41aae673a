"""Dataset's methods that put elements together and take them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data import batch as batches
from pinnace.data import interleave
from pinnace.data.elements import DatasetSpec, Element, Nest, whole_number
from pinnace.data.functions import StageMaker, Traced, element_function
from pinnace.data.pipeline import Pipeline, public
from pinnace.framework import dtypes, structure
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.data.dataset import Dataset
    from pinnace.data.stage import Stage


class Batching(Pipeline):
    """Batches, windows and groups."""

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements put on top of each other: [...] becomes [batch, ...].

        Args:
            batch_size: how many; an integer or a scalar tensor.
            drop_remainder: whether a last, smaller batch is left out; then the size is known.
            num_parallel_calls: accepted without effect: joining is one copy.
            deterministic: accepted without effect: the order always stays.
            name: accepted without effect.

        Raises:
            InvalidArgumentError: a size below 1; in a pass, elements of different shapes.
        """
        del num_parallel_calls, deterministic, name
        return self._with(batches.Batched(self._stage, batch_size, bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Nest = None,
        padding_values: Nest = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements, filled up to one shape and put on top of each other.

        Args:
            batch_size: how many.
            padded_shapes: per component; None or -1 along an axis is the largest of the batch.
            padding_values: per component, a scalar; 0 or "" if None.
            drop_remainder: whether to leave out a last, smaller batch.
            name: accepted.
        """
        del name
        return self._with(
            batches.PaddedBatched(
                self._stage, batch_size, padded_shapes, padding_values, bool(drop_remainder)
            )
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of every element."""
        del name
        return self._with(batches.Unbatched(self._stage))

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of other sizes, which go round if several are given."""
        del name
        return self._with(batches.Rebatched(self._stage, batch_size, drop_remainder))

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: Any = dtypes.int64,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements as ragged tensors, where sizes of their axes are unknown.

        Args:
            batch_size: how many.
            drop_remainder: whether to leave out a last, smaller batch.
            row_splits_dtype: int64 or int32.
            name: accepted.
        """
        del name
        splits = dtypes.as_dtype(row_splits_dtype)
        return self._with(
            batches.RaggedBatched(self._stage, batch_size, bool(drop_remainder), splits)
        )

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Consecutive tensors, of different shapes, as sparse tensors.

        Args:
            batch_size: how many.
            row_shape: what every element fits into; None or -1: the largest of the batch.
            name: accepted.
        """
        del name
        return self._with(batches.SparseBatched(self._stage, batch_size, row_shape))

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of `size` consecutive elements, each beginning `shift` after the one before."""
        del name
        return self._with(batches.Windows(self._stage, size, shift, stride, drop_remainder))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements collected by key; of each full group the dataset `reduce_func(key, group)`.

        Args:
            key_func: takes an element and gives an int64 scalar.
            reduce_func: takes a key and a dataset of its elements, gives a dataset.
            window_size: how many elements fill a group.
            window_size_func: takes a key and gives that number.
            name: accepted.
        """
        del name
        if (window_size is None) == (window_size_func is None):
            raise ValueError("group_by_window: one of window_size and window_size_func is required")
        key = element_function(key_func, self.element_spec, "group_by_window", public)
        number = TensorSpec.of(Shape(()), dtypes.int64)
        maker = StageMaker(
            reduce_func, (number, DatasetSpec(self.element_spec)), "group_by_window", public
        )
        size: Any
        if window_size_func is None:
            size = whole_number(window_size, "group_by_window", "window_size", 1)
        else:
            size = Traced(window_size_func, (number,), "group_by_window")
        return self._with(
            interleave.Grouped(
                self._stage, key, size, lambda k, group: maker((k, group)), maker.spec
            )
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Nest = None,
        padding_values: Nest = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Padded batches of elements of similar length.

        Args:
            element_length_func: takes an element and gives its length.
            bucket_boundaries: lengths at which the next bucket begins.
            bucket_batch_sizes: of each bucket, one more than there are boundaries.
            padded_shapes: as in `padded_batch`.
            padding_values: as in `padded_batch`.
            pad_to_bucket_boundary: whether unknown sizes become the bucket's boundary - 1.
            no_padding: whether elements of a bucket have one shape already.
            drop_remainder: whether to leave out last, smaller batches.
            name: accepted.
        """
        del name
        who = "bucket_by_sequence_length"
        bounds = [int(n) for n in bucket_boundaries]
        sizes = [int(n) for n in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1:
            raise ValueError(
                f"{who}: one batch size more than boundaries is required, "
                f"got {len(sizes)} sizes and {len(bounds)} boundaries"
            )
        length = element_function(element_length_func, self.element_spec, who, public)

        def bucket(element: Element) -> tuple[int]:
            return (int(np.searchsorted(bounds, int(length(element)[0]), "right")),)

        def batch(key: Any, group: Stage) -> Stage:
            number = int(key)
            size = sizes[number]
            if no_padding:
                return batches.Batched(group, size, drop_remainder)
            shapes = padded_shapes
            if pad_to_bucket_boundary:
                if number == len(bounds):
                    raise InvalidArgumentError(
                        f"{who}: with pad_to_bucket_boundary lengths must be below {bounds[-1]}"
                    )
                shapes = _filled(group, padded_shapes, bounds[number] - 1)
            return batches.PaddedBatched(group, size, shapes, padding_values, drop_remainder)

        probe = batches.Held(self.element_spec, ())
        spec = (
            batches.Batched(probe, 1, False)
            if no_padding
            else batches.PaddedBatched(probe, 1, padded_shapes, padding_values, False)
        ).spec
        window = Windowed(sizes)
        return self._with(interleave.Grouped(self._stage, bucket, window, batch, spec))


class Windowed:
    """The batch size of a bucket."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)

    def __call__(self, key: tuple[Any, ...]) -> tuple[int]:
        """The size for a bucket's number."""
        return (self._sizes[int(key[0])],)


def _filled(group: Stage, shapes: Nest, size: int) -> Nest:
    given = (
        [leaf.shape for leaf in group.leaves]
        if shapes is None
        else structure.flatten_up_to(group.spec, shapes, check_types=False)
    )
    filled = [Shape([size if n in {None, -1} else n for n in as_shape(s)]) for s in given]
    return structure.pack_sequence_as(group.spec, filled)
