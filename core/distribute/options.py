"""Options of runs and communication, stored without effect in a single process."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class RunOptions(NamedTuple):
    """Options of runs on TPUs; stored without effect.

    Attributes:
        experimental_enable_dynamic_batch_size: whether batches may be smaller.
        experimental_bucketizing_dynamic_shape: whether shapes are rounded up.
        experimental_xla_options: options of the compiler.
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


class CommunicationImplementation(Enum):
    """The implementation of communication; without effect in a single process."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


CollectiveCommunication = CommunicationImplementation


class CommunicationOptions:
    """Options of reductions over replicas; stored without effect.

    Args:
        bytes_per_pack: size of the packs of gradients; 0 leaves it open.
        timeout_seconds: how long to wait for another process.
        implementation: a CommunicationImplementation.

    Raises:
        ValueError: a size below 0, or another implementation.
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: Any = CommunicationImplementation.AUTO,
    ) -> None:
        if bytes_per_pack < 0:
            raise ValueError(f"Argument `bytes_per_pack` must be >=0, Received {bytes_per_pack}.")
        if isinstance(implementation, str):
            implementation = CommunicationImplementation(implementation.upper())
        if not isinstance(implementation, CommunicationImplementation):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                "implementation should be either `tf.distribute.experimental."
                f"CommunicationImplementation` or a string, got {implementation!r}"
            )
        self.bytes_per_pack = bytes_per_pack
        self.timeout_seconds = timeout_seconds
        self.implementation = implementation


class CollectiveHints(CommunicationOptions):
    """The older form of CommunicationOptions.

    Args:
        bytes_per_pack: size of the packs of gradients; 0 leaves it open.
        timeout_seconds: how long to wait for another process.
    """

    def __init__(self, bytes_per_pack: int = 0, timeout_seconds: float | None = None) -> None:
        super().__init__(bytes_per_pack, timeout_seconds)
