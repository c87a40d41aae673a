"""Ops on the components of ragged tensors: nested row splits, flat values.

The public functions are in `ops/composites/ragged`.
"""

from pinnace.ops.ragged import conversion as conversion
from pinnace.ops.ragged import crossing as crossing
from pinnace.ops.ragged import filling as filling
from pinnace.ops.ragged import gathering as gathering
from pinnace.ops.ragged import ranges as ranges
from pinnace.ops.ragged import variants as variants
