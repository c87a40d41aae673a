"""`tf_keras.__internal__`: what packages tell Keras about classes of their own."""

from __future__ import annotations

from types import SimpleNamespace


def register_symbolic_tensor_type(kind: type) -> None:
    """Have no effect: Keras here asks objects what they are, not their class.

    Args:
        kind: a class whose objects stand for tensors.
    """
    del kind


utils = SimpleNamespace(register_symbolic_tensor_type=register_symbolic_tensor_type)
__all__ = ["utils"]
