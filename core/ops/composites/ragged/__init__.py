"""`tf.ragged`: tensors with rows of different lengths."""

from pinnace.ops.composites.ragged import methods as _methods  # noqa: F401 (binds them)
from pinnace.ops.composites.ragged.construction import constant as constant
from pinnace.ops.composites.ragged.construction import range as range
from pinnace.ops.composites.ragged.construction import (
    row_splits_to_segment_ids as row_splits_to_segment_ids,
)
from pinnace.ops.composites.ragged.construction import (
    segment_ids_to_row_splits as segment_ids_to_row_splits,
)
from pinnace.ops.composites.ragged.crossing import cross as cross
from pinnace.ops.composites.ragged.crossing import cross_hashed as cross_hashed
from pinnace.ops.composites.ragged.elementwise import map_flat_values as map_flat_values
from pinnace.ops.composites.ragged.gathering import boolean_mask as boolean_mask
from pinnace.ops.composites.ragged.shaping import stack as stack
from pinnace.ops.composites.ragged.stacking import (
    stack_dynamic_partitions as stack_dynamic_partitions,
)
