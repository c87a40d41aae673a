"""`tf.compat.v1.python_io`: TFRecord files."""

from pinnace.compat.v1.files import tf_record_iterator as tf_record_iterator
from pinnace.compat.v1.names import giver as _giver
from pinnace.compat.v1.names import lister as _lister

__getattr__ = _giver("tf.python_io", globals())
__dir__ = _lister("tf.python_io", globals())
