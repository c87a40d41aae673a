"""Values made of tensors: arrays, ragged and sparse tensors, indexed slices."""

from pinnace.framework.composite import kept_later as _kept_later
from pinnace.ops.composites import dispatching as _dispatching  # noqa: F401 (for what it installs)

_kept_later.add(f"{__name__}.ragged.spec", f"{__name__}.sparse.tensor")
