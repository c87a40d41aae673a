"""ImageDataGenerator: transformations of images, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import pinnace as tf
from support import changed_pictures

if TYPE_CHECKING:
    from pathlib import Path

image = tf.keras.preprocessing.image
Generator = image.ImageDataGenerator


def some(count: int = 10) -> Any:
    return np.random.default_rng(0).uniform(0, 255, (count, 6, 8, 3)).astype(np.float32)


def test_numbers_are_those_that_keras_draws() -> None:
    # Keras 3.15, ImageDataGenerator(...).get_random_transform((6, 8, 3), seed=1).
    change = Generator(
        rotation_range=20, width_shift_range=0.25, height_shift_range=3, shear_range=4,
        zoom_range=0.5, horizontal_flip=True, brightness_range=(0.5, 2), channel_shift_range=8,
    )  # fmt: skip
    drawn = change.get_random_transform((6, 8, 3), seed=1)
    state = np.random.RandomState(1)
    theta = state.uniform(-20, 20)
    tx = state.choice(3) * state.choice([-1, 1])
    ty, shear = state.uniform(-0.25, 0.25) * 8, state.uniform(-4, 4)
    zx, zy = state.uniform(0.5, 1.5, 2)
    flips = [state.random_sample() < 0.5 for _ in "hv"]
    intensity, brightness = state.uniform(-8, 8), state.uniform(0.5, 2)
    assert drawn == {
        "theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy,
        "flip_horizontal": flips[0], "flip_vertical": 0,
        "channel_shift_intensity": intensity, "brightness": brightness,
    }  # fmt: skip


def test_a_quarter_turn_and_a_shift_move_pixels() -> None:
    x = np.arange(9, dtype=np.float32).reshape(3, 3, 1)
    turned = image.apply_affine_transform(x, 90, row_axis=0, col_axis=1, channel_axis=2)
    np.testing.assert_allclose(turned[..., 0], np.rot90(x[..., 0]), atol=1e-5)
    moved = image.apply_affine_transform(
        x, tx=1, row_axis=0, col_axis=1, channel_axis=2, fill_mode="constant", cval=-1
    )
    # Keras: `tx` goes along the second axis where rows come first.
    np.testing.assert_array_equal(moved[..., 0], [[1, 2, -1], [4, 5, -1], [7, 8, -1]])
    assert image.apply_affine_transform(x, row_axis=0, col_axis=1, channel_axis=2) is x
    with pytest.raises(ValueError, match=r"must be 0, 1 and 2 in an order.*got \(0, 0, 2\)"):
        image.apply_affine_transform(x, 1, row_axis=0, col_axis=0, channel_axis=2)
    with pytest.raises(ValueError, match=r"x must have 3 axes, got shape \[3, 3\]"):
        image.apply_affine_transform(x[..., 0], 1)


def test_flips_scales_and_functions_are_done() -> None:
    x = some(1)[0]
    change = Generator(horizontal_flip=True, vertical_flip=True)
    both = change.apply_transform(x, {"flip_horizontal": True, "flip_vertical": True})
    np.testing.assert_array_equal(both, x[::-1, ::-1])
    scaled = Generator(rescale=1 / 255, preprocessing_function=lambda a: a + 1).standardize(
        x.copy()
    )
    np.testing.assert_allclose(scaled, (x + 1) / 255, rtol=1e-6)
    centred = Generator(samplewise_center=True, samplewise_std_normalization=True)
    found = centred.standardize(x.copy())
    np.testing.assert_allclose([found.mean(), found.std()], [0, 1], atol=1e-5)
    shifted = image.apply_channel_shift(x, 300.0, 2)
    np.testing.assert_array_equal(shifted, np.full_like(x, x.max()))
    assert image.apply_brightness_shift(np.full((2, 2, 3), 100.0), 0.5, scale=False).max() == 50


def test_fit_finds_means_deviations_and_whitens() -> None:
    x = some(200)[:, :2, :2]
    change = Generator(featurewise_center=True, featurewise_std_normalization=True)
    change.fit(x)
    np.testing.assert_allclose(change.mean[0, 0], x.mean((0, 1, 2)), rtol=1e-5)
    np.testing.assert_allclose(change.std[0, 0], x.std((0, 1, 2)), rtol=1e-4)
    found = change.standardize(x.copy())
    np.testing.assert_allclose(found.std((0, 1, 2)), np.ones(3), rtol=1e-4)
    white = Generator(featurewise_center=True, zca_whitening=True)
    white.fit(x)
    flat = white.standardize(x.copy()).reshape(200, -1)
    np.testing.assert_allclose(flat.T @ flat / 200, np.eye(12), atol=1e-2)
    with pytest.raises(ValueError, match="fit: x must have 4 axes"):
        change.fit(x[0])


def test_what_has_no_effect_or_settles_something_is_told() -> None:
    with pytest.warns(UserWarning, match="featurewise_center is True, since zca_whitening"):
        change = Generator(zca_whitening=True)
    with pytest.warns(UserWarning, match=r"(?s)has no effect before `fit`\n  Try: fit"):
        change.standardize(some(1)[0])
    with pytest.warns(UserWarning, match="samplewise_center is True"):
        Generator(samplewise_std_normalization=True)
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("zoom_range must be", {"zoom_range": [1, 2, 3]}),
        ("validation_split must be", {"validation_split": 1.5}),
        ("brightness_range must be", {"brightness_range": 2}),
        ("data_format must be", {"data_format": "NHWC"}),
    ]
    for told, settings in wrong:
        with pytest.raises(ValueError, match=told):
            Generator(**settings)


def test_rounds_follow_one_another_and_a_seed_repeats_them() -> None:
    x, y = some(), np.arange(10)
    flow = Generator().flow(x, y, batch_size=4, shuffle=False)
    sizes = [len(next(flow)[1]) for _ in range(4)]
    assert sizes == [4, 4, 2, 4]
    assert len(flow) == 3
    np.testing.assert_array_equal(flow[2][0], x[8:])
    with pytest.raises(ValueError, match="there are 3 batches, got index 3"):
        flow[3]
    one, other = (Generator(rotation_range=30).flow(x, y, 4, seed=6) for _ in "ab")
    for _ in range(5):
        (a, labels), (b, same) = next(one), next(other)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(labels, same)
    order = np.concatenate([next(other)[1] for _ in range(1)])
    assert set(order) <= set(range(10))


def test_subsets_part_the_samples_and_their_weights() -> None:
    x, y, weight = some(), np.arange(10) % 2, np.arange(10.0)
    change = Generator(validation_split=0.4)
    parts = {
        subset: change.flow(x, y, 10, False, weight, subset=subset)[0]
        for subset in ("training", "validation")
    }
    np.testing.assert_array_equal(parts["validation"][0], x[:4])
    np.testing.assert_array_equal(parts["training"][0], x[4:])
    # Keras gives the training set the first weights, which belong to other samples.
    np.testing.assert_array_equal(parts["training"][2], weight[4:])
    with pytest.raises(ValueError, match=r"(?s)same classes.*Try: shuffle"):
        change.flow(x, np.arange(10), subset="training")
    with pytest.raises(ValueError, match="subset must be one of training, validation, got 'test'"):
        change.flow(x, y, subset="test")
    with pytest.raises(ValueError, match="y must have as many samples as there are pictures, 10"):
        change.flow(x, y[:3])


def test_a_model_is_trained_on_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed_pictures.write_files(tmp_path / "files")
    change = Generator(rescale=1 / 255, horizontal_flip=True, validation_split=0.3)
    flows = [
        change.flow_from_directory(
            tmp_path / "files", (6, 6), batch_size=3, subset=subset, class_mode="binary", seed=1
        )
        for subset in ("training", "validation")
    ]
    assert capsys.readouterr().out.splitlines() == [
        "Found 8 images belonging to 2 classes.",
        "Found 2 images belonging to 2 classes.",
    ]
    layers = [tf.keras.Input((6, 6, 3)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    model.compile("sgd", "mse")
    history = model.fit(flows[0], validation_data=flows[1], epochs=2, verbose=0)
    assert len(history.history["val_loss"]) == 2
    assert flows[0].total_batches_seen == 6
    assert model.predict(flows[1], verbose=0).shape == (2, 1)
    loss = model.fit(Generator().flow(some()[:, :, :6], np.ones(10), 5), verbose=0).history["loss"]
    assert np.isfinite(loss).all()


def test_folders_are_classes(tmp_path: Path) -> None:
    changed_pictures.write_files(tmp_path)
    flow = Generator().flow_from_directory(tmp_path, (4, 5), batch_size=20, shuffle=False)
    assert flow.class_indices == {"cats": 0, "dogs": 1}
    assert flow.filenames[0] == "cats/1.jpg"
    assert flow.filenames[-1] == "dogs/young/9.jpg"
    assert flow.classes.tolist() == [0] * 6 + [1] * 4
    x, y = next(flow)
    assert x.shape == (10, 4, 5, 3)
    np.testing.assert_array_equal(y, np.eye(2, dtype=np.float32)[flow.classes])
    with pytest.raises(ValueError, match=r"class_mode must be one of .*, got 'classes'"):
        Generator().flow_from_directory(tmp_path, class_mode="classes")
    with pytest.raises(ValueError, match="color_mode must be one of grayscale, rgb, rgba"):
        Generator().flow_from_directory(tmp_path, color_mode="hsv")
    with pytest.raises(FileNotFoundError):
        Generator().flow_from_directory(tmp_path / "gone")


def test_a_table_names_files_and_classes(tmp_path: Path) -> None:
    changed_pictures.write_files(tmp_path)
    table = pd.DataFrame({"filename": ["1.jpg", "5.jpg", "gone.jpg"], "class": ["b", "a", "a"]})
    with pytest.warns(UserWarning, match="1 of 3 rows are left out"):
        flow = Generator().flow_from_dataframe(table, tmp_path / "cats", shuffle=False)
    x, y = next(flow)
    assert x.shape == (2, 256, 256, 3)
    np.testing.assert_array_equal(y, [[0, 1], [1, 0]])
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (TypeError, "y_col must be a list", {"class_mode": "multi_output"}),
        (TypeError, "x_col='number' must be a column of str", {"x_col": "number"}),
        (TypeError, "weight_col='class' must be a column of numbers", {"weight_col": "class"}),
        (ValueError, "needs 2 classes, got 3", {"class_mode": "binary", "classes": [*"abc"]}),
    ]
    table["number"] = 1
    for kind, told, options in wrong:
        with pytest.raises(kind, match=told):
            Generator().flow_from_dataframe(table, tmp_path / "cats", **options)
    with pytest.warns(UserWarning, match="flow_from_dataframe: has_ext has no effect"):
        Generator().flow_from_dataframe(table[:2], tmp_path / "cats", has_ext=True)


def test_pictures_are_written_as_they_are_given(tmp_path: Path) -> None:
    flow = Generator(horizontal_flip=True).flow(
        some(3), batch_size=3, shuffle=False, save_to_dir=tmp_path, save_prefix="a"
    )
    batch = next(flow)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name.split("_")[:2] for name in names] == [["a", "0"], ["a", "1"], ["a", "2"]]
    with Image.open(tmp_path / names[1]) as saved:
        low, high = batch[1].min(), batch[1].max()
        wanted = ((batch[1] - low) / (high - low) * 255).astype(np.uint8)
        assert np.abs(np.asarray(saved).astype(int) - wanted).max() <= 1


def test_other_numbers_of_channels_are_told() -> None:
    with pytest.warns(UserWarning, match="number of channels, on axis 3"):
        Generator().flow(np.zeros((2, 4, 4, 5)))
    with pytest.raises(ValueError, match=r"x must have 4 axes, got shape \[4, 4, 3\]"):
        Generator().flow(np.zeros((4, 4, 3)))
