"""TensorFlow's `tf.types.experimental.distributed`: what strategies give, by their types."""

from pinnace.distribute.values import PerReplica as PerReplica
from pinnace.distribute.variables import MirroredVariable as Mirrored

__all__ = ["Mirrored", "PerReplica"]
