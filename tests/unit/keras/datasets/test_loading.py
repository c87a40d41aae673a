"""keras.datasets: the files' contents, in Keras's order, dtypes and folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import downloads
from support import dataset_files

if TYPE_CHECKING:
    from pathlib import Path

datasets = tf.keras.datasets


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like Keras's; generated files have other digests than Keras's."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(downloads, "_has_digest", lambda *_: True)
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


def order(count: int, seed: int = 113) -> list[int]:
    """Keras's order of this number of rows."""
    found: list[int] = np.random.RandomState(seed).permutation(count).tolist()
    return found


def test_every_dataset_is_loaded_from_its_place(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(downloads, "_has_digest", lambda *_: True)
    dataset_files.write_all(tmp_path)
    found = dataset_files.answers(datasets)
    with np.load(tmp_path / "datasets" / "mnist.npz") as made:
        wanted = [dataset_files.told(made[name]) for name in made.files]
        assert found["mnist {}"] == [wanted[0], wanted[2], wanted[1], wanted[3]]
    assert (tmp_path / "datasets" / "cifar-100-python-target" / "cifar-100-python").is_dir()
    # As in Keras 3.15: classes of CIFAR-10 are uint8, those of CIFAR-100 int64.
    kinds = {name: [each[0] for each in found[f"{name} {{}}"]] for name in dataset_files.CALLS}
    assert kinds["cifar10"] == ["uint8"] * 4
    assert kinds["cifar100"] == ["uint8", "int64", "uint8", "int64"]
    assert kinds["imdb"] == kinds["reuters"] == ["object", "int64", "object", "int64"]
    assert kinds["boston_housing"] == ["float64"] * 4
    assert found["cifar10 {}"][0][1:3] == [[5, 32, 32, 3], [2, 1, 3, 0]]
    assert found["imdb words"] == {"the": 1, "café": 2, "imdb": 30979}
    topics = datasets.reuters.get_label_names()
    assert (topics[3], topics[45], len(topics)) == ("earn", "lead", 46)


def test_images_of_cifar_are_rows_of_planes(home: Path) -> None:
    data = np.arange(2 * 3072).astype(np.uint8).reshape(2, 3072)
    made = {"fine_labels": [7, 99], "coarse_labels": [1, 2], "data": data}
    batch = dataset_files.pickled_by_python_2(made)
    dataset_files._archive(home, "cifar-100-python", {"train": batch, "test": batch})
    (x, fine), _ = datasets.cifar100.load_data()
    for i, row, column, channel in [(0, 0, 1, 0), (1, 5, 7, 2), (0, 31, 31, 1)]:
        assert x[i, row, column, channel] == data[i, channel * 1024 + row * 32 + column]
    assert fine.tolist() == [[7], [99]]
    assert datasets.cifar100.load_data("coarse")[1][1].tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="label_mode must be fine or coarse, got 'both'"):
        datasets.cifar100.load_data("both")


def test_tables_are_mixed_by_their_seed_and_cut(home: Path) -> None:
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    np.savez(home / "boston_housing.npz", x=x, y=y)
    (x_train, y_train), (x_test, y_test) = datasets.boston_housing.load_data()
    # Keras: int(10 * (1 - 0.2)) training rows.
    assert [*y_train, *y_test] == order(10)
    assert len(y_train) == 8
    np.testing.assert_array_equal(x_train[:, 0], y_train * 2)
    np.testing.assert_array_equal(x_test[:, 1], y_test * 2 + 1)
    assert datasets.boston_housing.load_data(seed=4)[0][1].tolist() == order(10, 4)[:8]
    for share in (1, -0.1):
        with pytest.raises(ValueError, match=f"at least 0 and less than 1, got {share}"):
            datasets.boston_housing.load_data(test_split=share)


def test_the_small_table_is_the_beginning_of_the_large_one(home: Path) -> None:
    y = np.arange(1000.0)
    np.savez(home / "california_housing.npz", x=np.stack([y] * 8, 1), y=y)
    (_, train), (_, test) = datasets.california_housing.load_data("small")
    assert [*train, *test] == order(600)
    (_, train), (_, test) = datasets.california_housing.load_data()
    assert [*train, *test] == order(1000)
    with pytest.raises(ValueError, match="version must be large or small, got 'tiny'"):
        datasets.california_housing.load_data("tiny")


def written_texts(home: Path, *texts: list[int]) -> None:
    ragged = np.empty(len(texts), object)
    for i, text in enumerate(texts):
        ragged[i] = text
    labels = np.arange(len(texts))
    np.savez(home / "imdb.npz", x_train=ragged, y_train=labels, x_test=ragged, y_test=labels)
    np.savez(home / "reuters.npz", x=ragged, y=labels)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        # Word ids are shifted by three; without a limit the largest one, 13, is excluded.
        ({}, [[1, 4, 5], [1, 8, 9, 2], [1, 5]]),
        ({"num_words": 9}, [[1, 4, 5], [1, 8, 2, 2], [1, 5]]),
        ({"num_words": 14, "skip_top": 5}, [[2, 2, 5], [2, 8, 9, 13], [2, 5]]),
        ({"num_words": 14, "maxlen": 4}, [[1, 4, 5], [1, 5]]),
        ({"start_char": None, "oov_char": None, "num_words": 9}, [[4, 5], [8], [5]]),
        ({"start_char": None, "index_from": 0, "num_words": 11}, [[1, 2], [5, 6, 10], [2]]),
    ],
)
def test_texts_are_marked_moved_and_limited(
    home: Path, arguments: dict[str, Any], wanted: list[list[int]]
) -> None:
    written_texts(home, [1, 2], [5, 6, 10], [2])
    for module in (datasets.imdb, datasets.reuters):
        (x, y), (x_test, _) = module.load_data(**arguments)
        texts = [*x, *x_test] if module is datasets.reuters else [*x]
        assert sorted(list(text) for text in texts) == sorted(wanted)
        assert x.dtype == object
        assert y.dtype == np.int64


def test_texts_keep_their_labels_in_the_order_of_the_seed(home: Path) -> None:
    written_texts(home, *([i, i + 50] for i in range(1, 11)))
    (x, y), (x_test, y_test) = datasets.reuters.load_data(num_words=100)
    assert [*y, *y_test] == order(10)
    assert len(y) == 8
    # Texts of one length are an array with two axes, as in Keras.
    assert x.shape == (8, 3)
    assert [row[1] - 4 for row in [*x, *x_test]] == order(10)
    (_, y), (_, y_test) = datasets.imdb.load_data(num_words=100)
    twice = np.random.RandomState(113)
    assert [y.tolist(), y_test.tolist()] == [twice.permutation(10).tolist() for _ in "ab"]


def test_texts_that_are_all_too_long_are_an_error(home: Path) -> None:
    written_texts(home, [1, 2], [3])
    for module in (datasets.imdb, datasets.reuters):
        with pytest.raises(ValueError, match="none is shorter than 2"):
            module.load_data(maxlen=2)


def test_an_argument_that_keras_dropped_says_so(home: Path) -> None:
    written_texts(home, [1, 2], [3])
    with pytest.warns(UserWarning, match="imdb.load_data: nb_words has no effect"):
        datasets.imdb.load_data(nb_words=5)


def test_what_is_not_there_says_what_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))

    def refuse(url: str, **_: Any) -> None:
        raise OSError(f"no route to {url.split('/')[2]}")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    path = tmp_path / "datasets" / "mnist.npz"
    with pytest.raises(OSError, match="is not there, and it cannot be fetched") as caught:
        datasets.mnist.load_data()
    assert str(caught.value) == (
        "keras.datasets.mnist: mnist.npz is not there, and it cannot be fetched: no route to "
        "storage.googleapis.com\n"
        "  from: https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz\n"
        f"  to:   {path}\n"
        "  sha256: 731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1\n"
        "  Try: fetch it where there is a network, and put it there under that name\n"
        "  Or: sklearn.datasets.load_digits(), 1,797 images of 8x8 pixels that come with "
        "scikit-learn"
    )
    path.write_bytes(b"cut")
    with pytest.raises(OSError, match="has another digest than its own"):
        datasets.mnist.load_data()
    assert path.read_bytes() == b"cut"
    archive = tmp_path / "datasets" / "cifar-10-batches-py-target_archive"
    with pytest.raises(OSError, match=rf"(?s)cifar-10-python.tar.gz\n  to:   {archive}\n  sha256"):
        datasets.cifar10.load_data()
    with pytest.raises(OSError, match="md5: bfafd718b763782e994055a2d397834f"):
        datasets.imdb.get_word_index()


def test_modules_are_imported_as_programs_do(home: Path) -> None:
    from pinnace.keras.datasets import mnist
    from pinnace.keras.datasets.imdb import load_data

    assert mnist is tf.keras.datasets.mnist
    assert load_data is tf.keras.datasets.imdb.load_data
    (home / "reuters_word_index.json").write_text(json.dumps([1]))
    with pytest.raises(ValueError, match="must hold words and their ranks"):
        datasets.reuters.get_word_index()
