"""Ops on the components of sparse tensors: indices, values, dense shape.

The public functions are in `ops/composites/sparse`.
"""

from pinnace.ops.sparse import arithmetic as arithmetic
from pinnace.ops.sparse import counting as counting
from pinnace.ops.sparse import crossing as crossing
from pinnace.ops.sparse import density as density
from pinnace.ops.sparse import distances as distances
from pinnace.ops.sparse import filling as filling
from pinnace.ops.sparse import joining as joining
from pinnace.ops.sparse import order as order
from pinnace.ops.sparse import products as products
from pinnace.ops.sparse import reduction as reduction
from pinnace.ops.sparse import segments as segments
from pinnace.ops.sparse import serializing as serializing
from pinnace.ops.sparse import sets as sets
from pinnace.ops.sparse import slicing as slicing
