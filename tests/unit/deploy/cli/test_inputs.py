"""The values of `--inputs`."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from pinnace.deploy.cli.inputs import example_of, fitted, random_input, read_inputs
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.specs import TensorSpec

FLOATS = TensorSpec([None, 3], "float32", "x")
TEXTS = TensorSpec([None], "string", "s")


def read(text: str, spec: TensorSpec, **options: Any) -> np.ndarray[Any, Any]:
    return read_inputs([f"x={text}"], {"x": spec}, "model", **options)["x"]


@given(hnp.arrays(np.float64, st.tuples(st.integers(0, 4), st.just(3)), elements=st.floats(-9, 9)))
def test_json_is_the_array_it_says(values: np.ndarray[Any, Any]) -> None:
    if values.size:
        found = read(json.dumps(values.tolist()), FLOATS)
        np.testing.assert_array_equal(found, values.astype(np.float32), strict=True)


def test_arrays_come_from_files(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "b.npz", one=values, two=values + 1)
    (tmp_path / "c.json").write_text(json.dumps(values.tolist()))
    np.savetxt(tmp_path / "d.csv", values, delimiter=",")
    np.savetxt(tmp_path / "e.txt", values)
    for name in ("a.npy", "b.npz[one]", "c.json", "d.csv", "e.txt"):
        np.testing.assert_array_equal(read(f"{tmp_path}/{name}", FLOATS), values, strict=True)
    with pytest.raises(InvalidArgumentError, match=r"it has: one, two"):
        read(f"{tmp_path}/b.npz", FLOATS)
    with pytest.raises(NotFoundError, match=r"missing\.npy"):
        read(f"{tmp_path}/missing.npy", FLOATS)


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(InvalidArgumentError, match="not a NumPy file"):
        read(f"{tmp_path}/a.npy", FLOATS)


@pytest.mark.parametrize(
    ("shape", "dtype", "scale", "wanted"),
    [
        ([None, 2, 4, 3], "uint8", "255", [10, 20, 30]),
        ([1, 2, 4, 3], "float32", "255", [10, 20, 30]),
        ([2, 4, 3], "float32", "1", [10 / 255, 20 / 255, 30 / 255]),
        ([None, 2, 4, 3], "float32", "-1", [10 / 127.5 - 1, 20 / 127.5 - 1, 30 / 127.5 - 1]),
    ],
)
def test_a_picture_becomes_its_values(
    shape: list[int], dtype: str, scale: str, wanted: list[float], tmp_path: Path
) -> None:
    Image.new("RGB", (4, 2), (10, 20, 30)).save(tmp_path / "a.png")
    found = read(f"{tmp_path}/a.png", TensorSpec(shape, dtype), scale=scale)
    assert found.shape[-3:] == (2, 4, 3)
    # float32 has 24 bits.
    np.testing.assert_allclose(found.reshape(-1, 3)[5], wanted, rtol=1e-6, atol=1e-7)


def test_a_picture_takes_the_size_and_colours_of_the_input(tmp_path: Path) -> None:
    Image.new("RGBA", (9, 5), (255, 0, 0, 255)).save(tmp_path / "a.png")
    path = f"{tmp_path}/a.png"
    assert read(path, TensorSpec([None, 6, 7, 1], "float32")).shape == (1, 6, 7, 1)
    assert read(path, TensorSpec([None, None, None, 3], "uint8")).shape == (1, 5, 9, 3)
    first = read(path, TensorSpec([1, 3, 8, 8], "uint8"))
    assert first.shape == (1, 3, 8, 8)
    assert first[0, :, 0, 0].tolist() == [255, 0, 0]
    encoded = read(path, TEXTS)
    with Image.open(io.BytesIO(encoded[0])) as picture:
        assert picture.size == (9, 5)


def test_text_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert read(f"{tmp_path}/a.txt", TEXTS).tolist() == [b"one", b"two"]
    assert read(f"{tmp_path}/a.txt", TensorSpec([], "string")).tolist() == b"one\ntwo\n"
    assert read('["a", "bc"]', TEXTS).tolist() == [b"a", b"bc"]
    assert read("hello there", TEXTS).tolist() == [b"hello there"]


def test_several_inputs_in_one_text() -> None:
    wanted = {"a": FLOATS, "b": TEXTS}
    found = read_inputs(["a=[[1, 2, 3]];b=['x;y=1']"], wanted, "model")
    assert found["a"].tolist() == [[1, 2, 3]]
    assert found["b"].tolist() == [b"x;y=1"]


def test_the_name_of_the_only_input_may_be_left_out() -> None:
    assert read_inputs(["np.ones((1, 3))"], {"x": FLOATS}, "m")["x"].tolist() == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("text", "spec", "words"),
    [
        ("[[1, 2]]", FLOATS, r"shape \[\?, 3\], got \[1, 2\]"),
        ("[[1, 2, 3], [4]]", FLOATS, "rows differ"),
        ("[1.5]", TensorSpec([1], "int32"), "would lose"),
        ("[300]", TensorSpec([1], "uint8"), "would lose"),
        ("[-1]", TensorSpec([1], "uint8"), "would lose"),
        ("NaN", TensorSpec([], "int32"), "would lose"),
        ('["a"]', FLOATS, "is float32"),
        ("[1, 2]", TEXTS, "is string"),
        ("file_that_is_not_there", FLOATS, "not allowed in an expression"),
        ("np.ones(6)", TensorSpec([2, 3], "float32"), r"Try: \.reshape\(2, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, spec: TensorSpec, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        read(text, spec)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidArgumentError, match=r"no input 'feature'; it has: features\n.*Try"):
        read_inputs(["feature=1"], {"features": FLOATS}, "model")


_SPECS = st.builds(
    TensorSpec,
    st.lists(st.none() | st.integers(1, 4), max_size=4),
    st.sampled_from(["float32", "float64", "int32", "uint8", "bool", "string", "bfloat16"]),
)


@given(_SPECS)
def test_what_is_offered_is_accepted(spec: TensorSpec) -> None:
    drawn = random_input(spec, np.random.default_rng(0))
    np.testing.assert_array_equal(fitted(drawn, spec, "x"), drawn, strict=True)
    assert drawn.dtype == spec.dtype.numpy
    # The example of an error message can be pasted.
    text = example_of({"x": spec}).removeprefix("--inputs ").strip("'")
    found = read_inputs([text], {"x": spec}, "model")["x"]
    assert found.dtype == spec.dtype.numpy
