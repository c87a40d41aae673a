"""`pinnace serve`: TensorFlow Serving's flags and our own, in both spellings."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NoReturn

from pinnace.framework.errors import OpError
from pinnace.serving.config.batching_config import BatchOptions, read_batching_parameters
from pinnace.serving.config.memory_limits import default_inflight_bytes, default_run_bytes
from pinnace.serving.config.metrics_config import read_metrics_path
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.platforms import Platform, read_platform
from pinnace.serving.config.settings import Settings
from pinnace.serving.config.traffic import parse_shadow, parse_split
from pinnace.serving.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = """\
Serve SavedModels over HTTP: TensorFlow Serving's REST interface.

  pinnace serve --model digits=models/digits
  pinnace serve --model_name=digits --model_base_path=/models/digits --rest_api_port=8501

A model is a folder of numbered versions, or a SavedModel itself. Flags take _ or -."""


NO_PLATFORM = Platform()
DEFAULT_REST_PORT = 8501


class UsageError(Exception):
    """A command line that cannot be understood."""


@dataclass(frozen=True, slots=True)
class _Ignored:
    """A flag of TensorFlow Serving that is accepted and does nothing.

    Attributes:
        name: of the flag.
        reason: why it does nothing.
        is_switch: whether it may stand without a value.
    """

    name: str
    reason: str
    is_switch: bool = False


_NO_GRPC = "gRPC's own defaults are used"
_NO_SESSION = "there is no TensorFlow session here"
_NO_DEVICE = "models run on the CPU"

_IGNORED = (
    _Ignored("grpc_socket_path", _NO_GRPC),
    _Ignored("grpc_channel_arguments", _NO_GRPC),
    _Ignored("grpc_max_threads", _NO_GRPC),
    _Ignored("enable_grpc_healthcheck_service", "it is always there", is_switch=True),
    _Ignored("allow_version_labels", "labels are always allowed", is_switch=True),
    _Ignored("rest_api_num_threads", "one event loop reads all requests; see --run_threads"),
    _Ignored("num_load_threads", "models are loaded one after the other"),
    _Ignored("num_unload_threads", "models are unloaded one after the other"),
    _Ignored("tensorflow_session_parallelism", _NO_SESSION),
    _Ignored("tensorflow_inter_op_parallelism", _NO_SESSION),
    _Ignored("tensorflow_session_config_file", _NO_SESSION),
    _Ignored("platform_config_file", _NO_SESSION),
    _Ignored("flush_filesystem_caches", "files are mapped, not cached", is_switch=True),
    _Ignored("remove_unused_fields_from_bundle_metagraph", _NO_SESSION, is_switch=True),
    _Ignored("enforce_session_run_timeout", _NO_SESSION, is_switch=True),
    _Ignored("enable_signature_method_name_check", "it is not checked", is_switch=True),
    _Ignored("xla_cpu_compilation_enabled", _NO_SESSION, is_switch=True),
    _Ignored("enable_profiler", "there is no profiler service", is_switch=True),
    _Ignored("use_tflite_model", "only SavedModels are served", is_switch=True),
    _Ignored("prefer_tflite_model", "only SavedModels are served", is_switch=True),
    _Ignored("num_tflite_pools", "only SavedModels are served"),
    _Ignored("per_process_gpu_memory_fraction", _NO_DEVICE),
    _Ignored("mixed_precision", _NO_DEVICE),
)
_SWITCHES = {
    "cors",
    "gzip",
    "health_without_key",
    "kserve_status",
    "metrics_without_key",
    "model_control",
    "model_control_urls",
    "partial_models",
    "otel",
    "enable_batching",
    "enable_model_warmup",
    "enable_per_model_batching_parameters",
    "enable_serialization_as_tensor_content",
    "check_batches",
    "rest_api_enable_cors_support",
    "allow_version_labels_for_unavailable_models",
    *(flag.name for flag in _IGNORED if flag.is_switch),
}


def main(argv: Sequence[str]) -> int:
    """Run `pinnace serve`.

    Args:
        argv: what stands after `serve`.

    Returns:
        The exit code: 0 after a signal or `--help`, 2 for a command line that cannot be understood,
        1 for everything else.
    """
    if any(word in ("-h", "--help") for word in argv):
        sys.stdout.write(_parser().format_help())
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

    if not settings.saved_model_tags:
        return serve(settings)
    from pinnace.serving.models.loading import load_model

    return serve(settings, partial(load_model, tags=settings.saved_model_tags))


def parse_settings(
    argv: Sequence[str], platform: Platform = NO_PLATFORM
) -> tuple[Settings, list[str]]:
    """The settings that a command line says.

    Args:
        argv: flags, `--a_flag=value`, `--a-flag value`; and folders of models.
        platform: what counts where flags say nothing.

    Returns:
        The settings, and one remark for each flag that has no effect.

    Raises:
        UsageError: a flag or value cannot be understood, or there is nothing to serve.
    """
    given = _parser().parse_args(_respelt(argv))
    models = [_named_path(text) for text in (*given.model, *given.folders)]
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
        for flag in _IGNORED
        if getattr(given, flag.name) is not None
    ]
    try:
        settings = Settings(
            models=tuple(models),
            model_config_file=given.model_config_file,
            saved_model_tags=tuple(one for one in given.saved_model_tags.split(",") if one),
            model_config_file_poll_s=given.model_config_file_poll_wait_seconds,
            version_weights=tuple(map(parse_split, given.version_weights)),
            shadows=tuple(map(parse_shadow, given.shadow)),
            host=given.host,
            rest_api_port=_rest_api_port(given, platform),
            grpc_port=given.port,
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
            max_concurrent_requests=given.max_concurrent_requests,
            max_inflight_bytes=_inflight_bytes(given),
            max_waiting_runs=given.max_waiting_runs,
            run_threads=given.run_threads,
            batching=_batching(given),
            intra_op_threads=given.tensorflow_intra_op_parallelism,
            engines=dict(map(_named_engine, given.engine)),
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


def _batching(given: argparse.Namespace) -> BatchOptions | None:
    """How requests are joined: by default whatever waits, as long as it changes no answer."""
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


def flags() -> list[tuple[str, list[tuple[str, str]]]]:
    """The command-line flags: by heading, each flag and what it does."""
    parser = _parser()
    ignored = {flag.name for flag in _IGNORED}
    found: list[tuple[str, list[tuple[str, str]]]] = [
        ("## Flags", []),
        ("## TensorFlow Serving's flags that are accepted and do nothing", []),
    ]
    for action in parser._actions:
        if not action.option_strings:
            continue
        name = action.option_strings[0].removeprefix("--")
        metavar = "" if action.metavar is None else f" {action.metavar}"
        found[name in ignored][1].append((f"--{name}{metavar}", action.help or ""))
    return found


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="pinnace serve",
        usage="pinnace serve --model NAME=PATH [flags]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("folders", nargs="*", metavar="[NAME=]PATH", help="the same as --model")
    defaults = Settings()

    def add(
        name: str, kind: Callable[[str], object], default: object, metavar: str, text: str
    ) -> None:
        shown = "" if default in ("", None) else f" (default {default})"
        parser.add_argument(
            f"--{name}", type=kind, default=default, metavar=metavar, help=text + shown
        )

    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="a model; may be given several times",
    )
    parser.add_argument(
        "--engine",
        action="append",
        default=[],
        metavar="[NAME=]ENGINE",
        help="what runs a model, or all: pinnace (default), or onnxruntime through an export",
    )
    parser.add_argument(
        "--version_weights",
        action="append",
        default=[],
        metavar="NAME=VERSION:WEIGHT,...",
        help="divide requests that name no version, by version or label; one request ID or API key "
        "keeps its version",
    )
    parser.add_argument(
        "--shadow",
        action="append",
        default=[],
        metavar="NAME=VERSION@FRACTION",
        help="a version that gets copies of this part of the requests, to compare; never answers",
    )
    add("model_name", str, "", "NAME", "name of the model in --model_base_path, else 'default'")
    add("model_base_path", str, "", "PATH", "folder of a single model")
    add("model_config_file", str, "", "FILE", "TensorFlow Serving's models.config")
    add("model_config_file_poll_wait_seconds", _seconds, 0.0, "S", "look at it again; 0: never")
    add("saved_model_tags", str, "", "TAGS", "tags of the graph to serve, comma-separated")
    parser.add_argument(
        "--rest_api_port",
        type=_integer,
        metavar="PORT",
        help="HTTP port; 0: a free one (default that of AIP_HTTP_PORT, SAGEMAKER_BIND_TO_PORT or "
        f"PORT in the environment, else {DEFAULT_REST_PORT})",
    )
    parser.add_argument(
        "--port", type=_integer, metavar="PORT", help="gRPC port; 0: none (default 8500 if free)"
    )
    add("host", str, defaults.host, "HOST", "address to listen on")
    add("rest_api_timeout_in_ms", _positive, 30000, "MS", "longest time to an answer")
    add(
        "file_system_poll_wait_seconds",
        _seconds,
        defaults.file_system_poll_s,
        "S",
        "look for new versions; 0 or less: only at the start",
    )
    add(
        "remote_poll_wait_seconds",
        _seconds,
        defaults.remote_poll_s,
        "S",
        "the same for models at URLs",
    )
    add("max_num_load_retries", _integer, defaults.max_load_retries, "N", "after a failed load")
    add("load_retry_interval_micros", _integer, 60_000_000, "US", "time between these")
    add("header_timeout_in_ms", _positive, 10000, "MS", "longest time for headers to arrive")
    add("max_header_bytes", _positive, defaults.max_header_bytes, "N", "of one request, then 431")
    add("max_connections", _natural, 0, "N", "each port; 0: as many as files, at most 8192")
    add("body_timeout_in_ms", _positive, 30000, "MS", "longest time for a body to arrive")
    add("drain_timeout_in_ms", _positive, 30000, "MS", "time to finish requests at the end")
    parser.add_argument(
        "--drain_s",
        type=_duration,
        metavar="S",
        help="time after SIGTERM in which the server is not ready and still answers; Ctrl-C "
        "does not wait (default 15 in a pod of Kubernetes, else 0)",
    )
    add("max_body_bytes", _positive, defaults.max_body_bytes, "N", "largest body, unpacked")
    parser.add_argument(
        "--model_max_body_bytes",
        action="append",
        type=_named_size,
        default=[],
        metavar="NAME=N",
        help="another limit for one model; may be given several times",
    )
    add(
        "max_expansion_bytes",
        _positive,
        defaults.max_expansion_bytes,
        "N",
        "memory that reading a request may take; 16 times its body if that is more",
    )
    add("max_concurrent_requests", _natural, 0, "N", "then 503; 0: no limit")
    parser.add_argument(
        "--max_inflight_bytes",
        type=_natural,
        metavar="N",
        help="of bodies, then 503; 0: no limit (default a quarter of the memory, at most 1 GiB)",
    )
    run_ms = round(defaults.max_run_s * 1e3)
    add("max_run_ms", _natural, run_ms, "MS", "longest run of a model, then 504; 0: no limit")
    parser.add_argument(
        "--max_run_bytes",
        type=_natural,
        metavar="N",
        help="memory of a run, then 429; 0: no limit (default half of what there is)",
    )
    add("max_load_ms", _positive, round(defaults.max_load_s * 1e3), "MS", "to load a version")
    add("workers", _positive, defaults.workers, "N", "processes that answer")
    add("api_keys_file", str, "", "FILE", "keys that clients must send, one a line")
    add("tls_cert", str, "", "FILE", "certificates, for HTTP and gRPC")
    add("tls_key", str, "", "FILE", "the key of these")
    add("tls_client_ca", str, "", "FILE", "authorities of clients that may ask")
    add("ssl_config_file", str, "", "FILE", "TensorFlow Serving's SSLConfig, for gRPC")
    add("access_log", str, "", "FILE", "a line of JSON for each request; -: stdout")
    add("record", str, "", "FOLDER", "gets requests and answers as PredictionLogs")
    add("record_fraction", _fraction, 1.0, "F", "of the requests, from 0 to 1")
    add("record_max_bytes", _positive, defaults.record_max_bytes, "N", "then the oldest files go")
    add("max_waiting_runs", _positive, defaults.max_waiting_runs, "N", "then 503, per version")
    add(
        "tensorflow_intra_op_parallelism",
        _integer,
        defaults.intra_op_threads,
        "N",
        "threads of one run; 0: one per core",
    )
    add("run_threads", _integer, defaults.run_threads, "N", "per version; 0: one per core")
    add("batching_parameters_file", str, "", "FILE", "TensorFlow Serving's batching parameters")
    add("monitoring_config_file", str, "", "FILE", "TensorFlow Serving's monitoring config")
    add("num_request_iterations_for_warmup", _positive, 1, "N", "runs of each warm-up request")
    add("metrics_path", str, defaults.metrics_path, "PATH", "for Prometheus; empty: none")
    for name, text in (
        ("rest_api_enable_cors_support", "let pages of any origin ask"),
        ("cors", "the same"),
        ("kserve_status", "show name and ready, as KServe v1, beside TensorFlow Serving's status"),
        ("gzip", "pack replies for clients that accept it"),
        ("partial_models", "serve the signatures that can run of a model where others cannot"),
        ("model_control", "let clients load, unload and replace models; API keys may without it"),
        ("model_control_urls", "let these clients name URLs that models are fetched from"),
        ("otel", "send OpenTelemetry traces (extra otel; OTEL_* variables say where)"),
        ("enable_serialization_as_tensor_content", "answer gRPC with raw bytes, not with lists"),
        ("enable_per_model_batching_parameters", "read batching_params.pbtxt of each model"),
        ("allow_version_labels_for_unavailable_models", "labels may name versions to come"),
    ):
        parser.add_argument(f"--{name}", type=_switch, default=False, metavar="BOOL", help=text)
    for name, text in (
        ("enable_batching", "join requests that wait for one signature"),
        ("check_batches", "compare the first joined requests with the same alone"),
        ("enable_model_warmup", "answer the model's warm-up requests before others"),
        ("health_without_key", "answer health questions without an API key"),
        ("metrics_without_key", "show metrics without an API key"),
    ):
        parser.add_argument(f"--{name}", type=_switch, default=True, metavar="BOOL", help=text)
    ignored = parser.add_argument_group("accepted without effect")
    for flag in _IGNORED:
        ignored.add_argument(f"--{flag.name}", metavar="X", help=flag.reason)
    return parser


def _respelt(argv: Sequence[str]) -> list[str]:
    """Flags with _ for -, and switches with their value: so that one spelling is left to parse."""
    words: list[str] = []
    for word in argv:
        if not word.startswith("--") or word == "--":
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        name = name.replace("-", "_")
        if name in _SWITCHES and not equals:
            equals, value = "=", "true"
        words.append(f"--{name}{equals}{value}")
    return words


def _named_path(text: str) -> ModelConfig:
    """`NAME=PATH`, or a path whose last part is the name."""
    name, equals, path = text.partition("=")
    if "://" in name or not equals:  # a URL may have a '=' in it
        path, name = text, PurePosixPath(text).name if "://" in text else Path(text).resolve().name
    if not name or not path:
        raise UsageError(f"--model must be NAME=PATH, got '{text}'")
    return ModelConfig(name, path)


def _named_engine(text: str) -> tuple[str, str]:
    """`NAME=ENGINE`, or an engine for all."""
    name, equals, engine = text.partition("=")
    return (name, engine) if equals else ("", name)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be an integer, got '{text}'") from None


def _positive(text: str) -> int:
    value = _integer(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be above 0, got {value}")
    return value


def _natural(text: str) -> int:
    value = _integer(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, got {value}")
    return value


def _fraction(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got '{text}'") from None


def _named_size(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"must be NAME=N, got '{text}'")
    return name, _positive(size)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, got '{text}'") from None


def _duration(text: str) -> float:
    value = _seconds(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be from 0 on and finite, got {text}")
    return value


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"must be true or false, got '{text}'")
    return text.lower() in ("true", "1")
