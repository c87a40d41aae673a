"""Event files, which TensorBoard reads."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import FailedPreconditionError
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto.event_pb2 import (
    DATA_CLASS_BLOB_SEQUENCE,
    DATA_CLASS_TENSOR,
    Event,
    Summary,
    SummaryMetadata,
)
from pinnace.storage.record import RecordWriter
from pinnace.storage.system_errors import explained
from pinnace.summary.pictures import encode_png, histogram_rows

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

_numbers = itertools.count()
_VERSION = "brain.Event:2"
_WRITER = "pinnace.summary"


def metadata(plugin: str, description: str | None = None, data_class: int = 0) -> bytes:
    """A SummaryMetadata message."""
    message = SummaryMetadata(
        summary_description=description or "",
        data_class=data_class,  # type: ignore[arg-type]  # the stubs want the enum's own int
    )
    message.plugin_data.plugin_name = plugin
    return message.SerializeToString()


class EventFile:
    """One event file, written from any thread.

    Args:
        logdir: its folder, made if it is not there.
        max_queue: how many events may wait before they are handed to the system.
        flush_millis: how long they may wait, at the next event.
        filename_suffix: end of the file's name.
    """

    def __init__(
        self,
        logdir: str,
        max_queue: int = 10,
        flush_millis: int = 120_000,
        filename_suffix: str = ".v2",
    ) -> None:
        folder = Path(logdir)
        with explained("make", folder):
            folder.mkdir(parents=True, exist_ok=True)
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}."
            f"{os.getpid()}.{next(_numbers)}{filename_suffix}"
        )
        self.path = folder / name
        self._lock = threading.Lock()
        self._max_queue = max_queue
        self._wait = flush_millis / 1000
        self._waiting = 0
        self._flushed = time.monotonic()
        self._records = RecordWriter(self.path)
        # Also closed when the interpreter ends, so that no data is lost.
        self._finalizer = weakref.finalize(self, self._records.close)
        first = Event(wall_time=time.time(), file_version=_VERSION)
        first.source_metadata.writer = _WRITER
        self._write(first, flush=True)

    @property
    def closed(self) -> bool:
        """Whether the file has ended."""
        return not self._finalizer.alive

    def _write(self, event: Event, flush: bool = False) -> None:
        with self._lock:
            if self.closed:
                raise FailedPreconditionError(f"the summary writer of {self.path.parent} is closed")
            self._records.write(event.SerializeToString())
            self._waiting += 1
            now = time.monotonic()
            if flush or self._waiting >= self._max_queue or now - self._flushed >= self._wait:
                self._records.flush()
                self._waiting = 0
                self._flushed = now

    def _event(self, step: int) -> Event:
        return Event(wall_time=time.time(), step=step)

    # The interface for `ops/summary`.

    def write_tensor(
        self, step: int, tag: str, array: Array, dtype: DType, metadata: bytes
    ) -> None:
        """Write a value with a SummaryMetadata message."""
        event = self._event(step)
        value = event.summary.value.add(tag=tag)
        value.tensor.CopyFrom(encode_tensor(array, dtype))
        if metadata:
            value.metadata.MergeFromString(metadata)
        self._write(event)

    def _write_plain(self, step: int, tag: str, array: Array, plugin: str, data_class: int) -> None:
        event = self._event(step)
        value = event.summary.value.add(tag=tag)
        value.tensor.CopyFrom(encode_tensor(array))
        value.metadata.MergeFromString(metadata(plugin, data_class=data_class))
        self._write(event)

    def write_histogram(self, step: int, tag: str, array: Array) -> None:
        """The histogram of an array."""
        self._write_plain(step, tag, histogram_rows(array), "histograms", DATA_CLASS_TENSOR)

    def write_images(self, step: int, tag: str, array: Array, most: int) -> None:
        """The first images of a batch."""
        self._write_plain(step, tag, image_strings(array, most), "images", DATA_CLASS_BLOB_SEQUENCE)

    def write_graph(self, step: int, graph: bytes) -> None:
        """A GraphDef."""
        event = self._event(step)
        event.graph_def = graph
        self._write(event, flush=True)

    def write_summary(self, step: int, summary: bytes) -> None:
        """A Summary message."""
        event = self._event(step)
        event.summary.CopyFrom(Summary.FromString(summary))
        self._write(event)

    def flush(self) -> None:
        """Write everything so far to the file; does nothing if it is closed."""
        with self._lock:
            if not self.closed:
                self._records.flush()
                self._waiting = 0
                self._flushed = time.monotonic()

    def close(self) -> None:
        """Close the file; does nothing if it is closed."""
        with self._lock:
            self._finalizer()

    def __repr__(self) -> str:
        return f"<EventFile {self.path}>"


def image_strings(array: Array, most: int) -> Array:
    """Width, height, then the first images as PNG.

    Args:
        array: [n, height, width, 1 to 4], uint8, or floating point in [0, 1].
        most: how many images at most.
    """
    images = array[:most]
    if images.dtype != np.uint8:
        images = np.clip(np.nan_to_num(images.astype(np.float64)) * 255 + 0.5, 0, 255).astype(
            np.uint8
        )
    out = np.empty(2 + len(images), object)
    out[:] = [
        str(array.shape[2]).encode(),
        str(array.shape[1]).encode(),
        *[encode_png(image) for image in images],
    ]
    return out
