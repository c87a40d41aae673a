"""Floats as if they were small integers, and as such: `tf.quantization`."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.quantization.eight_bit_layers import *
from pinnace.ops.quantization.eight_bit_products import *
from pinnace.ops.quantization.integers import *
from pinnace.ops.quantization.joining import *
from pinnace.ops.quantization.requantizing import *
from pinnace.ops.quantization.round_trip import *
from pinnace.ops.quantization.simulated import *
from pinnace.ops.quantization.uniform import *
