"""Values made of tensors: arrays, ragged and sparse tensors, indexed slices."""

from pinnace.ops.composites import dispatching as _dispatching  # noqa: F401 (for what it installs)
