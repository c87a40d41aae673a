"""TensorFlow Serving's batching parameters: its text files, as options of lanes.

Source: TensorFlow Serving, session_bundle_config.proto; SERVING_API.md 3.
"""

from __future__ import annotations

from pathlib import Path

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.serving.batching import BatchOptions

PER_MODEL_FILE = "batching_params.pbtxt"

_MAX_FILE_BYTES = 2**20
_DEFAULT_BATCH_SIZE = 1000  # TensorFlow Serving's own
# A file that says nothing of time keeps the cap by measured time; its sizes are caps beside it.
_MAX_RUN_S = BatchOptions().max_run_s


def read_batching_parameters(path: str | Path) -> BatchOptions:
    """The options that a file of BatchingParameters says.

    Args:
        path: of a file in protobuf's text format.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is no such message, or its values contradict each other; the
            message names the file.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MAX_FILE_BYTES:
        raise InvalidArgumentError(f"{path}: longer than {_MAX_FILE_BYTES} bytes")
    try:
        return parse_batching_parameters(data.decode())
    except (InvalidArgumentError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{path}: {error}") from None


def parse_batching_parameters(text: str) -> BatchOptions:
    """The options that BatchingParameters in protobuf's text format say.

    Raises:
        InvalidArgumentError: the text is no such message, or its values contradict each other.
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
