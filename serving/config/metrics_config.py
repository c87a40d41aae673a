"""TensorFlow Serving's monitoring config: the path of metrics for Prometheus.

Source: docs/reference/serving_api.md 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.config.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

_DEFAULT_PATH = "/monitoring/prometheus/metrics"


def read_metrics_path(path: str | Path) -> str:
    """Read the path in a MonitoringConfig in protobuf's text format; empty if it is turned off.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file is not such a message; the message names the file.
    """
    return read_text(path, _metrics_path)


def _metrics_path(text: str) -> str:
    from google.protobuf import text_format

    from pinnace.proto.server_config_pb2 import MonitoringConfig

    message = MonitoringConfig()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        raise InvalidArgumentError(f"not a MonitoringConfig: {error}") from None
    if not message.prometheus_config.enable:
        return ""
    return message.prometheus_config.path or _DEFAULT_PATH
