"""`tf.compat.v1.io`: TFRecord files."""

from pinnace.compat.v1.files import tf_record_iterator as tf_record_iterator
from pinnace.compat.v1.names import giver as _giver
from pinnace.compat.v1.names import lister as _lister

__getattr__ = _giver("tf.io", globals())
__dir__ = _lister("tf.io", globals())
