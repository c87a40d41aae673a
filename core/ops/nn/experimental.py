"""The names of `tf.nn.experimental`."""

from pinnace.ops.nn.dropouts import general_dropout as general_dropout
from pinnace.ops.nn.dropouts import stateless_dropout as stateless_dropout

__all__ = ["general_dropout", "stateless_dropout"]
