"""Labels: given, or found in the model's folder; and their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pinnace.deploy.program.labels import labels_of
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from pathlib import Path

OUTPUTS = {
    "scores": TensorSpec([None, 3]),
    "boxes": TensorSpec([None, 4]),
    "names": TensorSpec([None, 3], dtypes.string),
}


@pytest.mark.parametrize("place", [".", "assets", "assets.extra"])
def test_those_of_the_folder(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir(exist_ok=True)
    (tmp_path / place / "labels.txt").write_bytes("\ufeffcat\r\ndog \r\n\r\nzebra\r\n\n".encode())
    found = labels_of(None, str(tmp_path), OUTPUTS)
    assert found == {"boxes": ("cat", "dog", "", "zebra")}


def test_a_file_of_the_folder_about_something_else(tmp_path: Path) -> None:
    assert labels_of(None, tmp_path, OUTPUTS) == {}
    (tmp_path / "labels.txt").write_text("a\nb")
    assert labels_of(None, tmp_path, OUTPUTS) == {}
    (tmp_path / "labels.txt").write_bytes(b"\xff\xfe\xff")
    assert labels_of(None, tmp_path, OUTPUTS) == {}


def test_those_that_are_given(tmp_path: Path) -> None:
    file = tmp_path / "any name"
    file.write_text("a\nb\nc\n")
    wanted = {"scores": ("a", "b", "c")}
    for given in (file, str(file), ["a", "b", "c"], {"scores": file}, {"scores": ("a", "b", "c")}):
        told: Any = given
        assert labels_of(told, None, OUTPUTS) == wanted


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a", "b"], "2 labels .a, b..*no output whose last axis has as many"),
        ({"scores": ["a"]}, r"1 labels.*scores float32\[\?, 3\]"),
        ({"other": ["a"]}, "for the output 'other'; there are scores, boxes, names"),
        ([1, 2, 3], "labels must be strings"),
    ],
)
def test_labels_that_do_not_fit(given: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        labels_of(given, None, OUTPUTS)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="labels"):
        labels_of(tmp_path / "labels", None, OUTPUTS)
