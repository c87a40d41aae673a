"""`tf.types.experimental.distributed`: types of strategies' values."""

from pinnace.distribute.values import PerReplica as PerReplica
from pinnace.distribute.variables import MirroredVariable as Mirrored

__all__ = ["Mirrored", "PerReplica"]
