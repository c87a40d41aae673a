"""Options for batching, and TensorFlow Serving's text files that contain them.

Source: TensorFlow Serving, session_bundle_config.proto; docs/reference/serving_api.md 3.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.config.text_files import read_text

PER_MODEL_FILE = "batching_params.pbtxt"

_DEFAULT_BATCH_SIZE = 1000  # TensorFlow Serving's own


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Options for batching calls.

    Attributes:
        max_batch_size: rows of one run; a single call may have more.
        allowed_batch_sizes: sizes that runs are padded up to; empty allows any.
        batch_timeout_s: how long a batch that is not full waits for more; 0 never waits.
        max_run_s: calls are joined as long as the run is expected to take no more than this.
        max_waiting: calls that may wait; None leaves the server's limit.
        threads: batches that run in threads at once; 0 leaves the server's number.
    """

    max_batch_size: int = 1024
    allowed_batch_sizes: tuple[int, ...] = ()
    batch_timeout_s: float = 0.0
    max_run_s: float = 0.005
    max_waiting: int | None = None
    threads: int = 0

    def __post_init__(self) -> None:
        sizes = self.allowed_batch_sizes
        if self.max_batch_size < 1:
            raise InvalidArgumentError(f"max_batch_size must be above 0, got {self.max_batch_size}")
        if list(sizes) != sorted(set(sizes)) or any(size < 1 for size in sizes):
            raise InvalidArgumentError(
                f"allowed_batch_sizes must be positive and ascending, got {list(sizes)}"
            )
        if sizes and sizes[-1] != self.max_batch_size:
            raise InvalidArgumentError(
                f"the last of allowed_batch_sizes must be max_batch_size, {self.max_batch_size}, "
                f"got {sizes[-1]}"
            )

    def padded(self, rows: int) -> int:
        """The padded number of rows of a run."""
        sizes = self.allowed_batch_sizes
        if not sizes or rows > sizes[-1]:
            return rows
        return sizes[bisect_left(sizes, rows)]


# A file without a time keeps the cap by measured time; its sizes are caps in addition.
_MAX_RUN_S = BatchOptions().max_run_s


def read_batching_parameters(path: str | Path) -> BatchOptions:
    """Read the options of a file of BatchingParameters.

    Args:
        path: a file in protobuf's text format.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file is not such a message, or its values contradict each other;
            the message names the file.
    """
    return read_text(path, parse_batching_parameters)


def parse_batching_parameters(text: str) -> BatchOptions:
    """Parse BatchingParameters in protobuf's text format.

    Raises:
        InvalidArgumentError: the text is not such a message, or its values contradict each other.
    """
    from google.protobuf import text_format

    from pinnace.proto.server_config_pb2 import BatchingParameters

    message = BatchingParameters()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        raise InvalidArgumentError(f"not BatchingParameters: {error}") from None
    if message.pad_variable_length_inputs:
        raise InvalidArgumentError(
            "pad_variable_length_inputs is not supported: requests of one row shape are joined"
        )
    size = _DEFAULT_BATCH_SIZE
    if message.HasField("max_batch_size"):
        size = message.max_batch_size.value
    if message.HasField("max_execution_batch_size"):
        size = min(size, message.max_execution_batch_size.value)
    timeout = message.batch_timeout_micros.value
    if timeout < 0:
        raise InvalidArgumentError(f"batch_timeout_micros must not be negative, got {timeout}")
    waiting = None
    if message.HasField("max_enqueued_batches"):
        waiting = message.max_enqueued_batches.value
    threads = message.num_batch_threads.value
    if (waiting is not None and waiting < 1) or threads < 0:
        raise InvalidArgumentError("max_enqueued_batches and num_batch_threads must be above 0")
    return BatchOptions(
        size,
        tuple(message.allowed_batch_sizes),
        timeout / 1e6,
        _MAX_RUN_S,
        None if waiting is None else waiting * size,
        threads,
    )
