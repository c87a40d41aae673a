"""The data of `fit`, `evaluate` and `predict` as batches of tensors."""

from __future__ import annotations

import itertools
import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Operands, Tensor
from pinnace.keras.forms import is_rows
from pinnace.keras.plain_lists import in_floatx, is_values, one_array
from pinnace.keras.scipy_matrices import dense_array, is_matrix, sparse_tensor
from pinnace.keras.training.batches import (
    ArrayBatches,
    Batch,
    Batches,
    IterableBatches,
    LimitedBatches,
    SequenceBatches,
    tensor_of,
)
from pinnace.keras.training.composite_rows import CompositeRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.training.class_weights import ClassWeights


def batches_of(
    who: str,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    batch_size: int | None = None,
    steps: int | None = None,
    shuffle: bool | str = False,
    class_weight: ClassWeights | None = None,
    upright: bool = True,
) -> Batches:
    """The data of a training method as batches.

    Args:
        who: name of the caller in messages, such as `fit`.
        x: arrays, a generator, a dataset, or an object with `__getitem__` and `__len__`.
        y: truths, if `x` are arrays.
        sample_weight: weights, if `x` are arrays.
        batch_size: batch size for arrays; 32 if None.
        steps: batches in an epoch.
        shuffle: whether each epoch has an order of its own.
        class_weight: adds sample weights that follow from the classes of y.
        upright: whether a Series of pandas is a matrix of one column, as `fit` has it in Keras and
            `train_on_batch` has not.

    Raises:
        ValueError: arrays of different lengths, nothing at all, or `y` beside a generator.
    """

    def weigh(batch: Any) -> Batch:
        return _weighted(as_batch(who, batch), class_weight)

    if _is_arrays(x):
        parts = array_parts(who, x, y, sample_weight, upright=upright)
        parts = _weighted(parts, class_weight)
        if batch_size is not None and (not isinstance(batch_size, Integral) or batch_size < 1):
            raise ValueError(f"{who}: batch_size must be at least 1, got {batch_size!r}")
        arrays = ArrayBatches(parts, int(batch_size or 32), shuffle)
        return arrays if steps is None else LimitedBatches(arrays, steps, who)
    if y is not None or sample_weight is not None:
        given = "`sample_weights`" if y is None else "`y`"
        raise ValueError(
            f"{who}: y and sample_weight go with arrays; {type(x).__name__} gives batches, "
            f"which must hold them: {given} should not be passed"
        )
    ignored(who, f"{type(x).__name__} gives batches of its own size", batch_size=batch_size)
    if hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, (dict, str)):
        made: Batches = SequenceBatches(x, bool(shuffle), weigh)
        return made if steps is None else LimitedBatches(made, steps, who)
    if hasattr(x, "__iter__"):
        return IterableBatches(x, steps, weigh, who)
    raise ValueError(f"{who}: x must be arrays or give batches, got {type(x).__name__}: {x!r:.100}")


def array_parts(
    who: str, x: Any, y: Any = None, sample_weight: Any = None, *, upright: bool = True
) -> Batch:
    """(x,), (x, y) or (x, y, sample_weight) as structures of arrays with one first axis.

    Args:
        who: name of the caller in messages, such as `fit`.
        x: arrays.
        y: truths.
        sample_weight: weights.
        upright: whether a Series of pandas is a matrix of one column.

    Raises:
        ValueError: no samples, or different numbers of them.
    """
    names = ("x", "y", "sample_weight")
    given = [x, y, sample_weight]
    while len(given) > 1 and given[-1] is None:
        given.pop()
    leaf = _upright_array if upright else _array
    parts = tuple(_arrays(who, name, part, leaf) for name, part in zip(names, given, strict=False))
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


def require_arrays(x: Any) -> None:
    """Check that `validation_split` is given arrays, which can be split.

    Raises:
        ValueError: `x` gives batches.
    """
    if not _is_arrays(x):
        raise ValueError(
            "fit: Argument `validation_split` is only supported for tensors or NumPy arrays, "
            f"got {type(x).__name__}\n  Try: validation_data=another one"
        )


def split(parts: Batch, share: float) -> tuple[Batch, Batch]:
    """The samples split into the first ones and the last `share` of them.

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
    """A batch as (x, y, sample_weight), with None for missing parts.

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
    if isinstance(x, (np.ndarray, Operands, CompositeRows)) or is_rows(x) or is_matrix(x):
        return True
    if isinstance(x, dict):
        return all(part is None or _is_arrays(part) for part in x.values())
    if isinstance(x, (list, tuple)):
        return True
    return hasattr(x, "__array__")


def _arrays(who: str, name: str, part: Any, leaf: Callable[[str, str, Any], Any]) -> Any:
    """A structure of arrays, each converted by `leaf`; nested lists of numbers are one array."""
    if part is None:
        return None
    if is_matrix(part):  # one format is a dict
        return leaf(who, name, part)
    if isinstance(part, dict):
        return {key: _arrays(who, f"{name}[{key!r}]", value, leaf) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        leaves = structure.flatten(part)
        if not leaves:
            raise ValueError(f"{who}: {name} is empty")
        if not isinstance(leaves[0], (bool, int, float, str, bytes, np.generic)) or any(
            map(is_matrix, part)
        ):
            made = getattr(part, "_make", type(part))  # a named tuple stays one
            return made([_arrays(who, name, value, leaf) for value in part])
    return leaf(who, name, part)


def _upright_array(who: str, name: str, value: Any) -> Any:
    """Like `_array`, but a pandas Series becomes a column, [samples, 1], as in Keras."""
    array = _array(who, name, value)
    series = any(
        kind.__name__ == "Series" and kind.__module__.partition(".")[0] == "pandas"
        for kind in type(value).__mro__
    )
    return array[:, np.newaxis] if series else array


def _array(who: str, name: str, value: Any) -> Any:
    if isinstance(value, CompositeRows):
        return value
    if is_composite(value):
        return CompositeRows(value)
    if is_matrix(value):
        # Targets and sample weights are dense.
        if name.startswith(("y", "sample_weight")):
            return dense_array(value)
        return CompositeRows(sparse_tensor(value))
    return in_floatx(one_array(value, f"{who}: {name}"))


def as_batch(who: str, batch: Any) -> Batch:
    """A batch of a generator as tensors."""
    parts = batch if isinstance(batch, (tuple, list)) else (batch,)
    names = itertools.chain(("x", "y", "sample_weight"), itertools.repeat("a batch"))
    return tuple(_tensors_in(who, name, part) for name, part in zip(names, parts, strict=False))


def _tensors_in(who: str, name: str, part: Any) -> Any:
    if part is None or isinstance(part, Tensor) or is_composite(part):
        return part
    if not is_matrix(part) and not is_values(part):
        if type(part) is dict:
            return {key: _tensors_in(who, f"{name}[{key!r}]", value) for key, value in part.items()}
        if structure.is_nested(part):
            return structure.map_structure(lambda leaf: _tensors_in(who, name, leaf), part)
    return tensor_of(_array(who, name, part))


def _weighted(parts: Batch, weights: ClassWeights | None) -> Batch:
    return parts if weights is None else weights.added_to(*unpack_x_y_sample_weight(parts))
