"""`tf.audio`: sounds and their spectra."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.audio.spectra import *
from pinnace.ops.audio.waves import *
