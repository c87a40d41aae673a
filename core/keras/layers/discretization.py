"""Discretization: continuous numbers as bin indices."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.no_effect import no_effect
from pinnace.keras.call_context import calls
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.categories import checked_mode, encoded, on_elements
from pinnace.keras.layers.preprocessing import batches_of_data
from pinnace.keras.layers.sparse_categories import refuse_numbers
from pinnace.ops.array import casting, constants, reshaping, shapes, sorting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor

_MODES = ("int", "one_hot", "multi_hot", "count")


class Discretization(Layer):
    """Maps numbers to the indices of bins.

    Args:
        bin_boundaries: ascending; n boundaries make n + 1 ranges, each including its lower end.
        num_bins: number of ranges that `adapt` finds, with equally many values each.
        epsilon: how fine `adapt` keeps what it has seen: as 1 / epsilon values; other than 0.01
            has no effect, which a warning says, if boundaries are given.
        output_mode: `int`, or as `CategoryEncoding`.
        sparse: whether the result is a SparseTensor; not for `int`.
        **options: see Layer; `dtype` is that of results that are not `int`.

    Shapes:
        x [b, ...] → the same, int64 or int32; with `one_hot` [b, ..., k], a last axis of 1 left
        out; with `multi_hot` and `count` [b, n] → [b, k], k the number of ranges.

    Raises:
        ValueError: not one of `bin_boundaries` and `num_bins`, or boundaries that do not ascend.
    """

    _untracked = frozenset({"_summary", "bin_boundaries"})

    def __init__(
        self,
        bin_boundaries: Sequence[float] | None = None,
        num_bins: int | None = None,
        epsilon: float = 0.01,
        output_mode: str = "int",
        sparse: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        who = "Discretization"
        if bin_boundaries is None and num_bins is None:
            raise ValueError(f"{who}: You need to set either `num_bins` or `bin_boundaries`.")
        if bin_boundaries is not None and num_bins is not None:
            raise ValueError(
                f"{who}: Both `num_bins` and `bin_boundaries` should not be set, got {num_bins} "
                f"and {list(bin_boundaries)}"
            )
        if num_bins is not None and num_bins < 0:
            raise ValueError(f"{who}: `num_bins` must not be negative, got {num_bins}")
        refuse_numbers(who, output_mode, sparse)
        self.sparse = sparse
        self.bin_boundaries: list[float] | None = None
        if bin_boundaries is not None:
            self.bin_boundaries = [float(x) for x in bin_boundaries]
            if sorted(self.bin_boundaries) != self.bin_boundaries:
                raise ValueError(f"{who}: bin_boundaries must be ascending, got {bin_boundaries}")
            if epsilon != 0.01:
                no_effect(who, "epsilon", "bins are given, not found from data")
        self.num_bins = num_bins
        self.epsilon = epsilon
        self.output_mode = checked_mode(who, output_mode, _MODES)
        self._summary = _EMPTY
        self._build_at_init()

    def adapt(self, data: Any, steps: int | None = None) -> None:
        """Find boundaries that as many values are between, and forget those there were.

        Args:
            data: an array, or batches of arrays: a Dataset or another iterable.
            steps: how many batches are taken; all if None.

        Raises:
            ValueError: boundaries were given.
        """
        if self.num_bins is None:
            raise ValueError(
                f"{self._described()}: Cannot adapt a Discretization layer that has been "
                "initialized with `bin_boundaries`, use `num_bins` instead."
            )
        self._summary = _EMPTY
        for batch in batches_of_data(data, steps):
            self.update_state(batch)
        self.finalize_state()

    def update_state(self, data: Any) -> None:
        """Add values to the statistics; `finalize_state` computes the boundaries.

        Args:
            data: an array.
        """
        values = np.sort(np.asarray(data).astype(np.float32), axis=None)
        both = np.concatenate([_summary(values, self.epsilon), self._summary], 1)
        merged = both[:, np.argsort(both[0])]
        self._summary = _compressed(merged, self.epsilon)

    def finalize_state(self) -> None:
        """Compute the boundaries from the data seen by `adapt`."""
        if self.num_bins:
            found = _compressed(self._summary, 1.0 / self.num_bins)
            self.bin_boundaries = [float(x) for x in found[0, :-1]]

    def reset_state(self) -> None:
        """Discard the data seen so far."""
        if self.num_bins is not None:
            self._summary = _EMPTY

    def call(self, x: Any) -> Any:
        """The bin indices."""
        if self.bin_boundaries is None and calls.inferring_specs:
            return self._numbered(x, [0.0] * max((self.num_bins or 0) - 1, 0))
        if self.bin_boundaries is None:
            raise ValueError(
                f"{self._described()}: You need to either pass the `bin_boundaries` argument at "
                "construction time or call `adapt(dataset)` before you can start using the "
                "`Discretization` layer."
            )
        return self._numbered(x, self.bin_boundaries)

    def _numbered(self, x: Any, boundaries: list[float]) -> Any:
        numbers = on_elements(functools.partial(_ranges, boundaries), x)
        if self.output_mode == "int":
            return numbers
        depth = len(boundaries) + 1
        return encoded(numbers, self.output_mode, depth, self.compute_dtype, sparse=self.sparse)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        names = ("bin_boundaries", "num_bins", "epsilon", "output_mode", "name", "dtype")
        own = {name: getattr(self, name) for name in names}
        # Keras' layer takes no other arguments.
        return {**own, "sparse": self.sparse}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The layer with a configuration, including boundaries that `adapt` found."""
        given = dict(config)
        found = None
        if given.get("bin_boundaries") is not None and given.get("num_bins") is not None:
            found = given.pop("bin_boundaries")
        layer = cls(**given)
        if found is not None:
            layer.bin_boundaries = [float(x) for x in found]
        return layer


def _ranges(boundaries: list[float], x: Tensor) -> Tensor:
    x = casting.cast(x, dtypes.float32)
    edges = constants.constant(boundaries, dtypes.float32)
    flat = reshaping.reshape(x, [-1])
    found = sorting.searchsorted(edges, flat, side="right")
    numbers = reshaping.reshape(found, shapes.shape(x))
    numbers.set_shape(x.shape)
    return numbers


# A summary has values, and the number of data points that each represents.
_EMPTY = np.zeros((2, 0), np.float32)


def _summary(values: Array, epsilon: float) -> Array:
    """Sorted values summarized by about 1 / epsilon of them."""
    step = max(values.size * epsilon, 1)
    kept = values[int(step - 1) :: int(step)]
    return np.stack([kept, np.full_like(kept, step)])


def _compressed(summary: Array, epsilon: float) -> Array:
    """A sorted summary with at most 1 / epsilon values of equal weight."""
    if summary.shape[1] * epsilon < 1:
        return summary
    shares = epsilon + np.arange(0.0, 1.0, epsilon)
    total = summary[1].cumsum()
    reached = total / total[-1]
    weights = np.diff(np.interp(shares, reached, total), prepend=0)
    values = np.interp(shares, reached, summary[0])
    return np.stack([values, weights]).astype(np.float32)
