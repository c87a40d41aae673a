"""TensorFlow Serving's text files for batching and monitoring."""

from pathlib import Path

import pytest

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.serving.command import parse_settings
from pinnace.serving.config.batching_config import (
    BatchOptions,
    parse_batching_parameters,
    read_batching_parameters,
)
from pinnace.serving.config.metrics_config import read_metrics_path
from pinnace.serving.flags import UsageError

PARAMETERS = """
# The example of TensorFlow Serving's guide.
max_batch_size { value: 128 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 10 }
num_batch_threads { value: 3 }
thread_pool_name { value: 'pool' }
allowed_batch_sizes: 8
allowed_batch_sizes: 128
"""


def test_the_knobs_are_read() -> None:
    options = parse_batching_parameters(PARAMETERS)
    assert options.max_batch_size == 128
    assert options.batch_timeout_s == pytest.approx(0.002)
    assert options.allowed_batch_sizes == (8, 128)
    assert options.max_waiting == 1280
    assert options.threads == 3
    assert parse_batching_parameters("").max_batch_size == 1000
    small = "max_batch_size { value: 64 } max_execution_batch_size { value: 16 }"
    assert parse_batching_parameters(small).max_batch_size == 16


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_batch_size: 5", "not BatchingParameters"),
        ("max_batch_size { value: 0 }", "max_batch_size must be above 0"),
        ("allowed_batch_sizes: 8", "the last of allowed_batch_sizes must be max_batch_size, 1000"),
        ("batch_timeout_micros { value: -1 }", "must not be negative"),
        ("max_enqueued_batches { value: 0 }", "must be above 0"),
        ("pad_variable_length_inputs: true", "pad_variable_length_inputs is not supported"),
    ],
)
def test_what_is_wrong_in_them_is_named_with_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "batching.config"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError, match=f"batching.config: .*{message}"):
        read_batching_parameters(path)
    with pytest.raises(UsageError, match=message):
        parse_settings(["m=/m", "--enable_batching", f"--batching_parameters_file={path}"])


def test_flags_say_how_requests_are_joined(tmp_path: Path) -> None:
    assert parse_settings(["m=/m"])[0].batching == BatchOptions()
    assert parse_settings(["m=/m", "--enable_batching=false"])[0].batching is None
    path = tmp_path / "batching.config"
    path.write_text(PARAMETERS)
    settings, _ = parse_settings(["m=/m", f"--batching_parameters_file={path}"])
    assert settings.batching is not None
    assert settings.batching.max_batch_size == 128
    with pytest.raises(NotFoundError, match="cannot be read"):
        read_batching_parameters(tmp_path / "none")


def test_the_path_of_metrics(tmp_path: Path) -> None:
    path = tmp_path / "monitoring.config"
    path.write_text('prometheus_config { enable: true, path: "/metrics" }')
    assert read_metrics_path(path) == "/metrics"
    settings, _ = parse_settings(["m=/m", f"--monitoring_config_file={path}"])
    assert settings.metrics_path == "/metrics"
    path.write_text("prometheus_config { enable: true }")
    assert read_metrics_path(path) == "/monitoring/prometheus/metrics"
    path.write_text("")
    assert not read_metrics_path(path)
    path.write_text("other: 5")
    with pytest.raises(InvalidArgumentError, match="not a MonitoringConfig"):
        read_metrics_path(path)


def test_a_file_that_is_too_long_is_refused_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "monitoring.config"
    path.write_text("prometheus_config { enable: true }\n" + "#" * 2**24)
    with pytest.raises(
        InvalidArgumentError, match=r"monitoring\.config: longer than 16777216 bytes"
    ):
        read_metrics_path(path)
