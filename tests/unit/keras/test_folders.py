"""Datasets of files, and images, against Pillow and NumPy."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pinnace as tf

utils = tf.keras.utils


@pytest.fixture(name="pictures")
def _pictures(tmp_path: Path) -> Path:
    """Two classes of five images; the first pixel of each identifies it."""
    for number, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        for index in range(5):
            array = np.zeros((8, 12, 3), np.uint8)
            array[...] = 10 * (5 * number + index)
            Image.fromarray(array).save(tmp_path / name / f"{index}.png")
    (tmp_path / "a" / "notes.txt").write_text("no picture")
    (tmp_path / ".hidden").mkdir()
    return tmp_path


def read(folder: Path, **options: Any) -> Any:
    options = {"image_size": (4, 6), "batch_size": 4, "verbose": False, **options}
    return utils.image_dataset_from_directory(folder, **options)


def which(dataset: Any) -> list[int]:
    """The indices of the images in their order."""
    return [int(n) // 10 for images, *_ in dataset for n in images.numpy()[:, 0, 0, 0]]


def test_folders_are_classes_and_files_come_in_order(pictures: Path) -> None:
    dataset = read(pictures, shuffle=False)
    assert dataset.class_names == ["a", "b"]
    assert [Path(p).name for p in dataset.file_paths] == [f"{i}.png" for i in range(5)] * 2
    assert [images.shape.as_list() for images, _ in dataset] == [[4, 4, 6, 3]] * 2 + [[2, 4, 6, 3]]
    assert which(dataset) == list(range(10))
    assert [int(n) for _, labels in dataset for n in labels] == [0] * 5 + [1] * 5
    assert dataset.element_spec[0].shape.as_list() == [None, 4, 6, 3]


def test_each_epoch_is_shuffled_anew_and_labels_stay_with_their_pictures(pictures: Path) -> None:
    dataset = read(pictures, seed=1)
    first, second = which(dataset), which(dataset)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    for images, labels in dataset:
        assert (images.numpy()[:, 0, 0, 0] // 50).tolist() == labels.numpy().tolist()


def test_subsets_share_no_file(pictures: Path) -> None:
    split = {"validation_split": 0.3, "seed": 7}
    training = read(pictures, subset="training", **split)
    validation = read(pictures, subset="validation", **split)
    assert len(which(training)) == 7
    assert sorted(which(training) + which(validation)) == list(range(10))
    both = read(pictures, subset="both", **split)
    assert sorted(which(both[0])) == sorted(which(training))
    assert sorted(which(both[1])) == sorted(which(validation))


def test_labels_take_the_form_that_is_asked_for(pictures: Path) -> None:
    _, rows = next(iter(read(pictures, shuffle=False, label_mode="categorical")))
    assert rows.numpy().tolist() == [[1.0, 0.0]] * 4
    _, column = next(iter(read(pictures, shuffle=False, label_mode="binary")))
    assert column.shape.as_list() == [4, 1]
    images = next(iter(read(pictures, shuffle=False, labels=None)))
    assert images.shape.as_list() == [4, 4, 6, 3]
    _, own = next(iter(read(pictures, shuffle=False, labels=list(range(10)))))
    assert own.numpy().tolist() == [0, 1, 2, 3]
    turned = read(pictures, shuffle=False, class_names=["b", "a"])
    assert which(turned) == [5, 6, 7, 8, 9, 0, 1, 2, 3, 4]


def test_proportions_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    array = np.arange(8 * 16 * 3, dtype=np.uint8).reshape(8, 16, 3)
    Image.fromarray(array).save(tmp_path / "a" / "0.png")
    options: dict[str, Any] = {"image_size": (8, 8), "labels": None, "interpolation": "nearest"}
    cropped = next(iter(read(tmp_path, crop_to_aspect_ratio=True, **options)))
    np.testing.assert_array_equal(cropped[0], array[:, 4:12])
    padded = next(iter(read(tmp_path, pad_to_aspect_ratio=True, **options))).numpy()[0]
    np.testing.assert_array_equal(padded[[0, 1, 6, 7]], 0)
    # The pixel nearest to the middle of two pixels is the second.
    np.testing.assert_array_equal(padded[2:6], array[1::2, 1::2])


def test_a_model_trains_on_it(pictures: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input([4, 6, 3]), tf.keras.layers.Flatten()])
    model.add(tf.keras.layers.Dense(2, "softmax"))
    model.compile("sgd", "sparse_categorical_crossentropy")
    history = model.fit(read(pictures).map(lambda x, y: (x / 255.0, y)), epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("no", "yes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text(f"it says {name}")
    dataset = utils.text_dataset_from_directory(tmp_path, shuffle=False)
    assert capsys.readouterr().out == "Found 2 files belonging to 2 classes.\n"
    texts, labels = next(iter(dataset))
    assert texts.numpy().tolist() == [b"it says no", b"it says yes"]
    assert labels.numpy().tolist() == [0, 1]
    short = utils.text_dataset_from_directory(tmp_path, shuffle=False, max_length=2, verbose=False)
    assert next(iter(short))[0].numpy().tolist() == [b"it"] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_mode": "one"}, "`label_mode` argument must be"),
        ({"color_mode": "cmyk"}, "`color_mode` must be one of"),
        ({"labels": [1, 2]}, "to match the number of files, 10 in"),
        ({"labels": "mine"}, "`labels` argument should be a list"),
        ({"labels": None, "class_names": ["a"]}, "you can only pass `class_names` if"),
        ({"class_names": ["c"]}, r"which are \['a', 'b'\], got \['c'\]"),
        ({"validation_split": 0.5}, "`validation_split` must be set if"),
        ({"validation_split": 1.5, "subset": "both"}, "between 0 and 1, got 1.5"),
        ({"validation_split": 0.5, "subset": "some"}, "`subset` must be"),
        ({"validation_split": 0.5, "subset": "training"}, "you must provide a `seed`"),
        ({"class_names": ["a"], "label_mode": "binary"}, "exactly 2 classes, .* has 1"),
        ({"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}, "exclude each other"),
    ],
)
def test_what_is_wrong_is_said(pictures: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(pictures, **options)


def test_an_empty_or_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        read(tmp_path / "nothing")
    with pytest.raises(
        ValueError, match=r"No images found\. in directory .*: names must end in \.bmp"
    ):
        read(tmp_path, labels=None)


def test_pictures_become_arrays_and_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    array = rng.integers(0, 256, (7, 9, 3)).astype(np.uint8)
    array[0, 0], array[0, 1] = 0, 255  # so that scaling changes nothing
    utils.save_img(tmp_path / "x.png", array)
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"]
    picture = utils.load_img(tmp_path / "x.png")
    np.testing.assert_array_equal(utils.img_to_array(picture), array)
    assert utils.img_to_array(picture, "channels_first").shape == (3, 7, 9)
    assert utils.img_to_array(utils.array_to_img(array[..., :1])).shape == (7, 9, 1)
    small = utils.load_img(tmp_path / "x.png", target_size=(3, 4), interpolation="bilinear")
    wanted = Image.fromarray(array).resize((4, 3), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(np.asarray(small), np.asarray(wanted))
    square = utils.load_img(tmp_path / "x.png", target_size=(7, 7), keep_aspect_ratio=True)
    np.testing.assert_array_equal(np.asarray(square), array[:, 1:8])
    stored = io.BytesIO((tmp_path / "x.png").read_bytes())
    assert utils.load_img(stored, color_mode="grayscale").mode == "L"
    with pytest.raises(ValueError, match="color_mode must be one of"):
        utils.load_img(stored, color_mode="cmyk")
    with pytest.raises(TypeError, match="must be a path or a BytesIO, got int"):
        utils.load_img(3)
    with pytest.raises(ValueError, match=r"x must have 3 axes, got shape \[7, 9\]"):
        utils.array_to_img(array[..., 0])
    with pytest.raises(ValueError, match=r"no format has the ending '\.xyz'"):
        utils.save_img(tmp_path / "x.xyz", array)


@pytest.mark.parametrize("way", ["padded", "ragged", "cut"])
def test_sounds_are_read_with_their_labels(tmp_path: Path, way: str) -> None:
    sounds = {}
    for number, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        for index in range(2):
            sound = np.full((5 + 3 * number + index, 1), 0.125 * (2 * number + index), np.float32)
            sounds[number, len(sound)] = sound
            path = str(tmp_path / name / f"{index}.wav")
            tf.io.write_file(path, tf.audio.encode_wav(sound, 8000))
    options = {"padded": {}, "ragged": {"ragged": True}, "cut": {"output_sequence_length": 6}}[way]
    data = utils.audio_dataset_from_directory(
        tmp_path, shuffle=False, batch_size=4, verbose=False, **options
    )
    ((batch, labels),) = data
    assert data.class_names == ["a", "b"]
    np.testing.assert_array_equal(labels, [0, 0, 1, 1])
    lengths = [len(x) for x in sounds.values()]
    most = 6 if way == "cut" else max(lengths)
    dense = batch.to_tensor(shape=[4, most, 1]) if way == "ragged" else batch
    for found, sound in zip(dense.numpy(), sounds.values(), strict=True):
        kept = np.zeros((most, 1), np.float32)
        kept[: len(sound)] = sound[:most]
        np.testing.assert_allclose(found, kept, atol=1e-4)
    if way == "ragged":
        np.testing.assert_array_equal(batch.row_lengths(), lengths)


def test_sounds_are_not_resampled(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="sounds are not resampled"):
        utils.audio_dataset_from_directory(tmp_path, sampling_rate=8000)
    with pytest.raises(ValueError, match="Cannot set both"):
        utils.audio_dataset_from_directory(tmp_path, ragged=True, output_sequence_length=3)


def test_without_labels_files_outside_of_folders_count(tmp_path: Path) -> None:
    for name in ("a/1.txt", "b/2.txt", "3.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found = tf.keras.utils.text_dataset_from_directory(
        tmp_path, label_mode=None, shuffle=False, batch_size=None
    )
    # As Keras lists them: a folder's own files, then those of the folders in it.
    assert [x.numpy() for x in found] == [b"3.txt", b"a/1.txt", b"b/2.txt"]
    assert found.class_names is None
