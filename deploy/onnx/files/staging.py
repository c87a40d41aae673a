"""Staging: the file is written and checked under a hidden name, then renamed or removed."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import onnx

from pinnace.deploy.onnx.files.outline import outline
from pinnace.deploy.onnx.files.streaming import LIMIT, Draft, tensors_of, write_aside, write_whole
from pinnace.framework.errors import FailedPreconditionError, NotFoundError, UnimplementedError
from pinnace.storage.atomic import create_sibling, refuse_device, sync_file, sync_folder
from pinnace.storage.system_errors import explained


class Stage:
    """A staged ONNX file, and the file with its weights if there is one.

    Args:
        target: the final path; None if the file is only used here.
        folder: the folder for the staged files.

    Attributes:
        model: the path of the file.
        data: the path of the weights' file; None if the weights are in the model's.
    """

    def __init__(self, target: Path | None, folder: Path) -> None:
        self.target = target
        self._folder = folder
        self._made: list[Path] = []
        self.model = folder / "nothing"
        self.data: Path | None = None

    @property
    def location(self) -> str:
        """The name of the weights' file, if there will be one."""
        return f"{'model.onnx' if self.target is None else self.target.name}.data"

    def write(self, draft: Draft, *, aside: bool) -> None:
        """Write the model.

        Args:
            draft: the model.
            aside: whether to write the weights to a file of their own.
        """
        if aside:
            message: list[onnx.ModelProto] = []
            self.data = self._file(
                lambda file: message.append(write_aside(file, draft, self.location))
            )
            (model,) = message
            self.model = self._file(
                lambda file: file.write(model.SerializeToString(deterministic=True))
            )
        else:
            self.model = self._file(lambda file: write_whole(file, draft))

    def replace(self, content: bytes) -> None:
        """Replace the file by another one with its weights inside."""
        self.model, self.data = self._file(lambda file: file.write(content)), None

    def outline(self) -> tuple[Path, onnx.ModelProto]:
        """A small file that refers to the weights where they are now, for checkers."""
        if self.data is None:
            model = outline(self.model, self.model.name)
        else:
            model = onnx.load(self.model, load_external_data=False)
            for tensor in tensors_of(model.graph):
                for entry in tensor.external_data:
                    if entry.key == "location":
                        entry.value = self.data.name
        content = model.SerializeToString(deterministic=True)
        return self._file(lambda file: file.write(content)), model

    @property
    def size(self) -> int:
        """The bytes of both files."""
        files = [self.model] if self.data is None else [self.model, self.data]
        return sum(file.stat().st_size for file in files)

    def message(self) -> onnx.ModelProto:
        """The model with its weights."""
        model = onnx.load(self.model, load_external_data=False)
        if self.data is not None:
            for tensor in tensors_of(model.graph):
                _take_in(tensor, self.data)
        return model

    def content(self) -> bytes:
        """The bytes of a single file with the weights."""
        if self.data is None:
            return self.model.read_bytes()
        return self.message().SerializeToString(deterministic=True)

    def commit(self) -> None:
        """Rename the files to their final names."""
        if self.target is None:
            return
        target = self.target
        with explained("write", target, "what was there is unchanged"):
            for file in (self.model, self.data):
                if file is not None:
                    with file.open("r+b") as opened:
                        sync_file(opened)
            with contextlib.suppress(FileNotFoundError):
                self.model.chmod(stat.S_IMODE(target.stat().st_mode))
            if self.data is not None:
                # Readers must not find the weights of another model between the two steps.
                target.unlink(missing_ok=True)
                self.data.replace(target.with_name(self.location))
            self.model.replace(target)
            sync_folder(target.parent)

    def discard(self) -> None:
        """Remove the uncommitted files."""
        for path in self._made:
            path.unlink(missing_ok=True)

    def _file(self, write: Callable[[IO[bytes]], object]) -> Path:
        with explained("write", self.target or "the model", "what was there is unchanged"):
            path, file = create_sibling(self._folder / "model.onnx")
            self._made.append(path)
            with file:
                write(file)
        return path


@contextlib.contextmanager
def staged(path: str | os.PathLike[str] | None) -> Iterator[Stage]:
    """Stage a file for `path`; if the block raises, no file is left.

    Args:
        path: the file; None for one that is removed afterwards.

    Raises:
        NotFoundError: the folder of `path` does not exist.
        FailedPreconditionError: `path` is a folder, or a device.
        PermissionDeniedError: the folder is not writable.
        ResourceExhaustedError: the disk is full.
    """
    if path is None:
        with tempfile.TemporaryDirectory(prefix="pinnace-onnx-") as folder:
            yield Stage(None, Path(folder))
        return
    target = check_target(path)
    stage = Stage(target, target.parent)
    try:
        yield stage
    finally:
        stage.discard()


def check_target(path: str | os.PathLike[str]) -> Path:
    """The resolved path of a file, after checks that it can be written.

    Raises:
        NotFoundError: its folder does not exist.
        FailedPreconditionError: it is a folder, or a device.
    """
    target = Path(os.path.realpath(path))
    refuse_device(target)
    if target.is_dir():
        raise FailedPreconditionError(f"export: {os.fspath(path)} is a folder, must be a file")
    if not target.parent.is_dir():
        raise NotFoundError(
            f"export: cannot write {os.fspath(path)}: the folder {target.parent} does not exist"
        )
    return target


def _take_in(tensor: onnx.TensorProto, data: Path) -> None:
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return
    facts = {entry.key: entry.value for entry in tensor.external_data}
    with data.open("rb") as file:
        file.seek(int(facts["offset"]))
        tensor.raw_data = file.read(int(facts["length"]))
    tensor.ClearField("data_location")
    del tensor.external_data[:]


def refuse_size(size: int, what: str, advice: str) -> None:
    """Refuse a size of more than 2 GiB, the limit of a message.

    Raises:
        UnimplementedError: `size` is larger.
    """
    if size >= LIMIT:
        raise UnimplementedError(
            f"export: the model has {size / 1e9:.1f} GB of weights; {what} holds at most 2 GiB\n"
            f"  Try: {advice}"
        )
