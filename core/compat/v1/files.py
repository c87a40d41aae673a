"""Reading files without a session: records, events, checkpoints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.reader import load_checkpoint
from pinnace.proto.event_pb2 import Event
from pinnace.storage.record import read_records

if TYPE_CHECKING:
    from collections.abc import Iterator


def tf_record_iterator(path: str, options: Any = None) -> Iterator[bytes]:
    """The records of a TFRecord file, in order.

    Args:
        path: the file.
        options: `tf.io.TFRecordOptions`, or None for a file that is not compressed.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged, or compressed in another way.
    """
    kind = getattr(options, "compression_type", options) or None
    yield from read_records(path, kind)


def summary_iterator(path: str) -> Iterator[Event]:
    """The events of a file that a summary writer wrote, in order.

    Args:
        path: the event file, not its folder.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged.
    """
    for record in read_records(path):
        yield Event.FromString(record)


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Whether there is a checkpoint with this prefix.

    Args:
        checkpoint_prefix: the result of `Checkpoint.save`; or a file, as the first format of
            checkpoints was.
    """
    prefix = os.fspath(checkpoint_prefix)
    return any(os.path.isfile(path) for path in (f"{prefix}.index", prefix))  # noqa: PTH113 (a text)


def NewCheckpointReader(filepattern: str) -> Any:  # noqa: N802 (TensorFlow's name)
    """A reader of the tensors of a checkpoint; see `tf.train.load_checkpoint`.

    Args:
        filepattern: the checkpoint's prefix.
    """
    return load_checkpoint(filepattern)
