"""CheckpointReader: the tensors of a checkpoint by their names, without objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.state_file import resolve
from pinnace.storage.bundle import BundleReader

if TYPE_CHECKING:
    import os

    from pinnace.framework.dtypes import DType


class CheckpointReader:
    """The tensors of a checkpoint.

    Args:
        path: the checkpoint, without the endings of its files.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: the file is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._bundle = BundleReader(path)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each tensor."""
        names = self._bundle.keys()
        return {name: list(self._bundle.entry(name).shape) for name in names}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The dtype of each tensor."""
        names = self._bundle.keys()
        return {name: self._bundle.entry(name).dtype for name in names}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of that name."""
        return tensor_str in self._bundle

    def get_tensor(self, tensor_str: str) -> Any:
        """The values of a tensor, which the caller may write to.

        Raises:
            NotFoundError: no tensor has that name.
            DataLossError: the file is damaged.
        """
        values = self._bundle.read(tensor_str)
        return values[()] if values.ndim == 0 else values.copy()

    def debug_string(self) -> bytes:
        """One line for each tensor: name, dtype, shape."""
        lines = []
        for name in self._bundle.keys():  # noqa: SIM118 (no dict)
            entry = self._bundle.entry(name)
            lines.append(f"{name} ({entry.dtype.name}) {list(entry.shape)}")
        return "\n".join(lines).encode()


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """The tensors of a checkpoint; of the newest, if a folder is given."""
    return CheckpointReader(resolve(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """The values of one tensor of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Name and shape of each tensor of a checkpoint, by name.

    Args:
        ckpt_dir_or_file: path of a checkpoint, or a folder, whose newest one is read.

    Returns:
        Pairs of a key, as `step/.ATTRIBUTES/VARIABLE_VALUE`, and the sizes of the axes.

    Raises:
        NotFoundError: there is no checkpoint.
        DataLossError: the file is damaged.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
