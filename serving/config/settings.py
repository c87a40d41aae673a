"""The settings of a server, in one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.config.batching_config import BatchOptions
from pinnace.serving.config.lite_files import LiteFiles
from pinnace.serving.config.model_config import ModelConfig, check_models, read_model_config
from pinnace.serving.config.traffic import Shadow, Split, check_targets, check_traffic
from pinnace.serving.requests.expansion import MOST_BYTES, MOST_REPLY_BYTES
from pinnace.serving.running.sequences import SequenceOptions

_ABOVE_ZERO = (
    "request_timeout_s",
    "body_timeout_s",
    "header_timeout_s",
    "max_load_s",
    "max_header_bytes",
    "max_body_bytes",
    "max_expansion_bytes",
    "max_waiting_runs",
    "record_max_bytes",
    "sequence_idle_s",
    "workers",
)
_ZERO_FOR_NONE = (
    "max_connections",
    "max_concurrent_requests",
    "max_sequences",
    "max_inflight_bytes",
    "max_reply_bytes",
    "max_run_s",
    "max_run_bytes",
    "drain_s",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of a server at its start.

    Attributes:
        models: the models to serve; `model_config_file` may add others.
        model_config_file: TensorFlow Serving's `models.config`.
        saved_model_tags: the tags of the graph to serve, if models have several; none takes the one
            that is tagged `serve`.
        lite_files: the use of a `model.tflite` in a version's folder.
        model_config_file_poll_s: seconds between checks of that file; 0 reads it once.
        version_weights: the shares of versions in requests that name no version.
        shadows: versions that get copies of requests and never answer.
        host: the address to listen on.
        rest_api_port: the HTTP port; 0 takes a free one.
        grpc_port: the gRPC port; 0 serves no gRPC; None takes 8500 if grpcio is installed and the
            port is free.
        grpc_socket_path: a Unix socket that also serves gRPC; empty for none.
        grpc_channel_arguments: options of gRPC's core, by name; they replace the server's.
        tensor_content: answer gRPC predict with raw bytes in place of lists of values.
        intra_op_threads: threads of one run; 0 is one per core. Requests run side by side, so more
            than one helps few clients with a large model, and costs all others.
        workers: processes that answer.
        file_system_poll_s: seconds between checks for new versions; 0 checks once.
        remote_poll_s: the same for models at URLs, where each check is a request that may cost.
        max_load_retries: how often loading a version is retried.
        load_retry_s: seconds between retries; a changed file is retried at once.
        allow_labels_for_unavailable_versions: let a label name a version that is not loaded.
        request_timeout_s: longest time from a parsed request to its answer.
        body_timeout_s: longest time for a body to arrive.
        header_timeout_s: longest time for the headers of a request to arrive.
        max_header_bytes: largest headers of one request.
        max_connections: connections per port; 0 for as many as the process may have files open, at
            most 8192.
        drain_timeout_s: longest time that requests get to finish when the server stops.
        drain_s: time from SIGTERM to the drain, in which the server is not ready but still answers,
            for balancers that have not noticed yet; 0 for none.
        max_body_bytes: largest body, decompressed.
        max_body_bytes_of: other limits for single models, by name.
        max_expansion_bytes: memory that reading a request may take, or 16 times its body if that is
            more: for compressed bodies, values that fill a shape, JSON.
        max_reply_bytes: largest reply, beyond it 429; 0 for no limit.
        max_concurrent_requests: requests that are answered at once, beyond it 503; 0 for no limit.
        max_inflight_bytes: bytes of bodies that are held at once, beyond it 503; 0 for no limit.
        max_waiting_runs: largest number of runs that wait for a thread, per model version.
        run_threads: threads per model version for runs that are too long for the event loop; 0 is
            one per core.
        inline_run_s: runs that took no longer so far run on the event loop; five times as long if
            only one request waits.
        batching: how requests for one signature are joined; None joins none.
        checks_batches: compare the first joined batches with their requests run alone, and stop
            joining if they differ.
        batching_per_model: let `batching_params.pbtxt` in a model's folder replace `batching`.
        engines: the engine of each model, by name, and by the empty name that of all others:
            `pinnace`, or `onnxruntime` through an export to ONNX.
        warmup_iterations: how often the warm-up requests of a version run; 0 runs none.
        max_run_s: longest time that a run of a model may take; 0 for no limit.
        max_load_s: longest time to load a version and to run it for the first time.
        partial_models: serve the signatures that can run of a model with others that cannot.
        max_run_bytes: memory that a run of a model may take; 0 for no limit.
        cors: answer with CORS headers for any origin.
        gzip: compress replies for clients that accept it.
        kserve_status: add KServe v1's `name` and `ready` to the status of a model.
        metrics_path: the path for Prometheus, beside `/metrics`; empty turns both off.
        health_route: another path of readiness, for a platform.
        predict_route: another path to predict with the only model, for a platform.
        model_control: let clients load, unload and replace models; API keys always allow it.
        model_control_urls: let clients name URLs from which models are fetched.
        shared_memory: let clients register objects in /dev/shm that hold tensors.
        max_sequences: sequences of requests of which a version keeps the state; 0 for none, as with
            several workers.
        sequence_idle_s: seconds without a request after which a sequence is forgotten.
        log_format: format of the server's log on stderr: `text`, or `json`, one object per line.
        api_keys_file: keys that clients must send; empty for none.
        health_without_key: answer health checks without a key.
        metrics_without_key: answer reads of the metrics without a key.
        ssl_config_file: TensorFlow Serving's SSLConfig, for gRPC.
        tls_cert: file of the certificates, for HTTP and gRPC; empty for plain text.
        tls_key: file of their key.
        tls_client_ca: file of the authorities that must have signed client certificates; empty for
            none.
        access_log: file that gets a line of JSON per request; `-` is stdout, empty is none.
        otel: send traces, as OpenTelemetry's environment variables say.
        record: folder for requests and answers as TFRecords of PredictionLogs.
        record_fraction: the fraction of requests that are recorded.
        record_max_bytes: limit of all these files together; the oldest are deleted.
    """

    models: tuple[ModelConfig, ...] = ()
    model_config_file: str = ""
    saved_model_tags: tuple[str, ...] = ()
    lite_files: LiteFiles = LiteFiles.ALONE
    model_config_file_poll_s: float = 0.0
    version_weights: tuple[Split, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    host: str = "0.0.0.0"
    rest_api_port: int = 8501
    grpc_port: int | None = None
    grpc_socket_path: str = ""
    grpc_channel_arguments: tuple[tuple[str, int | str], ...] = ()
    tensor_content: bool = False
    workers: int = 1
    intra_op_threads: int = 1
    file_system_poll_s: float = 1.0
    remote_poll_s: float = 30.0
    max_load_retries: int = 5
    load_retry_s: float = 60.0
    allow_labels_for_unavailable_versions: bool = False
    request_timeout_s: float = 30.0
    body_timeout_s: float = 30.0
    header_timeout_s: float = 10.0
    max_header_bytes: int = 2**16
    max_connections: int = 0
    drain_timeout_s: float = 30.0
    drain_s: float = 0.0
    max_body_bytes: int = 64 * 2**20
    max_body_bytes_of: tuple[tuple[str, int], ...] = ()
    max_expansion_bytes: int = MOST_BYTES
    max_reply_bytes: int = MOST_REPLY_BYTES
    max_concurrent_requests: int = 0
    max_inflight_bytes: int = 2**30
    max_waiting_runs: int = 1024
    run_threads: int = 0
    inline_run_s: float = 0.001
    batching: BatchOptions | None = field(default_factory=BatchOptions)
    checks_batches: bool = True
    batching_per_model: bool = False
    engines: Mapping[str, str] = field(default_factory=dict)
    warmup_iterations: int = 1
    max_run_s: float = 30.0
    max_load_s: float = 300.0
    partial_models: bool = False
    max_run_bytes: int = 0
    cors: bool = False
    gzip: bool = False
    kserve_status: bool = False
    metrics_path: str = "/monitoring/prometheus/metrics"
    health_route: str = ""
    predict_route: str = ""
    model_control: bool = False
    model_control_urls: bool = False
    shared_memory: bool = False
    max_sequences: int = 1024
    sequence_idle_s: float = 60.0
    api_keys_file: str = ""
    health_without_key: bool = True
    metrics_without_key: bool = True
    ssl_config_file: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    log_format: str = "text"
    access_log: str = ""
    otel: bool = False
    record: str = ""
    record_fraction: float = 1.0
    record_max_bytes: int = 2**30

    def __post_init__(self) -> None:
        check_models(self.models)
        check_traffic(self.version_weights, self.shadows)
        for name, engine in self.engines.items():
            if engine not in ("pinnace", "onnxruntime"):
                raise InvalidArgumentError(
                    f"engine of model '{name}' must be 'pinnace' or 'onnxruntime', got '{engine}'"
                )
        if not 0 <= self.rest_api_port <= 65535:
            raise InvalidArgumentError(
                f"rest_api_port must be from 0 to 65535, got {self.rest_api_port}"
            )
        if self.grpc_socket_path and self.workers > 1:
            raise InvalidArgumentError(
                f"grpc_socket_path is for one worker, which owns the socket; got {self.workers}"
            )
        if self.shared_memory and self.workers > 1:
            raise InvalidArgumentError(
                "shared_memory is for one worker, with which clients register their regions; "
                f"got {self.workers}"
            )
        self._check_limits()
        if bool(self.tls_cert) != bool(self.tls_key):
            raise InvalidArgumentError("tls_cert and tls_key belong together: give both")
        if self.tls_client_ca and not self.tls_cert:
            raise InvalidArgumentError("tls_client_ca needs tls_cert and tls_key")
        if self.metrics_path and not self.metrics_path.startswith("/"):
            raise InvalidArgumentError(f"metrics_path must begin with '/', got {self.metrics_path}")

    @property
    def sequences(self) -> SequenceOptions:
        """The sequence options of a version: disabled with several workers."""
        return SequenceOptions(self.max_sequences * (self.workers == 1), self.sequence_idle_s)

    def _check_limits(self) -> None:
        for name in _ABOVE_ZERO:
            if getattr(self, name) <= 0:
                raise InvalidArgumentError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in _ZERO_FOR_NONE:
            value = getattr(self, name)
            if value < 0:
                raise InvalidArgumentError(f"{name} must not be negative, got {value}")
        if not 0 <= self.record_fraction <= 1:
            raise InvalidArgumentError(
                f"record_fraction must be from 0 to 1, got {self.record_fraction}"
            )

    def read_models(self) -> tuple[ModelConfig, ...]:
        """Return the models to serve, including those of the configuration file.

        Raises:
            NotFoundError: the configuration file does not exist.
            InvalidArgumentError: the file is invalid, there is no model to serve, or weights or
                shadows are of unknown models or labels.
        """
        configured = read_model_config(self.model_config_file) if self.model_config_file else ()
        models = check_models((*self.models, *configured))
        if not models:
            raise InvalidArgumentError("No model to serve: give --model NAME=PATH")
        check_targets(self.version_weights, self.shadows, models)
        return models
