"""Values that are written in parts are read as a whole, and parts are checked."""

from pathlib import Path

import numpy as np
import pytest

from pinnace.framework.errors import AlreadyExistsError, InvalidArgumentError
from pinnace.storage.bundle import BundleReader
from pinnace.storage.bundle_writer import BundleWriter


def test_parts_in_several_files_are_one_value(tmp_path: Path) -> None:
    table = np.arange(1000, dtype=np.float32).reshape(10, 100)
    with BundleWriter(tmp_path / "x") as bundle:
        for start, count in ((0, 3), (3, 1), (4, 6)):
            bundle.begin_shard()
            part = table[start : start + count]
            bundle.add_part("table", table.shape, ((start, count), (0, 100)), part)
    reader = BundleReader(tmp_path / "x")
    assert reader.shards == 3
    np.testing.assert_array_equal(reader.read("table"), table)


def test_parts_must_fit_and_come_once(tmp_path: Path) -> None:
    with BundleWriter(tmp_path / "x") as bundle:
        bundle.add_part("a", [4], ((0, 2),), np.zeros(2))
        with pytest.raises(AlreadyExistsError):
            bundle.add_part("a", [4], ((0, 2),), np.zeros(2))
        for box in (((3, 2),), ((0, 3),), ()):
            with pytest.raises(InvalidArgumentError, match="no part"):
                bundle.add_part("a", [4], box, np.zeros(2))
        bundle.add_part("a", [4], ((2, 2),), np.ones(2))
    np.testing.assert_array_equal(BundleReader(tmp_path / "x").read("a"), [0, 0, 1, 1])
