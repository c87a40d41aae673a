"""Triton's methods of `inference.GRPCInferenceService` for shared memory.

Source: docs/reference/serving_api.md 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.proto import inference_service_pb2 as pb
from pinnace.serving.messages.fields import parse
from pinnace.serving.requests.regions import no_gpu, no_regions

if TYPE_CHECKING:
    from pinnace.serving.grpc.methods import Context, Methods
    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.requests.regions import Regions

_SERVICE = "/inference.GRPCInferenceService/"


class SharedMemoryService:
    """The methods.

    Args:
        exchange: the exchange with the regions, if the server has any.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def register(self, methods: Methods) -> None:
        """Add the methods to those of a server."""
        methods.unary |= {
            f"{_SERVICE}SystemSharedMemoryStatus": self.system_status,
            f"{_SERVICE}SystemSharedMemoryRegister": self.system_register,
            f"{_SERVICE}SystemSharedMemoryUnregister": self.system_unregister,
            # For these calls, an empty message is the correct status and the correct reply.
            f"{_SERVICE}CudaSharedMemoryStatus": self.cuda_nothing,
            f"{_SERVICE}CudaSharedMemoryUnregister": self.cuda_nothing,
            f"{_SERVICE}CudaSharedMemoryRegister": self.cuda_register,
        }

    @property
    def _regions(self) -> Regions:
        found = self._exchange.regions
        if found is None:
            raise no_regions()
        return found

    async def system_status(self, data: bytes, _: Context) -> bytes:
        """The registered regions, or one of them."""
        message = parse(pb.SystemSharedMemoryStatusRequest, data)
        response = pb.SystemSharedMemoryStatusResponse()
        for one in self._regions.named(message.name):
            row = response.regions[one.name]
            row.name, row.key, row.offset, row.byte_size = (
                one.name,
                one.key,
                one.offset,
                one.byte_size,
            )
        return response.SerializeToString()

    async def system_register(self, data: bytes, _: Context) -> bytes:
        """Register a part of a shared memory object under a name."""
        message = parse(pb.SystemSharedMemoryRegisterRequest, data)
        self._regions.register(message.name, message.key, message.offset, message.byte_size)
        return pb.SystemSharedMemoryRegisterResponse().SerializeToString()

    async def system_unregister(self, data: bytes, _: Context) -> bytes:
        """Unregister all regions, or one; an unknown name is not an error."""
        self._regions.unregister(parse(pb.SystemSharedMemoryUnregisterRequest, data).name)
        return pb.SystemSharedMemoryUnregisterResponse().SerializeToString()

    async def cuda_nothing(self, _: bytes, __: Context) -> bytes:
        """An empty list, since models run on the CPU."""
        self._regions  # noqa: B018 (refuses if shared memory is disabled)
        return b""

    async def cuda_register(self, data: bytes, _: Context) -> bytes:
        """Refused, since there is no GPU."""
        self._regions  # noqa: B018 (see above)
        name = parse(pb.SystemSharedMemoryStatusRequest, data).name  # which has the same field
        raise no_gpu(name)
