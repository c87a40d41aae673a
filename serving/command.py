"""`pinnace serve`: TensorFlow Serving's flags and our own, in both spellings."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from pinnace.framework.errors import OpError
from pinnace.serving.config.batching_config import BatchOptions, read_batching_parameters
from pinnace.serving.config.lite_files import LiteFiles
from pinnace.serving.config.memory_limits import default_inflight_bytes, default_run_bytes
from pinnace.serving.config.metrics_config import read_metrics_path
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.platforms import Platform, read_platform
from pinnace.serving.config.settings import Settings
from pinnace.serving.config.traffic import parse_shadow, parse_split
from pinnace.serving.errors import one_line
from pinnace.serving.flags import (
    DEFAULT_REST_PORT,
    IGNORED,
    UsageError,
    named_engine,
    named_path,
    parser,
    respelt,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


NO_PLATFORM = Platform()


def main(argv: Sequence[str]) -> int:
    """Run `pinnace serve`.

    Args:
        argv: the arguments after `serve`.

    Returns:
        The exit code: 0 after a signal or `--help`, 2 for a command line that cannot be understood,
        1 for everything else.
    """
    if any(word in ("-h", "--help") for word in argv):
        sys.stdout.write(parser().format_help())
        return 0
    try:
        settings, remarks = parse_settings(argv, read_platform(os.environ))
    except (OpError, UsageError) as error:
        error = UsageError(one_line(error)) if isinstance(error, OpError) else error
        sys.stderr.write(f"pinnace serve: {error}\n  Try: pinnace serve --help\n")
        return 2
    for remark in remarks:
        sys.stderr.write(f"pinnace serve: {remark}\n")
    from pinnace.serving.process import serve  # late: `--help` needs no server

    if not settings.saved_model_tags and settings.lite_files is LiteFiles.ALONE:
        return serve(settings)
    from pinnace.serving.models.loading import load_model

    tags, lite_files = settings.saved_model_tags, settings.lite_files
    return serve(settings, partial(load_model, tags=tags, lite_files=lite_files))


def parse_settings(
    argv: Sequence[str], platform: Platform = NO_PLATFORM
) -> tuple[Settings, list[str]]:
    """Parse the settings of a command line.

    Args:
        argv: flags, `--a_flag=value`, `--a-flag value`; and folders of models.
        platform: the values for settings without a flag.

    Returns:
        The settings, and one remark for each flag that has no effect.

    Raises:
        UsageError: a flag or value cannot be understood, or there is nothing to serve.
    """
    given = parser().parse_args(respelt(argv))
    models = [named_path(text) for text in (*given.model, *given.folders)]
    if given.model_base_path:
        models.append(ModelConfig(given.model_name or "default", given.model_base_path))
    elif platform.model_path and not models and not given.model_config_file:
        models.append(ModelConfig(given.model_name or "default", platform.model_path))
    elif given.model_name:
        raise UsageError("--model_name needs --model_base_path")
    if not models and not given.model_config_file:
        raise UsageError("no model to serve: give --model NAME=PATH")
    remarks = [
        f"--{flag.name} has no effect: {flag.reason}"
        for flag in IGNORED
        if getattr(given, flag.name) is not None
    ]
    try:
        settings = Settings(
            models=tuple(models),
            model_config_file=given.model_config_file,
            saved_model_tags=tuple(one for one in given.saved_model_tags.split(",") if one),
            lite_files=_lite_files(given),
            model_config_file_poll_s=given.model_config_file_poll_wait_seconds,
            version_weights=tuple(map(parse_split, given.version_weights)),
            shadows=tuple(map(parse_shadow, given.shadow)),
            host=given.host,
            rest_api_port=_rest_api_port(given, platform),
            grpc_port=given.port,
            grpc_socket_path=given.grpc_socket_path,
            grpc_channel_arguments=given.grpc_channel_arguments,
            workers=given.workers,
            tensor_content=given.enable_serialization_as_tensor_content,
            file_system_poll_s=given.file_system_poll_wait_seconds,
            remote_poll_s=given.remote_poll_wait_seconds,
            max_load_retries=given.max_num_load_retries,
            load_retry_s=given.load_retry_interval_micros / 1e6,
            allow_labels_for_unavailable_versions=given.allow_version_labels_for_unavailable_models,
            request_timeout_s=given.rest_api_timeout_in_ms / 1e3,
            header_timeout_s=given.header_timeout_in_ms / 1e3,
            max_header_bytes=given.max_header_bytes,
            max_connections=given.max_connections,
            body_timeout_s=given.body_timeout_in_ms / 1e3,
            drain_timeout_s=given.drain_timeout_in_ms / 1e3,
            drain_s=platform.drain_s if given.drain_s is None else given.drain_s,
            max_body_bytes=given.max_body_bytes,
            max_body_bytes_of=tuple(given.model_max_body_bytes),
            max_expansion_bytes=given.max_expansion_bytes,
            max_reply_bytes=given.max_reply_bytes,
            log_format=given.log_format,
            max_concurrent_requests=given.max_concurrent_requests,
            max_inflight_bytes=_inflight_bytes(given),
            max_waiting_runs=given.max_waiting_runs,
            run_threads=given.run_threads,
            batching=_batching(given),
            intra_op_threads=given.tensorflow_intra_op_parallelism,
            engines=dict(map(named_engine, given.engine)),
            checks_batches=given.check_batches,
            batching_per_model=given.enable_per_model_batching_parameters,
            warmup_iterations=given.enable_model_warmup * given.num_request_iterations_for_warmup,
            max_run_s=given.max_run_ms / 1e3,
            max_run_bytes=_run_bytes(given),
            max_load_s=given.max_load_ms / 1e3,
            partial_models=given.partial_models,
            cors=given.rest_api_enable_cors_support or given.cors,
            gzip=given.gzip,
            kserve_status=given.kserve_status,
            metrics_path=_metrics_path(given),
            health_route=platform.health_route,
            predict_route=platform.predict_route,
            model_control=given.model_control,
            model_control_urls=given.model_control_urls,
            shared_memory=given.shared_memory,
            max_sequences=given.max_sequences,
            sequence_idle_s=given.sequence_idle_s,
            api_keys_file=given.api_keys_file,
            health_without_key=given.health_without_key,
            metrics_without_key=given.metrics_without_key,
            ssl_config_file=given.ssl_config_file,
            tls_cert=given.tls_cert,
            tls_key=given.tls_key,
            tls_client_ca=given.tls_client_ca,
            access_log=given.access_log,
            otel=given.otel,
            record=given.record,
            record_fraction=given.record_fraction,
            record_max_bytes=given.record_max_bytes,
        )
    except OpError as error:
        raise UsageError(one_line(error)) from None
    return settings, remarks


def _lite_files(given: argparse.Namespace) -> LiteFiles:
    if given.use_tflite_model:
        return LiteFiles.REQUIRED
    return LiteFiles.PREFERRED if given.prefer_tflite_model else LiteFiles.ALONE


def _batching(given: argparse.Namespace) -> BatchOptions | None:
    """The batching options: by default all waiting requests, if that changes no result."""
    if not given.enable_batching:
        return None
    if given.batching_parameters_file:
        return read_batching_parameters(given.batching_parameters_file)
    return BatchOptions()


def _rest_api_port(given: argparse.Namespace, platform: Platform) -> int:
    if given.rest_api_port is not None:
        return int(given.rest_api_port)
    return DEFAULT_REST_PORT if platform.port is None else platform.port


def _run_bytes(given: argparse.Namespace) -> int:
    if given.max_run_bytes is not None:
        return int(given.max_run_bytes)
    return default_run_bytes()


def _inflight_bytes(given: argparse.Namespace) -> int:
    if given.max_inflight_bytes is not None:
        return int(given.max_inflight_bytes)
    return default_inflight_bytes()


def _metrics_path(given: argparse.Namespace) -> str:
    if not given.monitoring_config_file:
        return str(given.metrics_path)
    return read_metrics_path(given.monitoring_config_file)
