"""What `fit`, `evaluate` and `predict` are given, as batches of tensors."""

from __future__ import annotations

import itertools
import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.tensor import Array, Operands, Tensor, wrap
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.plain_lists import is_values, one_array
from pinnace.keras.seeds import make_default_seed
from pinnace.keras.training.composite_rows import CompositeRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
        raise NotImplementedError

    def end_epoch(self) -> None:
        """An epoch is over."""

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """Draw orders from another seed, if it shuffles: what a function makes of its own."""


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
        self._arrays: list[Array] = structure.flatten(parts)
        self.size = len(self._arrays[0])
        self.batch_size = batch_size
        self.count = math.ceil(self.size / batch_size)
        self._shuffle = shuffle
        self._generator = np.random.default_rng(make_default_seed()) if shuffle else None

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """See `Batches.shuffle_as`."""
        if self._generator is not None:
            self._generator = np.random.default_rng(agreed(make_default_seed()))

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        size, step = self.size, self.batch_size
        pack = _packer(self._parts)
        if self._generator is None:
            for start in range(0, size, step):
                yield pack([_tensor_of(array[start : start + step]) for array in self._arrays])
        elif self._shuffle == "batch":
            for index in self._generator.permutation(math.ceil(size / step)):
                start = int(index) * step
                yield pack([_tensor_of(array[start : start + step]) for array in self._arrays])
        else:
            order = self._generator.permutation(size)
            for start in range(0, size, step):
                chosen = order[start : start + step]
                yield pack([_tensor_of(array.take(chosen, axis=0)) for array in self._arrays])


class IterableBatches(Batches):
    """Batches from a generator, a dataset, or anything else that can be iterated over.

    Args:
        source: gives batches: x, or a tuple (x, y) or (x, y, sample_weight).
        steps: batches in an epoch; None takes all there are.
        weigh: makes tensors of a batch, and adds sample weights from the class weights.
    """

    def __init__(
        self, source: Iterable[Any], steps: int | None, weigh: Callable[[Any], Batch]
    ) -> None:
        self._source = source
        self._steps = steps
        self._weigh = weigh
        self._iterator: Iterator[Any] | None = None
        self._once = iter(source) is source
        self.count = steps if steps is not None else _length(source)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; of an iterator that has no beginning, the next ones."""
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
        self._generator = np.random.default_rng(make_default_seed()) if shuffle else None

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """See `Batches.shuffle_as`."""
        if self._generator is not None:
            self._generator = np.random.default_rng(agreed(make_default_seed()))

    @property
    def count(self) -> int | None:  # type: ignore[override]  # asked each time: it may change
        """Batches in an epoch."""
        if hasattr(self._source, "num_batches"):
            return self._source.num_batches  # type: ignore[no-any-return]
        return len(self._source)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        hook = getattr(self._source, "on_epoch_begin", None)
        if hook is not None:
            hook()
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
        """Items in their order; an error in one surfaces in its place."""
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


def batches_of(
    who: str,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    batch_size: int | None = None,
    steps: int | None = None,
    shuffle: bool | str = False,
    class_weight: Mapping[int, float] | None = None,
) -> Batches:
    """What a training method was given, as batches.

    Args:
        who: for messages: `fit`.
        x: arrays, a generator, a dataset, or an object with `__getitem__` and `__len__`.
        y: truths, if `x` are arrays.
        sample_weight: weights, if `x` are arrays.
        batch_size: of arrays; 32 if None.
        steps: batches in an epoch.
        shuffle: whether each epoch has an order of its own.
        class_weight: class -> weight of its samples.

    Raises:
        ValueError: arrays of different lengths, nothing at all, or `y` beside a generator.
    """

    def weigh(batch: Any) -> Batch:
        return _class_weighted(who, _tensors(who, batch), class_weight)

    if _is_arrays(x):
        parts = array_parts(who, x, y, sample_weight)
        parts = _class_weighted(who, parts, class_weight)
        if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
            raise ValueError(f"{who}: batch_size must be at least 1, got {batch_size!r}")
        arrays = ArrayBatches(parts, batch_size or 32, shuffle)
        return arrays if steps is None else _Limited(arrays, steps)
    if y is not None or sample_weight is not None:
        raise ValueError(
            f"{who}: y and sample_weight go with arrays; {type(x).__name__} gives batches, "
            "which must hold them"
        )
    if batch_size is not None:
        raise ValueError(
            f"{who}: batch_size goes with arrays; {type(x).__name__} gives batches of its own size"
        )
    if hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, (dict, str)):
        made: Batches = SequenceBatches(x, bool(shuffle), weigh)
        return made if steps is None else _Limited(made, steps)
    if hasattr(x, "__iter__"):
        return IterableBatches(x, steps, weigh)
    raise ValueError(f"{who}: x must be arrays or give batches, got {type(x).__name__}: {x!r:.100}")


class _Limited(Batches):
    """The first batches of each epoch."""

    def __init__(self, inner: Batches, steps: int) -> None:
        self._inner = inner
        self._steps = steps
        self.alike = inner.alike
        self.count = steps if inner.count is None else min(steps, inner.count)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        for index, batch in enumerate(self._inner.epoch()):
            if index >= self._steps:
                return
            yield batch

    def end_epoch(self) -> None:
        """An epoch is over."""
        self._inner.end_epoch()

    def shuffle_as(self, agreed: Callable[[int], int]) -> None:
        """See `Batches.shuffle_as`."""
        self._inner.shuffle_as(agreed)


def array_parts(who: str, x: Any, y: Any = None, sample_weight: Any = None) -> Batch:
    """(x,), (x, y) or (x, y, sample_weight) as structures of arrays with one first axis.

    Raises:
        ValueError: no samples, or different numbers of them.
    """
    names = ("x", "y", "sample_weight")
    given = [x, y, sample_weight]
    while len(given) > 1 and given[-1] is None:
        given.pop()
    parts = tuple(_arrays(who, name, part) for name, part in zip(names, given, strict=False))
    lengths: dict[int, list[str]] = {}
    for name, part in zip(names, parts, strict=False):
        for array in structure.flatten(part):
            if array is None:
                continue
            if not array.ndim:
                raise ValueError(f"{who}: {name} must have a first axis of samples, got {array!r}")
            lengths.setdefault(len(array), []).append(f"{name}: {list(array.shape)}")
    if len(lengths) > 1:
        facts = "   ".join(text for texts in lengths.values() for text in texts)
        raise ValueError(
            f"{who}: all arrays must have the same number of samples, got "
            f"{' and '.join(map(str, lengths))}\n  {facts}"
        )
    if not lengths or 0 in lengths:
        raise ValueError(f"{who}: there must be at least one sample, got none")
    return parts


def split(parts: Batch, share: float) -> tuple[Batch, Batch]:
    """The samples without the last `share` of them, and those.

    Raises:
        ValueError: a share that leaves nothing on one side.
    """
    if not 0 < share < 1:
        raise ValueError(f"fit: validation_split must be between 0 and 1, got {share}")
    size = len(next(a for a in structure.flatten(parts) if a is not None))
    cut = math.floor(size * (1 - share))
    if cut in {0, size}:
        raise ValueError(f"fit: validation_split {share} of {size} samples leaves one side empty")

    def cut_at(part: slice) -> Batch:
        cut: Batch = structure.map_structure(lambda a: None if a is None else a[part], parts)
        return cut

    return cut_at(slice(None, cut)), cut_at(slice(cut, None))


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """A batch as (x, y, sample_weight), None for what it lacks.

    Raises:
        ValueError: a tuple of another length.
    """
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError(
            f"a batch must be x, (x, y) or (x, y, sample_weight), got {len(data)} parts"
        )
    x, y, sample_weight, *_ = (*data, None, None)
    return x, y, sample_weight


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """The inverse of `unpack_x_y_sample_weight`."""
    if y is None:
        return x if not isinstance(x, (list, tuple)) else (x,)
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def _is_arrays(x: Any) -> bool:
    if isinstance(x, (np.ndarray, Operands, CompositeRows)) or is_composite(x):
        return True
    if isinstance(x, dict):
        return all(_is_arrays(part) for part in x.values())
    if isinstance(x, (list, tuple)):
        return True
    return hasattr(x, "__array__")


def _arrays(who: str, name: str, part: Any) -> Any:
    """A structure of arrays; nested lists of numbers are one array."""
    if part is None:
        return None
    if isinstance(part, dict):
        return {key: _arrays(who, f"{name}[{key!r}]", value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        leaves = structure.flatten(part)
        if not leaves:
            raise ValueError(f"{who}: {name} is empty")
        if not isinstance(leaves[0], (bool, int, float, str, bytes, np.generic)):
            return type(part)([_arrays(who, name, value) for value in part])
    return _array(who, name, part)


def _tensor_of(samples: Any) -> Any:
    return samples.tensor() if isinstance(samples, CompositeRows) else wrap(samples)


def _array(who: str, name: str, value: Any) -> Any:
    if isinstance(value, CompositeRows):
        return value
    if is_composite(value):
        return CompositeRows(value)
    array = one_array(value, f"{who}: {name}")
    if array.dtype == np.float64:
        return array.astype(floatx() if floatx() != "bfloat16" else "float32")
    return array


def _tensors(who: str, batch: Any) -> Batch:
    """One batch of a generator as tensors."""
    parts = batch if isinstance(batch, (tuple, list)) else (batch,)
    names = itertools.chain(("x", "y", "sample_weight"), itertools.repeat("a batch"))
    return tuple(_tensors_in(who, name, part) for name, part in zip(names, parts, strict=False))


def _tensors_in(who: str, name: str, part: Any) -> Any:
    if part is None or isinstance(part, Tensor) or is_composite(part):
        return part
    if not is_values(part):
        if type(part) is dict:
            return {key: _tensors_in(who, f"{name}[{key!r}]", value) for key, value in part.items()}
        if structure.is_nested(part):
            return structure.map_structure(lambda leaf: _tensors_in(who, name, leaf), part)
    return wrap(_array(who, name, part))


def _class_weighted(who: str, parts: Batch, weights: Mapping[int, float] | None) -> Batch:
    """`parts` with sample weights that follow from the classes of y."""
    if not weights:
        return parts
    x, y, sample_weight = unpack_x_y_sample_weight(parts)
    if y is None or structure.is_nested(y):
        raise ValueError(f"{who}: class_weight needs one y of class numbers or one-hot rows")
    given = np.asarray(y._array if isinstance(y, Tensor) else y)
    classes = given.argmax(-1) if given.ndim > 1 and given.shape[-1] > 1 else given.reshape(-1)
    table = np.ones(int(max(*classes.max(initial=0).reshape(-1), *weights)) + 1, np.float32)
    for number, weight in weights.items():
        table[int(number)] = weight
    found: Any = table[classes.astype(np.int64)]
    if sample_weight is not None:
        found = found * np.asarray(sample_weight)
    return (x, y, wrap(found) if isinstance(y, Tensor) else found)


def _packer(parts: Batch) -> Callable[[Sequence[Any]], Batch]:
    """Puts flat tensors into the structure of `parts`."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return tuple
    return lambda flat: structure.pack_sequence_as(parts, list(flat))


def _length(source: Any) -> int | None:
    try:
        return len(source)
    except (TypeError, NotImplementedError):
        return None
