"""`tf_keras.__internal__`: functions with which packages register their own classes."""

from __future__ import annotations

from types import SimpleNamespace


def register_symbolic_tensor_type(kind: type) -> None:
    """Does nothing: Keras here checks the attributes of objects, not their class.

    Args:
        kind: a class whose objects stand for tensors.
    """
    del kind


utils = SimpleNamespace(register_symbolic_tensor_type=register_symbolic_tensor_type)
__all__ = ["utils"]
