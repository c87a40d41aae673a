"""Arrays: creation, shapes, joining, splitting, selection; names at TensorFlow's top level."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.array.broadcasting import *
from pinnace.ops.array.casting import *
from pinnace.ops.array.constants import *
from pinnace.ops.array.duplicates import *
from pinnace.ops.array.gathering import *
from pinnace.ops.array.identities import *
from pinnace.ops.array.indicators import *
from pinnace.ops.array.joining import *
from pinnace.ops.array.masking import *
from pinnace.ops.array.padding import *
from pinnace.ops.array.partitioning import *
from pinnace.ops.array.permutations import *
from pinnace.ops.array.reshaping import *
from pinnace.ops.array.saturation import *
from pinnace.ops.array.scattering import *
from pinnace.ops.array.selecting import *
from pinnace.ops.array.shapes import *
from pinnace.ops.array.slicing import *
from pinnace.ops.array.sorting import *
from pinnace.ops.array.space_depth import *
from pinnace.ops.array.tiling import *
