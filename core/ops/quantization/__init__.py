"""`tf.quantization`: floats rounded to or stored as small integers."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.quantization.integers import *
from pinnace.ops.quantization.joining import *
from pinnace.ops.quantization.round_trip import *
from pinnace.ops.quantization.simulated import *
