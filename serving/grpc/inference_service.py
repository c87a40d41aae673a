"""`inference.GRPCInferenceService`: the Open Inference Protocol, with Triton's repository methods.

Source: docs/reference/serving_api.md 5.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING

from pinnace.framework.errors import NotFoundError
from pinnace.proto import inference_service_pb2 as pb
from pinnace.serving.grpc.methods import answer, headers_of, parsed
from pinnace.serving.messages.fields import parse, which_version
from pinnace.serving.messages.model_infer import Infer
from pinnace.serving.models.metadata import main_signature
from pinnace.serving.models.versions import State
from pinnace.serving.requests.datatypes import datatype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.grpc.methods import Context, Methods
    from pinnace.serving.requests.exchange import Exchange

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
        }

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
        return response.SerializeToString()

    async def model_metadata(self, data: bytes, _: Context) -> bytes:
        """Names, datatypes and shapes of a model's inputs and outputs."""
        message = parse(pb.ModelMetadataRequest, data)
        servable = self._repository.get(which_version(message.name, message.version))
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
        message = await parsed(pb.ModelInferRequest, data)
        which = which_version(message.model_name, message.model_version)
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

    async def repository_model_load(self, data: bytes, context: Context) -> bytes:
        """Serve a model again that was unloaded, or look for its new versions."""
        self._exchange.control.check(headers_of(context.invocation_metadata()))
        message = parse(pb.RepositoryModelLoadRequest, data)
        await asyncio.to_thread(self._repository.load, message.model_name)
        return pb.RepositoryModelLoadResponse().SerializeToString()

    async def repository_model_unload(self, data: bytes, context: Context) -> bytes:
        """Stop serving a model until it is loaded again."""
        self._exchange.control.check(headers_of(context.invocation_metadata()))
        message = parse(pb.RepositoryModelUnloadRequest, data)
        await asyncio.to_thread(self._repository.unload, message.model_name)
        return pb.RepositoryModelUnloadResponse().SerializeToString()


def _describe(
    rows: RepeatedCompositeFieldContainer[pb.ModelMetadataResponse.TensorMetadata],
    specs: Mapping[str, TensorSpec],
) -> None:
    for name, spec in specs.items():
        sizes = [-1 if size is None else size for size in spec.shape.dims or ()]
        rows.add(name=name, datatype=datatype(spec.dtype), shape=sizes)
