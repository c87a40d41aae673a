"""However a golden file is damaged, reading it succeeds or raises one clear error."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)
from pinnace.storage.bundle import BundleReader
from pinnace.storage.checksum import masked_crc32c
from pinnace.storage.table import read_table

GOLDEN = Path(__file__).parents[2] / "golden" / "bundles"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.index"))
PARTS = ["index", "data-00000-of-00001"]
EXPECTED = (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)


def _values(prefix: Path) -> dict[str, object]:
    reader = BundleReader(prefix)
    reader.verify_all()
    return {name: reader.read(name).tolist() for name in reader.keys()}  # noqa: SIM118 - no dict


def _copy(name: str, folder: Path) -> Path:
    for part in PARTS:
        shutil.copyfile(GOLDEN / f"{name}.{part}", folder / f"{name}.{part}")
    return folder / name


def _right_or_one_error(prefix: Path, name: str) -> None:
    try:
        values = _values(prefix)
    except EXPECTED as error:
        assert str(prefix) in str(error)  # noqa: PT017 - any of several, or none
    else:
        assert values == _values(GOLDEN / name)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["dtypes", "v1_style"])
def test_every_truncation_is_an_error(tmp_path: Path, name: str, part: str) -> None:
    prefix = _copy(name, tmp_path)
    path = tmp_path / f"{name}.{part}"
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(DataLossError) as caught:
            _values(prefix)
        assert str(prefix) in str(caught.value)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["dtypes", "v1_style"])
def test_every_flipped_bit_is_an_error_or_changes_nothing(
    tmp_path: Path, name: str, part: str
) -> None:
    prefix = _copy(name, tmp_path)
    path = tmp_path / f"{name}.{part}"
    data = path.read_bytes()
    for position in range(0, len(data) * 8, 3):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(damaged)
        _right_or_one_error(prefix, name)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_bytes_replaced_anywhere_are_an_error_or_change_nothing(
    tmp_path: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(NAMES))
    prefix = _copy(name, tmp_path)
    path = tmp_path / f"{name}.{data.draw(st.sampled_from(PARTS))}"
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=20))
    path.write_bytes(content)
    _right_or_one_error(prefix, name)


def _end_of_first_block(content: bytearray) -> int:
    """The offset of its type: after its only restart point, at 0."""
    return content.index(bytes.fromhex("0000000001000000")) + 8


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_index_that_lies_under_a_right_checksum_is_one_error_or_read(
    tmp_path: Path, data: st.DataObject
) -> None:
    """Damage by an attacker who knows the format: the checksum of the block matches."""
    prefix = _copy("dtypes", tmp_path)
    path = tmp_path / "dtypes.index"
    content = bytearray(path.read_bytes())
    block = _end_of_first_block(content)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, block - 1))] = data.draw(st.integers(0, 255))
    content[block + 1 : block + 5] = masked_crc32c(content[: block + 1]).to_bytes(4, "little")
    path.write_bytes(content)
    try:
        _values(prefix)
    except EXPECTED as error:
        assert str(prefix) in str(error)  # noqa: PT017 - any of several, or none


def test_the_forged_checksum_is_accepted(tmp_path: Path) -> None:
    """This shows that the test above reaches the code after the check."""
    _copy("dtypes", tmp_path)
    path = tmp_path / "dtypes.index"
    content = bytearray(path.read_bytes())
    block = _end_of_first_block(content)
    content[block + 1 : block + 5] = masked_crc32c(content[: block + 1]).to_bytes(4, "little")
    assert content == path.read_bytes()
    assert len(read_table(path)) == 8
