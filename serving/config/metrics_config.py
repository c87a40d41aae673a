"""TensorFlow Serving's monitoring config: where Prometheus reads, if anywhere.

Source: docs/reference/serving_api.md 3.
"""

from __future__ import annotations

from pathlib import Path

from pinnace.framework.errors import InvalidArgumentError, NotFoundError

_MAX_FILE_BYTES = 2**20
_DEFAULT_PATH = "/monitoring/prometheus/metrics"


def read_metrics_path(path: str | Path) -> str:
    """The path that a MonitoringConfig in protobuf's text format says; empty if it is turned off.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is no such message; the message names the file.
    """
    from google.protobuf import text_format

    from pinnace.proto.server_config_pb2 import MonitoringConfig

    message = MonitoringConfig()
    try:
        with Path(path).open("rb") as file:
            text_format.Parse(file.read(_MAX_FILE_BYTES).decode(), message)
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be read: {error.strerror}") from None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{path}: not a MonitoringConfig: {error}") from None
    if not message.prometheus_config.enable:
        return ""
    return message.prometheus_config.path or _DEFAULT_PATH
