"""Values made of tensors: arrays, ragged and sparse tensors, indexed slices."""

from pinnace.ops import ragged as _ragged  # noqa: F401 (registers its ops)
from pinnace.ops import sparse as _sparse  # noqa: F401 (registers its ops)
from pinnace.ops.composites import dispatching as _dispatching  # noqa: F401 (for what it installs)
