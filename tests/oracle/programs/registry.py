"""What TensorFlow's registry of gradients says of each op; only TensorFlow can be asked."""

from typing import Any


def classes(_: Any, __: Any, names: Any) -> Any:
    """One letter for each op: `g` has a function, `n` gives None, `u` has nothing, `?` is no op."""
    import numpy as np
    from tensorflow.python.framework import op_def_registry, ops

    registry = ops.gradient_registry
    known = frozenset(registry.list())
    found = []
    for name in (one.decode() for one in names.numpy()):
        if name in known:
            found.append(b"n" if registry.lookup(name) is None else b"g")
        else:
            found.append(b"?" if op_def_registry.get(name) is None else b"u")
    return np.array(found, object)
