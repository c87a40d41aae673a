"""Everything a server can be told, in one frozen object."""

from __future__ import annotations

from dataclasses import dataclass, field

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.batching import BatchOptions
from pinnace.serving.model_config import ModelConfig, check_models, read_model_config


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is told at its start.

    Attributes:
        models: to serve; more may come from `model_config_file`.
        model_config_file: TensorFlow Serving's `models.config`.
        model_config_file_poll_s: seconds between looks at that file; 0 reads it once.
        host: address to listen on.
        rest_api_port: HTTP port; 0 takes a free one.
        grpc_port: gRPC port; 0 serves no gRPC; None takes 8500 if grpcio is installed and the port
            is free.
        tensor_content: answer gRPC predict with raw bytes in place of lists of values.
        workers: processes that answer.
        file_system_poll_s: seconds between looks for new versions; 0 looks once.
        max_load_retries: how often a version that failed to load is tried again.
        load_retry_s: seconds between these tries. A changed file is tried at once.
        allow_labels_for_unavailable_versions: let a label name a version that is not loaded.
        request_timeout_s: longest time from a parsed request to its answer.
        body_timeout_s: longest time for a body to arrive.
        drain_timeout_s: longest time that requests get to finish when the server stops.
        max_body_bytes: largest body, unpacked.
        max_waiting_runs: largest number of runs that wait for a thread, per model version.
        run_threads: threads per model version for runs that are too long for the event loop; 0 is
            one per core.
        inline_run_s: runs that take no longer, as measured before, run on the event loop.
        batching: how requests for one signature are joined; None joins none.
        checks_batches: compare the first joined batches with the same requests alone, and join no
            more if they differ.
        batching_per_model: let `batching_params.pbtxt` in a model's folder say it for the model.
        warmup_iterations: how often the warm-up requests of a version run; 0 runs none.
        cors: answer with CORS headers for any origin.
        metrics_path: where Prometheus reads; empty turns it off.
    """

    models: tuple[ModelConfig, ...] = ()
    model_config_file: str = ""
    model_config_file_poll_s: float = 0.0
    host: str = "0.0.0.0"
    rest_api_port: int = 8501
    grpc_port: int | None = None
    tensor_content: bool = False
    workers: int = 1
    file_system_poll_s: float = 1.0
    max_load_retries: int = 5
    load_retry_s: float = 60.0
    allow_labels_for_unavailable_versions: bool = False
    request_timeout_s: float = 30.0
    body_timeout_s: float = 30.0
    drain_timeout_s: float = 30.0
    max_body_bytes: int = 64 * 2**20
    max_waiting_runs: int = 1024
    run_threads: int = 0
    inline_run_s: float = 0.005
    batching: BatchOptions | None = field(default_factory=BatchOptions)
    checks_batches: bool = True
    batching_per_model: bool = False
    warmup_iterations: int = 1
    cors: bool = False
    metrics_path: str = "/monitoring/prometheus/metrics"

    def __post_init__(self) -> None:
        check_models(self.models)
        if not 0 <= self.rest_api_port <= 65535:
            raise InvalidArgumentError(
                f"rest_api_port must be from 0 to 65535, got {self.rest_api_port}"
            )
        for name in ("request_timeout_s", "body_timeout_s", "max_body_bytes", "max_waiting_runs"):
            if getattr(self, name) <= 0:
                raise InvalidArgumentError(f"{name} must be above 0, got {getattr(self, name)}")
        if self.metrics_path and not self.metrics_path.startswith("/"):
            raise InvalidArgumentError(f"metrics_path must begin with '/', got {self.metrics_path}")

    def read_models(self) -> tuple[ModelConfig, ...]:
        """The models to serve, those of the configuration file included.

        Raises:
            NotFoundError: there is no such file.
            InvalidArgumentError: the file cannot be understood, or there is nothing to serve.
        """
        configured = read_model_config(self.model_config_file) if self.model_config_file else ()
        models = check_models((*self.models, *configured))
        if not models:
            raise InvalidArgumentError("No model to serve: give --model NAME=PATH")
        return models
