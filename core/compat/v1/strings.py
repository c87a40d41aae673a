"""`tf.compat.v1.strings`: splitting returns sparse tensors."""

from pinnace.compat.v1.names import giver as _giver
from pinnace.compat.v1.names import lister as _lister
from pinnace.compat.v1.texts import strings_split as split

__getattr__ = _giver("tf.strings", globals())
__dir__ = _lister("tf.strings", globals())
__all__ = ["split"]
