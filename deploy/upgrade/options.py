"""The options of an upgrade."""

from __future__ import annotations

from dataclasses import dataclass

TENSORFLOW = "tensorflow"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the rewriting.

    Attributes:
        safety: whether to keep all names, and import version 1 instead.
        upgrade_version_1_imports: whether `import tensorflow.compat.v1 as tf` is a program of
            version 1 too, and becomes `import tensorflow as tf`.
        module: the package that programs import instead of TensorFlow: `tensorflow` itself, or a
            package with its names, such as `pinnace`.
    """

    safety: bool = False
    upgrade_version_1_imports: bool = True
    module: str = TENSORFLOW

    def __post_init__(self) -> None:
        if not all(part.isidentifier() for part in self.module.split(".")):
            raise ValueError(f"module must be a dotted module name, got {self.module!r}")
