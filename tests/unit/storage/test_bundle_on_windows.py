"""Windows does not replace mapped files: arrays from a bundle must not keep its file mapped."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.storage import bundle
from pinnace.storage.bundle import BundleReader
from pinnace.storage.bundle_writer import BundleWriter


def write(prefix: Path, value: float) -> None:
    with BundleWriter(prefix) as writer:
        writer.add("a", np.full((64, 64), value, np.float32))
        writer.add("empty", np.empty((0, 3), np.float32))


def holders(array: np.ndarray[Any, Any]) -> list[object]:
    """The array and the owners of its memory."""
    found: list[object] = [array]
    while found[-1] is not None:
        last = found[-1]
        found.append(getattr(last, "base", None) if isinstance(last, np.ndarray) else None)
    return found


@pytest.mark.parametrize("stays", [False, True])
def test_a_tensor_holds_its_file_only_where_that_can_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    monkeypatch.setattr(bundle, "_MAPPED_STAYS", stays)
    write(tmp_path / "b", 1.0)
    with BundleReader(tmp_path / "b") as reader:
        loaded = reader.read("a")
        assert reader.read("empty").shape == (0, 3)
        is_mapped = any(
            isinstance(one, mmap.mmap) or isinstance(getattr(one, "obj", None), mmap.mmap)
            for one in holders(loaded)
        )
        assert is_mapped is not stays
        write(tmp_path / "b", 2.0)  # over the loaded file
    np.testing.assert_array_equal(loaded, np.ones((64, 64), np.float32))
    with BundleReader(tmp_path / "b") as reader:
        np.testing.assert_array_equal(reader.read("a"), np.full((64, 64), 2, np.float32))
