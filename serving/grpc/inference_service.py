"""`inference.GRPCInferenceService`: the Open Inference Protocol, with Triton's repository methods.

Source: SERVING_API.md 5.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING

import grpc

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.proto import inference_service_pb2 as pb
from pinnace.serving.datatypes import datatype
from pinnace.serving.grpc.calls import answer, method
from pinnace.serving.grpc.inference import Infer
from pinnace.serving.grpc.messages import parse
from pinnace.serving.handlers import main_signature
from pinnace.serving.repository import Which
from pinnace.serving.versions import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.exchange import Exchange
    from pinnace.serving.grpc.calls import Context

_NAME = "inference.GRPCInferenceService"
_EXTENSIONS = ("model_repository",)


class InferenceService:
    """The methods of the service.

    Args:
        exchange: that answers.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._repository = exchange.repository

    def handler(self) -> grpc.GenericRpcHandler:
        """The service, for a gRPC server."""
        return grpc.method_handlers_generic_handler(
            _NAME,
            {
                "ServerLive": method(self.server_live),
                "ServerReady": method(self.server_ready),
                "ModelReady": method(self.model_ready),
                "ServerMetadata": method(self.server_metadata),
                "ModelMetadata": method(self.model_metadata),
                "ModelInfer": method(self.model_infer),
                "RepositoryIndex": method(self.repository_index),
                "RepositoryModelLoad": method(self.repository_model_load),
                "RepositoryModelUnload": method(self.repository_model_unload),
            },
        )

    async def server_live(self, _: bytes, __: Context) -> bytes:
        """Whether the server answers at all."""
        return pb.ServerLiveResponse(live=True).SerializeToString()

    async def server_ready(self, _: bytes, __: Context) -> bytes:
        """Whether every model has a version that answers."""
        return pb.ServerReadyResponse(ready=self._repository.is_ready()).SerializeToString()

    async def model_ready(self, data: bytes, _: Context) -> bytes:
        """Whether a model answers."""
        message = parse(pb.ModelReadyRequest, data)
        try:
            self._repository.get(_which(message.name, message.version))
            is_ready = True
        except NotFoundError:
            is_ready = False
        return pb.ModelReadyResponse(ready=is_ready).SerializeToString()

    async def server_metadata(self, _: bytes, __: Context) -> bytes:
        """What this server is and can do."""
        response = pb.ServerMetadataResponse(
            name="pinnace", version=version("pinnace"), extensions=_EXTENSIONS
        )
        return response.SerializeToString()

    async def model_metadata(self, data: bytes, _: Context) -> bytes:
        """Names, datatypes and shapes of a model's inputs and outputs."""
        message = parse(pb.ModelMetadataRequest, data)
        servable = self._repository.get(_which(message.name, message.version))
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
        """Run one signature."""
        message = parse(pb.ModelInferRequest, data)
        which = _which(message.model_name, message.model_version)
        return await answer(self._exchange, Infer(message), which, data, context)

    async def repository_index(self, data: bytes, _: Context) -> bytes:
        """Every version of every model, and where it stands."""
        only_ready = parse(pb.RepositoryIndexRequest, data).ready
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

    async def repository_model_load(self, data: bytes, _: Context) -> bytes:
        """Serve a model again that was unloaded, or look for its new versions."""
        message = parse(pb.RepositoryModelLoadRequest, data)
        await asyncio.to_thread(self._repository.load, message.model_name)
        return pb.RepositoryModelLoadResponse().SerializeToString()

    async def repository_model_unload(self, data: bytes, _: Context) -> bytes:
        """Stop serving a model until it is loaded again."""
        message = parse(pb.RepositoryModelUnloadRequest, data)
        await asyncio.to_thread(self._repository.unload, message.model_name)
        return pb.RepositoryModelUnloadResponse().SerializeToString()


def _which(name: str, number: str) -> Which:
    if not number:
        return Which(name)
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise InvalidArgumentError(f"model_version must be a number, got '{number[:40]}'")
    return Which(name, int(number))


def _describe(
    rows: RepeatedCompositeFieldContainer[pb.ModelMetadataResponse.TensorMetadata],
    specs: Mapping[str, TensorSpec],
) -> None:
    for name, spec in specs.items():
        sizes = [-1 if size is None else size for size in spec.shape.dims or ()]
        rows.add(name=name, datatype=datatype(spec.dtype), shape=sizes)
