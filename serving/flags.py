"""The flags of `pinnace serve`: names, types, defaults and help texts, and their spellings."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NoReturn

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = """\
Serve SavedModels over HTTP: TensorFlow Serving's REST interface.

  pinnace serve --model digits=models/digits
  pinnace serve --model_name=digits --model_base_path=/models/digits --rest_api_port=8501

A model is a folder of numbered versions, or a SavedModel itself. Flags take _ or -."""
DEFAULT_REST_PORT = 8501


class UsageError(Exception):
    """A command line that cannot be understood."""


@dataclass(frozen=True, slots=True)
class _Ignored:
    """A flag of TensorFlow Serving that is accepted without effect.

    Attributes:
        name: the flag's name.
        reason: the reason why it has no effect.
        is_switch: whether its value may be omitted.
    """

    name: str
    reason: str
    is_switch: bool = False


_NO_GRPC = "gRPC's own defaults are used"
_NO_SESSION = "there is no TensorFlow session here"
_NO_DEVICE = "models run on the CPU"
IGNORED = (
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
    _Ignored("num_tflite_pools", "no interpreters run; see --run_threads"),
    _Ignored("num_tflite_interpreters_per_pool", "no interpreters run; see --enable_batching"),
    _Ignored("thread_pool_factory_config_file", _NO_SESSION),
    _Ignored("skip_initialize_tpu", _NO_DEVICE, is_switch=True),
    _Ignored("xla_gpu_compilation_enabled", _NO_DEVICE, is_switch=True),
    _Ignored("per_process_gpu_memory_fraction", _NO_DEVICE),
    _Ignored("mixed_precision", _NO_DEVICE),
)
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}
_SWITCHES = {
    "cors",
    "gzip",
    "health_without_key",
    "kserve_status",
    "metrics_without_key",
    "model_control",
    "model_control_urls",
    "shared_memory",
    "partial_models",
    "otel",
    "enable_batching",
    "enable_model_warmup",
    "enable_per_model_batching_parameters",
    "enable_serialization_as_tensor_content",
    "check_batches",
    "rest_api_enable_cors_support",
    "use_alts_credentials",
    "allow_version_labels_for_unavailable_models",
    "prefer_tflite_model",
    "use_tflite_model",
    *(flag.name for flag in IGNORED if flag.is_switch),
}


def flags() -> list[tuple[str, list[tuple[str, str]]]]:
    """The command-line flags by group, each with its help text."""
    ignored = {flag.name for flag in IGNORED}
    found: list[tuple[str, list[tuple[str, str]]]] = [
        ("## Flags", []),
        ("## TensorFlow Serving's flags that are accepted and do nothing", []),
    ]
    for action in parser()._actions:
        if not action.option_strings:
            continue
        name = action.option_strings[0].removeprefix("--")
        metavar = "" if action.metavar is None else f" {action.metavar}"
        found[name in ignored][1].append((f"--{name}{metavar}", action.help or ""))
    return found


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all flags, whose errors are UsageErrors."""
    found = _Parser(
        prog="pinnace serve",
        usage="pinnace serve --model NAME=PATH [flags]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    found.add_argument("folders", nargs="*", metavar="[NAME=]PATH", help="the same as --model")
    defaults = Settings()

    def add(
        name: str, kind: Callable[[str], object], default: object, metavar: str, text: str
    ) -> None:
        shown = "" if default in ("", None) else f" (default {default})"
        found.add_argument(
            f"--{name}", type=kind, default=default, metavar=metavar, help=text + shown
        )

    found.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="a model; may be given several times",
    )
    found.add_argument(
        "--engine",
        action="append",
        default=[],
        metavar="[NAME=]ENGINE",
        help="what runs a model, or all: pinnace (default), or onnxruntime through an export",
    )
    found.add_argument(
        "--version_weights",
        action="append",
        default=[],
        metavar="NAME=VERSION:WEIGHT,...",
        help="divide requests that name no version, by version or label; one request ID or API key "
        "keeps its version",
    )
    found.add_argument(
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
    found.add_argument(
        "--rest_api_port",
        type=_integer,
        metavar="PORT",
        help="HTTP port; 0: a free one (default that of AIP_HTTP_PORT, SAGEMAKER_BIND_TO_PORT or "
        f"PORT in the environment, else {DEFAULT_REST_PORT})",
    )
    found.add_argument(
        "--port", type=_integer, metavar="PORT", help="gRPC port; 0: none (default 8500 if free)"
    )
    add("grpc_socket_path", str, "", "PATH", "a Unix socket that serves gRPC, too; without TLS")
    found.add_argument(
        "--grpc_channel_arguments",
        type=_channel_arguments,
        default=(),
        metavar="NAME=VALUE,...",
        help="options of gRPC's core, as grpc.max_connection_age_ms=2000, before the server's own",
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
    found.add_argument(
        "--drain_s",
        type=_duration,
        metavar="S",
        help="time after SIGTERM in which the server is not ready and still answers; Ctrl-C "
        "does not wait (default 15 in a pod of Kubernetes, else 0)",
    )
    add("max_body_bytes", _positive, defaults.max_body_bytes, "N", "largest body, unpacked")
    found.add_argument(
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
    reply_bytes = defaults.max_reply_bytes
    add("max_reply_bytes", _natural, reply_bytes, "N", "largest answer, then 429; 0: no limit")
    sequences = defaults.max_sequences
    add("max_sequences", _natural, sequences, "N", "per version, with one worker; 0: none")
    idle_s = defaults.sequence_idle_s
    add("sequence_idle_s", _seconds, idle_s, "S", "after which a sequence is forgotten")
    add("max_concurrent_requests", _natural, 0, "N", "then 503; 0: no limit")
    found.add_argument(
        "--max_inflight_bytes",
        type=_natural,
        metavar="N",
        help="of bodies, then 503; 0: no limit (default a quarter of the memory, at most 1 GiB)",
    )
    run_ms = round(defaults.max_run_s * 1e3)
    add("max_run_ms", _natural, run_ms, "MS", "longest run of a model, then 504; 0: no limit")
    found.add_argument(
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
    found.add_argument(
        "--log_format",
        choices=("text", "json"),
        default=defaults.log_format,
        help="of the server's own log, on stderr (default text)",
    )
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
        ("shared_memory", "let clients on this machine send tensors in objects of /dev/shm"),
        ("otel", "send OpenTelemetry traces (extra otel; OTEL_* variables say where)"),
        ("enable_serialization_as_tensor_content", "answer gRPC with raw bytes, not with lists"),
        ("enable_per_model_batching_parameters", "read batching_params.pbtxt of each model"),
        ("allow_version_labels_for_unavailable_models", "labels may name versions to come"),
        (
            "prefer_tflite_model",
            "serve a version's model.tflite, if there is one, with names as TF Serving has them",
        ),
        ("use_tflite_model", "the same, and nothing but model.tflite"),
    ):
        found.add_argument(f"--{name}", type=_switch, default=False, metavar="BOOL", help=text)
    for name, text in (
        ("enable_batching", "join requests that wait for one signature"),
        ("check_batches", "compare the first joined requests with the same alone"),
        ("enable_model_warmup", "answer the model's warm-up requests before others"),
        ("health_without_key", "answer health questions without an API key"),
        ("metrics_without_key", "show metrics without an API key"),
    ):
        found.add_argument(f"--{name}", type=_switch, default=True, metavar="BOOL", help=text)
    found.add_argument(
        "--use_alts_credentials",
        type=_no_alts,
        default=False,
        metavar="BOOL",
        help="only false: credentials of Google's cloud are not supported",
    )
    found.add_argument(
        "--version",
        action=_PrintVersion,
        nargs=0,
        default=argparse.SUPPRESS,
        help="print the version, and end",
    )
    ignored = found.add_argument_group("accepted without effect")
    for flag in IGNORED:
        ignored.add_argument(f"--{flag.name}", metavar="X", help=flag.reason)
    return found


class _PrintVersion(argparse.Action):
    """`--version`, looked up on demand, which saves a hundredth of a second of each start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from pinnace.framework.versions import VERSION

        sys.stdout.write(f"pinnace {VERSION}\n")
        parser.exit()


def respelt(argv: Sequence[str]) -> list[str]:
    """Return flags with - for _, and switches with their value, so that one spelling remains."""
    words: list[str] = []
    waiting = list(reversed(argv))
    while waiting:
        word = waiting.pop()
        if not word.startswith("--") or word == "--":
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        name = name.replace("-", "_")
        if name in _SWITCHES and not equals:
            # Its value may be a separate argument, as for other flags; without one it means true.
            has_value = bool(waiting) and waiting[-1].lower() in _TRUTHS
            equals, value = "=", waiting.pop() if has_value else "true"
        words.append(f"--{name}{equals}{value}")
    return words


def named_path(text: str) -> ModelConfig:
    """Parse `NAME=PATH`, or a path whose last component is the name."""
    name, equals, path = text.partition("=")
    if "://" in name or not equals:  # a URL may contain '='
        path, name = text, PurePosixPath(text).name if "://" in text else Path(text).resolve().name
    if not name or not path:
        raise UsageError(f"--model must be NAME=PATH, got '{text}'")
    return ModelConfig(name, path)


def named_engine(text: str) -> tuple[str, str]:
    """Parse `NAME=ENGINE`, or an engine for all models."""
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


def _channel_arguments(text: str) -> tuple[tuple[str, int | str], ...]:
    found: list[tuple[str, int | str]] = []
    for part in text.split(",") if text else ():
        name, equals, value = part.strip().partition("=")
        if not name or not equals:
            raise argparse.ArgumentTypeError(f"must be NAME=VALUE,..., got '{text}'")
        is_number = re.fullmatch(r"[+-]?[0-9]{1,10}", value) is not None
        found.append((name, int(value) if is_number else value))
    return tuple(found)


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


def _no_alts(text: str) -> bool:
    if _switch(text):
        raise argparse.ArgumentTypeError(
            "credentials of Google's cloud are not supported; --tls_cert has a certificate"
        )
    return False


def _switch(text: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise argparse.ArgumentTypeError(f"must be true or false, got '{text}'")
    return _TRUTHS[text.lower()]
