"""`inference.GRPCInferenceService`: the Open Inference Protocol, with Triton's repository methods.

Source: docs/reference/serving_api.md 5.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.proto import inference_service_pb2 as pb
from pinnace.serving.errors import in_triton_words
from pinnace.serving.grpc.methods import answer, headers_of, parsed, refused
from pinnace.serving.grpc.shared_memory import SharedMemoryService
from pinnace.serving.messages.fields import parse, which_version
from pinnace.serving.messages.model_infer import Infer
from pinnace.serving.models.metadata import main_signature
from pinnace.serving.models.model_configuration import read_configuration
from pinnace.serving.models.version_statistics import stages, statistics_of
from pinnace.serving.models.versions import State
from pinnace.serving.requests.datatypes import datatype
from pinnace.serving.requests.infer_parameters import check_load, check_unload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.grpc.methods import Context, Methods
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.running.statistics import Duration

_NAME = "inference.GRPCInferenceService"
_EXTENSIONS = ("model_repository", "model_configuration", "classification", "statistics")


class InferenceService:
    """The methods of the service.

    Args:
        exchange: the exchange that answers.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._repository = exchange.repository

    def register(self, methods: Methods) -> None:
        """Add the methods of the service to those of a server."""
        methods.unary |= {
            f"/{_NAME}/ServerLive": self.server_live,
            f"/{_NAME}/ServerReady": self.server_ready,
            f"/{_NAME}/ModelReady": self.model_ready,
            f"/{_NAME}/ServerMetadata": self.server_metadata,
            f"/{_NAME}/ModelMetadata": self.model_metadata,
            f"/{_NAME}/ModelInfer": self.model_infer,
            f"/{_NAME}/RepositoryIndex": self.repository_index,
            f"/{_NAME}/RepositoryModelLoad": self.repository_model_load,
            f"/{_NAME}/RepositoryModelUnload": self.repository_model_unload,
            f"/{_NAME}/ModelConfig": self.model_config,
            f"/{_NAME}/ModelStatistics": self.model_statistics,
        }
        SharedMemoryService(self._exchange).register(methods)
        methods.streams[f"/{_NAME}/ModelStreamInfer"] = self.model_stream_infer

    async def server_live(self, _: bytes, __: Context) -> bytes:
        """Whether the server is live."""
        return pb.ServerLiveResponse(live=True).SerializeToString()

    async def server_ready(self, _: bytes, __: Context) -> bytes:
        """Whether every model has a ready version."""
        return pb.ServerReadyResponse(ready=self._repository.is_ready()).SerializeToString()

    async def model_ready(self, data: bytes, _: Context) -> bytes:
        """Whether a model is ready."""
        message = parse(pb.ModelReadyRequest, data)
        try:
            self._repository.get(which_version(message.name, message.version))
            is_ready = not self._repository.is_leaving
        except NotFoundError:
            is_ready = False
        return pb.ModelReadyResponse(ready=is_ready).SerializeToString()

    async def server_metadata(self, _: bytes, __: Context) -> bytes:
        """The metadata of this server: name, version, extensions."""
        response = pb.ServerMetadataResponse(
            name="pinnace", version=version("pinnace"), extensions=_EXTENSIONS
        )
        if self._exchange.settings.sequences.most:
            response.extensions.append("sequence")
        if self._exchange.regions is not None:
            response.extensions.append("system_shared_memory")
        return response.SerializeToString()

    async def model_metadata(self, data: bytes, _: Context) -> bytes:
        """Names, datatypes and shapes of a model's inputs and outputs."""
        message = parse(pb.ModelMetadataRequest, data)
        servable = self._served(message.name, message.version)
        statuses = self._repository.all_statuses(servable.name)
        loaded = sorted(s.version for s in statuses if s.state is State.AVAILABLE)
        response = pb.ModelMetadataResponse(
            name=servable.name, versions=list(map(str, loaded)), platform=servable.model.platform
        )
        signature = main_signature(servable)[1]
        _describe(response.inputs, signature.inputs)
        _describe(response.outputs, signature.outputs)
        return response.SerializeToString()

    async def model_infer(self, data: bytes, context: Context) -> bytes:
        """Run a signature."""
        message = await parsed(pb.ModelInferRequest, data)
        which = which_version(message.model_name, message.model_version)
        return await answer(self._exchange, Infer(message), which, data, context)

    async def model_stream_infer(self, context: Context) -> None:
        """The same for each message of a stream; errors are messages of the stream."""
        while (data := await context.read()) is not None:
            response = pb.ModelStreamInferResponse()
            try:
                response.infer_response.MergeFromString(await self.model_infer(data, context))
            except Exception as error:
                # The stream continues, and its client must know which request failed.
                response.error_message = refused(error).body.decode("utf-8", "replace")
                with suppress(DecodeError):
                    response.infer_response.id = pb.ModelInferRequest.FromString(data).id
            await context.write(response.SerializeToString())

    async def model_config(self, data: bytes, _: Context) -> bytes:
        """The model in Triton's configuration."""
        message = parse(pb.ModelConfigRequest, data)
        servable = self._served(message.name, message.version)
        found = read_configuration(servable)
        config = pb.ModelConfig(
            name=found.name,
            platform=found.platform,
            backend="pinnace",
            max_batch_size=found.max_batch_size,
        )
        for tensors, rows in ((found.inputs, config.input), (found.outputs, config.output)):
            for tensor in tensors:
                kind = pb.DataType.Value(tensor.data_type)
                rows.add(name=tensor.name, data_type=kind, dims=tensor.dims)
        if found.sequence_idle_us:
            idle_us = found.sequence_idle_us
            config.sequence_batching.max_sequence_idle_microseconds = idle_us
        return pb.ModelConfigResponse(config=config).SerializeToString()

    async def model_statistics(self, data: bytes, _: Context) -> bytes:
        """The statistics of one version, of all of a model, or of all models."""
        message = parse(pb.ModelStatisticsRequest, data)
        which = which_version(message.name, message.version)
        response = pb.ModelStatisticsResponse()
        for servable in statistics_of(self._repository, which):
            counted = servable.statistics
            row = response.model_stats.add(
                name=servable.name,
                version=str(servable.version),
                last_inference=round(counted.last_at * 1e3),
                inference_count=counted.rows,
                execution_count=counted.runs,
            )
            for stage, duration in stages(counted).items():
                getattr(row.inference_stats, stage).MergeFrom(_duration(duration))
            for size, duration in sorted(counted.batches.items()):
                row.batch_stats.add(batch_size=size, compute_infer=_duration(duration))
        return response.SerializeToString()

    def _served(self, name: str, version: str) -> Servable:
        try:
            return self._repository.get(which_version(name, version))
        except NotFoundError as error:
            raise in_triton_words(error) from None

    async def repository_index(self, data: bytes, _: Context) -> bytes:
        """Every version of every model, with its state."""
        message = parse(pb.RepositoryIndexRequest, data)
        _check_repository(message.repository_name)
        only_ready = message.ready
        response = pb.RepositoryIndexResponse()
        for name in self._repository.names():
            for status in self._repository.all_statuses(name):
                is_ready = status.state is State.AVAILABLE
                if is_ready or not only_ready:
                    response.models.add(
                        name=name,
                        version=str(status.version),
                        state="READY" if is_ready else "UNAVAILABLE",
                        reason=status.message,
                    )
        return response.SerializeToString()

    async def repository_model_load(self, data: bytes, context: Context) -> bytes:
        """Serve an unloaded model again, or check for its new versions."""
        self._exchange.control.check(headers_of(context.invocation_metadata()))
        message = parse(pb.RepositoryModelLoadRequest, data)
        _check_repository(message.repository_name)
        check_load(_parameters(message.parameters))
        await asyncio.to_thread(self._repository.load, message.model_name)
        return pb.RepositoryModelLoadResponse().SerializeToString()

    async def repository_model_unload(self, data: bytes, context: Context) -> bytes:
        """Stop serving a model until it is loaded again."""
        self._exchange.control.check(headers_of(context.invocation_metadata()))
        message = parse(pb.RepositoryModelUnloadRequest, data)
        _check_repository(message.repository_name)
        check_unload(_parameters(message.parameters))
        await asyncio.to_thread(self._repository.unload, message.model_name)
        return pb.RepositoryModelUnloadResponse().SerializeToString()


def _describe(
    rows: RepeatedCompositeFieldContainer[pb.ModelMetadataResponse.TensorMetadata],
    specs: Mapping[str, TensorSpec],
) -> None:
    for name, spec in specs.items():
        sizes = [-1 if size is None else size for size in spec.shape.dims or ()]
        rows.add(name=name, datatype=datatype(spec.dtype), shape=sizes)


def _duration(duration: Duration) -> pb.StatisticDuration:
    return pb.StatisticDuration(count=duration.count, ns=duration.ns)


def _parameters(message: Mapping[str, pb.ModelRepositoryParameter]) -> dict[str, object]:
    found = {}
    for name, parameter in message.items():
        kind = parameter.WhichOneof("parameter_choice")
        found[name] = None if kind is None else getattr(parameter, kind)
    return found


def _check_repository(name: str) -> None:
    """Check that a request does not name one of several repositories.

    Raises:
        InvalidArgumentError: it names one.
    """
    if name:
        raise InvalidArgumentError(
            f"repository_name must be empty, since there is one repository; got '{name[:80]}'"
        )
