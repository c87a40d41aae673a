"""PyDataset: batches by index, produced by Python code."""

from __future__ import annotations

from typing import Any

from pinnace.framework.no_effect import no_effect


class PyDataset:
    """A dataset of Python code: subclasses define `__len__`, in batches, and `__getitem__`.

    Args:
        workers: how many threads make batches ahead; with 1 or fewer, each is made when it is
            needed.
        use_multiprocessing: True has no effect, which a warning says: threads make the batches.
        max_queue_size: how many batches may wait to be used.
    """

    def __init__(
        self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10
    ) -> None:
        for what, number in (("workers", workers), ("max_queue_size", max_queue_size)):
            if not isinstance(number, int) or number < 0:
                raise ValueError(f"PyDataset: {what} must be 0 or more, got {number!r}")
        if use_multiprocessing:
            no_effect("PyDataset", "use_multiprocessing", "threads make the batches")
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing
        self.max_queue_size = max_queue_size

    def __getitem__(self, index: int) -> Any:
        """Batch `index`: `x`, `(x, y)` or `(x, y, sample_weight)`."""
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__(self, index)")

    def __len__(self) -> int:
        """The number of batches."""
        raise NotImplementedError(f"{type(self).__name__} must define __len__(self)")

    @property
    def num_batches(self) -> int | None:
        """The number of batches; None leaves it to `steps_per_epoch`."""
        return len(self)

    def on_epoch_begin(self) -> None:
        """An epoch begins."""

    def on_epoch_end(self) -> None:
        """Called at the end of an epoch, for example to reorder samples."""
