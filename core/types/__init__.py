"""`tf.types`."""

from pinnace.types import experimental as experimental
