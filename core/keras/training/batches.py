"""Batches: the data of `fit`, `evaluate` and `predict`, epoch by epoch."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import structure
from pinnace.framework.tensor import Array, wrap
from pinnace.keras.seeds import order_seed
from pinnace.keras.training.composite_rows import CompositeRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

Batch = tuple[Any, ...]


class Batches:
    """Epochs of batches; each is `(x,)`, `(x, y)` or `(x, y, sample_weight)` of tensors."""

    # Batches in an epoch, None if unknown before one has passed.
    count: int | None = None
    # Whether all batches have the structure of the first.
    alike = False

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        self.begin_epoch()
        return self.all()

    def all(self) -> Iterator[Batch]:
        """All batches from first to last, regardless of the steps of an epoch."""
        raise NotImplementedError

    def begin_epoch(self) -> None:
        """An epoch begins."""

    def restart(self) -> None:
        """Begin the next epoch with the first batch, wherever the last epoch stopped."""

    def end_epoch(self) -> None:
        """An epoch is over."""

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """Reseed the shuffling, if there is any, inside of datasets too."""


class ArrayBatches(Batches):
    """Slices of arrays.

    Args:
        parts: (x,), (x, y) or (x, y, sample_weight): structures of arrays with one first axis.
        batch_size: number of samples in a batch; the last one may have fewer.
        shuffle: whether each epoch has an order of its own.
    """

    alike = True

    def __init__(self, parts: Batch, batch_size: int, shuffle: bool | str) -> None:
        self._parts = parts
        # None for an optional input that is omitted.
        self._arrays: list[Array | None] = structure.flatten(parts)
        self.size = next(len(array) for array in self._arrays if array is not None)
        self.batch_size = batch_size
        self.count = math.ceil(self.size / batch_size)
        self._shuffle = shuffle
        self._generator = np.random.default_rng(order_seed()) if shuffle else None

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """See `Batches.shuffle_as`."""
        if self._generator is not None:
            self._generator = np.random.default_rng(agreed(order_seed()))

    def all(self) -> Iterator[Batch]:
        """See `Batches.all`."""
        size, step = self.size, self.batch_size
        pack = _packer(self._parts)
        if self._generator is None:
            for start in range(0, size, step):
                yield pack([_slice_of(array, slice(start, start + step)) for array in self._arrays])
        elif self._shuffle == "batch":
            for index in self._generator.permutation(math.ceil(size / step)):
                start = int(index) * step
                yield pack([_slice_of(array, slice(start, start + step)) for array in self._arrays])
        else:
            order = self._generator.permutation(size)
            for start in range(0, size, step):
                chosen = order[start : start + step]
                yield pack([_slice_of(array, chosen) for array in self._arrays])


class IterableBatches(Batches):
    """Batches from a generator, a dataset, or anything else that can be iterated over.

    Args:
        source: gives batches: x, or a tuple (x, y) or (x, y, sample_weight).
        steps: batches in an epoch; None takes all there are.
        weigh: makes tensors of a batch, and adds sample weights from the class weights.
        who: name of the caller in the warning, such as `fit`.
    """

    def __init__(
        self, source: Iterable[Any], steps: int | None, weigh: Callable[[Any], Batch], who: str
    ) -> None:
        self._source = source
        self._steps = steps
        self._who = who
        self._weigh = weigh
        self._iterator: Iterator[Any] | None = None
        self._once = iter(source) is source
        self.count = steps if steps is not None else _length(source)

    def restart(self) -> None:
        """See `Batches.restart`; an iterator continues where it is."""
        if not self._once:
            self._iterator = None

    def epoch(self) -> Iterator[Batch]:
        """The batches of an epoch; with `steps`, or for an iterator, the next ones."""
        if self._iterator is None or not (self._once or self._steps):
            self._iterator = iter(self._source)
        done = 0
        while self._steps is None or done < self._steps:
            try:
                batch = next(self._iterator)
            except StopIteration:
                if self._once or done or self._steps is None:
                    break
                self._iterator = iter(self._source)
                try:
                    batch = next(self._iterator)
                except StopIteration:
                    break
            done += 1
            yield self._weigh(batch)
        if done and self._steps is not None and done < self._steps:
            _warn_of_end(self._who, self._steps, done)
        if self.count is None and done:
            self.count = done


class SequenceBatches(Batches):
    """Batches of an object with `__getitem__` and `__len__`, such as a PyDataset.

    Args:
        source: item i is a batch; `on_epoch_begin` and `on_epoch_end` are called if there are such,
            and where it has more than one of `workers`, so many threads make batches ahead.
        shuffle: whether each epoch has an order of its own.
        weigh: makes tensors of a batch, and adds sample weights from the class weights.
    """

    def __init__(self, source: Any, shuffle: bool, weigh: Callable[[Any], Batch]) -> None:
        self._source = source
        self._weigh = weigh
        self._generator = np.random.default_rng(order_seed()) if shuffle else None

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """See `Batches.shuffle_as`."""
        if self._generator is not None:
            self._generator = np.random.default_rng(agreed(order_seed()))

    @property
    def count(self) -> int | None:  # type: ignore[override]  # asked each time: it may change
        """The number of batches in an epoch."""
        if hasattr(self._source, "num_batches"):
            return self._source.num_batches  # type: ignore[no-any-return]
        return len(self._source)

    def begin_epoch(self) -> None:
        """See `Batches.begin_epoch`."""
        hook = getattr(self._source, "on_epoch_begin", None)
        if hook is not None:
            hook()

    def all(self) -> Iterator[Batch]:
        """See `Batches.all`."""
        total = self.count
        if total is None:
            order: Iterable[int] = itertools.count()
        else:
            order = range(total) if self._generator is None else self._generator.permutation(total)
        if getattr(self._source, "workers", 0) > 1:
            items = self._made_ahead(order)
        else:
            items = (self._source[int(index)] for index in order)
        for item in items:
            yield self._weigh(item)

    def _made_ahead(self, order: Iterable[int]) -> Iterator[Any]:
        """Items in order; an error is raised at its item's position."""
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(self._source.workers)
        waiting: deque[Future[Any]] = deque()
        try:
            for index in order:
                waiting.append(pool.submit(self._source.__getitem__, int(index)))
                if len(waiting) > max(self._source.max_queue_size, 1):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def end_epoch(self) -> None:
        """An epoch is over."""
        hook = getattr(self._source, "on_epoch_end", None)
        if hook is not None:
            hook()


class LimitedBatches(Batches):
    """Epochs with a fixed number of batches, each continuing where the last one stopped.

    Args:
        inner: all batches there are.
        steps: batches in an epoch; one that all batches end in has fewer.
        who: name of the caller in the warning, such as `fit`.
    """

    def __init__(self, inner: Batches, steps: int, who: str) -> None:
        self._inner = inner
        self._steps = steps
        self._who = who
        # The remaining batches, and how many there have been; None before the first.
        self._rest: Iterator[Batch] | None = None
        self._seen = 0
        self.alike = inner.alike
        self.count = steps if inner.count is None else min(steps, inner.count)

    def epoch(self) -> Iterator[Batch]:
        """The next batches, until there are no more."""
        self._inner.begin_epoch()
        if self._rest is None or self._seen == self._inner.count:
            self._rest, self._seen = self._inner.all(), 0
        for done in range(self._steps):
            batch = next(self._rest, None)
            if batch is None:
                self._rest = None
                _warn_of_end(self._who, self._steps, done)
                return
            self._seen += 1
            yield batch

    def restart(self) -> None:
        """See `Batches.restart`."""
        self._rest = None

    def end_epoch(self) -> None:
        """An epoch is over."""
        self._inner.end_epoch()

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """See `Batches.shuffle_as`."""
        self._inner.shuffle_as(agreed)


def _warn_of_end(who: str, steps: int, done: int) -> None:
    """Warn that an epoch had fewer batches than requested."""
    warnings.warn(
        f"{who}: an epoch of {steps} steps ends after {done}: your input ran out of data\n"
        "  Try: fewer steps, or data that repeat: dataset.repeat()",
        stacklevel=3,
    )


def _packer(parts: Batch) -> Callable[[Sequence[Any]], Batch]:
    """A function that packs flat tensors into the structure of `parts`."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return tuple
    return lambda flat: structure.pack_sequence_as(parts, list(flat))


def _length(source: Any) -> int | None:
    try:
        return len(source)
    except (TypeError, NotImplementedError):
        return None


def _slice_of(array: Any, rows: slice | Array) -> Any:
    """Some rows of an array as a tensor; None for None."""
    if array is None:
        return None
    return tensor_of(array[rows] if isinstance(rows, slice) else array.take(rows, axis=0))


def tensor_of(samples: Any) -> Any:
    """The samples of an array or of `CompositeRows` as a tensor."""
    return samples.tensor() if isinstance(samples, CompositeRows) else wrap(samples)
