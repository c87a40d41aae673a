"""Intersection over union of targets and predictions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import restoring
from pinnace.keras.dtype_policy import epsilon, floatx
from pinnace.keras.forms import flat_where_ragged
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import casting, gathering, reshaping
from pinnace.ops.linalg import bands
from pinnace.ops.math import comparison, counting, extremes, logic, reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class IoU(Metric):
    """The mean over classes of true positives / (predicted or actual positives).

    Args:
        num_classes: how many classes there are.
        target_class_ids: the averaged classes.
        name: name in logs.
        dtype: dtype of the counts, whose weights are cut to it; int64 if None.
        ignore_class: a class whose samples do not count, None for none.
        sparse_y_true: whether the truth is class numbers, and not a row for each sample.
        sparse_y_pred: whether predictions are class numbers.
        axis: axis of the classes, where rows are given.

    Raises:
        ValueError: a target outside of the classes.
    """

    _untracked = frozenset({"_target_class_ids"})

    _direction = "up"

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(name=name, dtype=dtype or "int64")
        restoring.check_metric(type(self).__name__, "num_classes", num_classes, num_classes**2)
        if target_class_ids and max(target_class_ids) >= num_classes:
            raise ValueError(
                f"{type(self).__name__}: target_class_ids must be below num_classes, "
                f"{num_classes}, got {list(target_class_ids)}"
            )
        self.num_classes = num_classes
        self._target_class_ids = list(target_class_ids)
        self.ignore_class = ignore_class
        self.sparse_y_true = sparse_y_true
        self.sparse_y_pred = sparse_y_pred
        self.axis = axis
        self.total_cm = self.add_variable((num_classes, num_classes), "zeros", name="total_cm")

    @property
    def target_class_ids(self) -> list[int]:
        """The classes that are averaged."""
        return list(self._target_class_ids)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update the counts with a batch."""
        if self.sparse_y_true and self.sparse_y_pred:
            y_true, y_pred = flat_where_ragged(y_true, y_pred)
        true = self._classes(y_true, self.sparse_y_true)
        said = self._classes(y_pred, self.sparse_y_pred)
        # Keras: an index that is not a class is ignored, in targets or predictions.
        counted = logic.logical_and(self._is_class(true), self._is_class(said))
        if self.ignore_class is not None:
            counted = logic.logical_and(counted, comparison.not_equal(true, self.ignore_class))
        weights = casting.cast(counted, self._dtype)
        if sample_weight is not None:
            given = convert_to_tensor(sample_weight)
            if given.dtype.is_floating and self._dtype.is_integer:
                warnings.warn(
                    f"{type(self).__name__}: weights are `float`, but dtype is "
                    f"{self._dtype.name}: they are cut to whole numbers\n"
                    f'  Try: {type(self).__name__}(..., dtype="float32")',
                    stacklevel=2,
                )
            given = casting.cast(given, self._dtype)
            weights = weights * (reshaping.reshape(given, [-1]) if given.shape.rank else given)
        kept = casting.cast(counted, dtypes.int64)
        found = counting.confusion_matrix(
            true * kept, said * kept, self.num_classes, weights=weights, dtype=self._dtype
        )
        self.total_cm.assign_add(found)

    def _is_class(self, numbers: Tensor) -> Tensor:
        return logic.logical_and(
            comparison.greater_equal(numbers, 0), comparison.less(numbers, self.num_classes)
        )

    def _classes(self, x: Any, sparse: bool) -> Tensor:
        tensor = convert_to_tensor(x)
        if not sparse:
            tensor = extremes.argmax(tensor, self.axis)
        return reshaping.reshape(casting.cast(tensor, dtypes.int64), [-1])

    def result(self) -> Tensor:
        """The mean so far, without classes that never occurred."""
        counts = casting.cast(self.total_cm.value(), self._of_results())
        both = bands.diag_part(counts)
        either = reduction.reduce_sum(counts, 0) + reduction.reduce_sum(counts, 1) - both
        both = gathering.gather(both, self.target_class_ids)
        either = gathering.gather(either, self.target_class_ids)
        seen = casting.cast(comparison.greater(either, 1e-9), either.dtype)
        return reduction.reduce_sum(both / (either + epsilon())) / (
            reduction.reduce_sum(seen) + epsilon()
        )

    def _of_results(self) -> Any:
        return floatx() if self._dtype.is_integer else self._dtype

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "target_class_ids": self.target_class_ids,
            "ignore_class": self.ignore_class,
            "sparse_y_true": self.sparse_y_true,
            "sparse_y_pred": self.sparse_y_pred,
            "axis": self.axis,
        }


class BinaryIoU(IoU):
    """`IoU` of the two classes of a binary decision.

    Args:
        target_class_ids: the classes that are averaged, of 0 and 1.
        threshold: from it on a probability means 1.
        name: name in logs.
        dtype: as for `IoU`.
    """

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update the counts with a batch of targets (0 or 1) and probabilities."""
        said = comparison.greater_equal(casting.cast(y_pred, floatx()), self.threshold)
        super().update_state(y_true, casting.cast(said, self._dtype), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"target_class_ids": self.target_class_ids, "threshold": self.threshold}
        return {**Metric.get_config(self), **own}


class MeanIoU(IoU):
    """`IoU` of all classes.

    Args:
        num_classes: how many classes there are.
        name: name in logs.
        dtype: as for `IoU`.
        ignore_class: as for `IoU`.
        sparse_y_true: as for `IoU`.
        sparse_y_pred: as for `IoU`.
        axis: as for `IoU`.
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        every = range(num_classes)
        super().__init__(
            num_classes, every, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = super().get_config()
        del config["target_class_ids"]
        return config


class OneHotIoU(IoU):
    """`IoU` for targets and predictions given as one row of classes per sample.

    Args:
        num_classes: how many classes there are.
        target_class_ids: the averaged classes.
        name: name in logs.
        dtype: as for `IoU`.
        ignore_class: as for `IoU`.
        sparse_y_pred: whether predictions are class numbers all the same.
        axis: axis of the classes.
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(
            num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = super().get_config()
        del config["sparse_y_true"]
        return config


class OneHotMeanIoU(MeanIoU):
    """`MeanIoU` for targets and predictions given as one row of classes per sample.

    Args:
        num_classes: how many classes there are.
        name: name in logs.
        dtype: as for `IoU`.
        ignore_class: as for `IoU`.
        sparse_y_pred: whether predictions are class numbers all the same.
        axis: axis of the classes.
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = super().get_config()
        del config["sparse_y_true"]
        return config
