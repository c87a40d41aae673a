"""`tf.signal`: Fourier and cosine transforms, frames, windows."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.signal.cosine import *
from pinnace.ops.signal.fourier import *
from pinnace.ops.signal.frames import *
from pinnace.ops.signal.mel import *
from pinnace.ops.signal.windows import *
