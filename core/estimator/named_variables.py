"""NamedVariables: a checkpoint of a model's variables under their own names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.checkpoint import CheckpointReader
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.variable import Variable
from pinnace.storage.bundle_writer import BundleWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


class NamedVariables:
    """The variables that a model function made, by name; a second one of a name is `name_1`.

    The model function runs anew for each mode and each call, so its objects cannot be found again
    by their place, as `train.Checkpoint` finds them; names can.

    Args:
        variables: in the order they were made.
    """

    def __init__(self, variables: Iterable[Variable]) -> None:
        self.by_name: dict[str, Variable] = {}
        for variable in variables:
            stem = variable.node_name
            name, number = stem, 0
            while name in self.by_name:
                number += 1
                name = f"{stem}_{number}"
            self.by_name[name] = variable
        with init_scope():
            # CheckpointManager increments this counter; the files are numbered by the global step.
            self.save_counter = Variable(0, trainable=False, dtype=dtypes.int64)

    def write(self, file_prefix: str, options: object = None) -> str:
        """Write all values and return the path."""
        del options
        with BundleWriter(file_prefix) as bundle:
            for name, variable in sorted(self.by_name.items()):
                bundle.add(name, np.asarray(variable.resource.read()))
        return file_prefix

    def read(self, path: str | os.PathLike[str], partial: bool = False) -> None:
        """Assign all variables from a checkpoint.

        Args:
            path: the checkpoint, without the endings of its files.
            partial: whether variables that are not in it stay as they are.

        Raises:
            NotFoundError: there is no such checkpoint, or a variable is not in it.
            InvalidArgumentError: a value has another shape than its variable.
        """
        reader = CheckpointReader(path)
        shapes = reader.get_variable_to_shape_map()
        missing = sorted(set(self.by_name) - set(shapes))
        if missing and not partial:
            raise NotFoundError(
                f"checkpoint {path} has no {', '.join(missing)}\n"
                f"  it has {', '.join(sorted(shapes)) or 'nothing'}\n"
                "  Try: another model_dir: this one was written by another model"
            )
        wrong = [
            f"{name}: {variable.shape.text} here, {shapes[name]} there"
            for name, variable in self.by_name.items()
            if name in shapes and not variable.shape.is_compatible_with(tuple(shapes[name]))
        ]
        if wrong:
            raise InvalidArgumentError(
                f"checkpoint {path} was written by another model\n  " + "\n  ".join(wrong)
            )
        for name, variable in self.by_name.items():
            if name in shapes:
                variable.assign(reader.get_tensor(name))
