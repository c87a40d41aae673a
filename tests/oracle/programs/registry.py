"""The entry of each op in TensorFlow's registry of gradients; runs only in TensorFlow."""

from typing import Any


def classes(_: Any, __: Any, names: Any) -> Any:
    """A letter for each op: `g` has a function, `n` gives None, `u` has no entry, `?` is no op."""
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
