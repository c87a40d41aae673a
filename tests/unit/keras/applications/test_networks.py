"""keras.applications: sizes, names, refusals, and sources of published weights."""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras.applications import published
from pinnace.keras.applications.arguments import image_shape
from pinnace.keras.applications.halving import multiple_near, padding_before
from support.fresh_process import run_fresh

if TYPE_CHECKING:
    from pathlib import Path

networks = tf.keras.applications

# Counted by Keras 3.15, without the top: parameters, trainable ones, layers.
COUNTS = {
    "VGG16": (14_714_688, 14_714_688, 19),
    "ResNet50": (23_587_712, 23_534_592, 175),
    "DenseNet121": (7_037_504, 6_953_856, 427),
    "MobileNet": (3_228_864, 3_206_976, 86),
    "MobileNetV2": (2_257_984, 2_223_872, 154),
    "MobileNetV3Small": (939_120, 927_008, 157),
}
LARGER = {
    "VGG19": (20_024_384, 20_024_384, 22),
    "ResNet101": (42_658_176, 42_552_832, 345),
    "ResNet152": (58_370_944, 58_219_520, 515),
    "ResNet50V2": (23_564_800, 23_519_360, 190),
    "ResNet101V2": (42_626_560, 42_528_896, 377),
    "ResNet152V2": (58_331_648, 58_187_904, 564),
    "DenseNet169": (12_642_880, 12_484_480, 595),
    "DenseNet201": (18_321_984, 18_092_928, 707),
    "MobileNetV3Large": (2_996_352, 2_971_952, 187),
}


@pytest.mark.parametrize(
    "name", [*COUNTS, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGER)]
)
def test_networks_have_the_sizes_of_keras(name: str) -> None:
    model = getattr(networks, name)(weights=None, include_top=False)
    trained = sum(int(np.prod(v.shape)) for v in model.trainable_weights)
    assert (model.count_params(), trained, len(model.layers)) == {**COUNTS, **LARGER}[name]


def test_a_model_is_named_after_its_width_and_size() -> None:
    options: dict[str, Any] = {"weights": None, "include_top": False}
    names = [
        networks.MobileNet(alpha=0.25, **options).name,
        networks.MobileNet(alpha=0.25, input_shape=(64, 33, 3), **options).name,
        networks.MobileNetV2(alpha=0.35, input_shape=(96, 96, 3), **options).name,
        networks.MobileNetV2(alpha=0.35, input_shape=(96, 96, 3), name="mine", **options).name,
    ]
    # As Keras names them.
    assert names == ["mobilenet_0.25_None", "mobilenet_0.25_64", "mobilenetv2_0.35_96", "mine"]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("VGG16", {"weights": "nowhere.h5"}, r"weights must be None .* got 'nowhere.h5'"),
    ("ResNet50", {"weights": 3}, "weights must be None .* got 3"),
    ("ResNet50", {"classes": 10}, "classes must be 1000 .* got 10"),
    ("VGG19", {"input_shape": (96, 96, 3)}, r"must be \(224, 224, 3\) .* got \(96, 96, 3\)"),
    ("VGG16", {"include_top": False, "input_shape": (96, 96, 1)}, "3 channels"),
    ("DenseNet121", {"weights": None, "input_shape": (31, 64, 3)}, "at least 32x32"),
    ("DenseNet121", {"weights": None, "input_shape": (64, 64)}, "tuple of three integers"),
    ("MobileNet", {"weights": None, "input_shape": (None, 64, 3)}, "known in full"),
    ("MobileNet", {"depth_multiplier": 2}, r"depth_multiplier must be 1 .* got 2"),
    ("MobileNet", {"alpha": 0.3}, r"alpha must be 0.25 or 0.5 or 0.75 or 1.0 .* got 0.3"),
    ("MobileNetV2", {"alpha": 2.0}, "alpha must be 0.35 .* got 2.0"),
    ("MobileNetV3Small", {"alpha": 0.5}, "alpha must be 0.75 or 1.0"),
    ("MobileNetV3Large", {"alpha": 0.75, "minimalistic": True}, "alpha must be 1.0"),
    ("MobileNetV3Large", {"weights": None, "input_shape": (16, 64, 3)}, "at least 32x32"),
    ("MobileNetV3Small", {"weights": None, "input_shape": (64,)}, "tuple of three integers"),
    ("ResNet50V2", {"weights": None, "input_tensor": np.zeros(3)}, "KerasTensor,.* ndarray"),
]


@pytest.mark.parametrize(("name", "options", "message"), REFUSED)
def test_what_does_not_go_together_is_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{name}: .*{message}"):
        getattr(networks, name)(**options)


def test_an_input_shape_must_be_that_of_the_input() -> None:
    x = tf.keras.Input((64, 64, 3))
    for name in ("MobileNetV2", "MobileNetV3Small"):
        with pytest.raises(ValueError, match=rf"{name}: input_shape must be that of input_tensor"):
            getattr(networks, name)(weights=None, input_tensor=x, input_shape=(96, 96, 3))


def test_weights_go_with_two_activations(tmp_path: Path) -> None:
    options: dict[str, Any] = {"alpha": 0.35, "input_shape": (32, 32, 3), "classes": 3}
    path = tmp_path / "file.weights.h5"
    networks.MobileNetV2(weights=None, **options).save_weights(path)
    networks.MobileNetV2(weights=path, classifier_activation=None, **options)
    with pytest.raises(ValueError, match="classifier_activation must be None or 'softmax'"):
        networks.MobileNetV2(weights=path, classifier_activation="relu", **options)


@pytest.fixture(name="cache")
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put Keras' cache into a folder of the test, and forbid connections."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise URLError("no connections")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_weights_that_are_not_there_say_where_they_would_be(cache: Path) -> None:
    # Names, digests and URLs are those of Keras 3.15.
    with pytest.raises(tf.errors.NotFoundError) as caught:
        networks.ResNet50(include_top=False)
    told = str(caught.value)
    file = "resnet50_weights_tf_dim_ordering_tf_kernels_notop.h5"
    assert f"{file!r} is not in {str(cache)!r}" in told
    url = f"https://storage.googleapis.com/tensorflow/keras-applications/resnet/{file}"
    assert f"from {url}\n" in told
    assert "no connections" in told
    assert "KERAS_HOME" in told
    assert "weights=None" in told
    (cache / file).write_bytes(b"cut")
    with pytest.raises(tf.errors.NotFoundError, match="than 4d473c1dd8becc155b73f8504c6f6626 in"):
        networks.ResNet50(include_top=False)


NAMES = [
    ("MobileNet", {"alpha": 0.5, "input_shape": (160, 160, 3)}, "mobilenet_5_0_160_tf_no_top.h5"),
    (
        "MobileNetV3Small",
        {"minimalistic": True, "input_shape": (224, 224, 3)},
        "weights_mobilenet_v3_small_minimalistic_224_1.0_float_no_top_v2.h5",
    ),
    ("VGG16", {}, "vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5"),
    ("DenseNet121", {}, "densenet121_weights_tf_dim_ordering_tf_kernels_notop.h5"),
]


@pytest.mark.parametrize(("name", "options", "file"), NAMES)
def test_files_are_named_as_in_keras(
    name: str, options: dict[str, Any], file: str, cache: Path
) -> None:
    assert not list(cache.iterdir())
    with pytest.raises(tf.errors.NotFoundError, match=f"{file!r} is not in"):
        getattr(networks, name)(include_top=False, **options)


def test_weights_come_from_the_cache_of_keras(cache: Path) -> None:
    options: dict[str, Any] = {"alpha": 0.35, "include_top": False}
    model = networks.MobileNetV2(weights=None, input_shape=(96, 96, 3), **options)
    model.save_weights(cache / "written.weights.h5")
    stem = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35"
    (cache / "written.weights.h5").rename(cache / f"{stem}_96_no_top.h5")
    loaded = networks.MobileNetV2(input_shape=(96, 96, 3), **options)
    for ours, wanted in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, wanted)
    with (
        pytest.warns(UserWarning, match="MobileNetV2: .* those for 224 x 224 are loaded"),
        pytest.raises(tf.errors.NotFoundError, match=f"{stem}_224_no_top.h5"),
    ):
        networks.MobileNetV2(input_shape=(100, 100, 3), **options)


def test_predictions_have_names(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = networks.resnet50.decode_predictions
    scores = np.zeros((2, 1000), np.float32)
    scores[0, [7, 3, 999]] = 0.5, 0.3, 0.2
    scores[1, 0] = 1
    with pytest.raises(tf.errors.NotFoundError, match=r"imagenet_class_index\.json"):
        decode(scores)
    table = published.CLASSES._replace(md5=None)
    monkeypatch.setattr(published, "CLASSES", table)
    (cache / table.name).write_text("[]")
    with pytest.raises(tf.errors.DataLossError, match="not a table of classes"):
        decode(scores)
    rows = ",".join(f'"{i}": ["n{i:04}", "kind {i}"]' for i in range(1000))
    (cache / table.name).write_text(f"{{{rows}}}")
    first, second = decode(tf.constant(scores), top=3)
    assert [(name, told) for name, told, _ in first] == [
        ("n0007", "kind 7"),
        ("n0003", "kind 3"),
        ("n0999", "kind 999"),
    ]
    assert [float(score) for *_, score in first] == pytest.approx([0.5, 0.3, 0.2])
    assert second[0][:2] == ("n0000", "kind 0")
    assert len(decode(scores)[0]) == 5
    with pytest.raises(ValueError, match=r"\[batch, 1000\], got \[2, 10\]"):
        decode(scores[:, :10])


# float64: red, green, blue -> the networks' training inputs, with the papers' figures.
FORMULAS: dict[str, Any] = {
    "tf": lambda x: x / 127.5 - 1,
    "caffe": lambda x: x[..., ::-1] - [103.939, 116.779, 123.68],
    "torch": lambda x: (x / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225],
}


@pytest.mark.parametrize("mode", FORMULAS)
def test_pictures_are_scaled(mode: str) -> None:
    scale = networks.imagenet_utils.preprocess_input
    whole = np.random.default_rng(0).integers(0, 256, (2, 5, 4, 3))
    wanted = FORMULAS[mode](whole.astype(np.float64))
    before = whole.copy()
    # float32: below 256 an ulp is 2e-5, and there are up to three steps.
    close = {"rtol": 0, "atol": 5e-5}
    found = scale(whole, mode=mode)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, **close)
    np.testing.assert_array_equal(whole, before)
    x = whole.astype(np.float32)
    np.testing.assert_allclose(scale(tf.constant(x), mode=mode), wanted, **close)
    inputs = tf.keras.Input((5, 4, 3))
    model = tf.keras.Model(inputs, scale(inputs, mode=mode))
    np.testing.assert_allclose(model(x), wanted, **close)
    first = np.moveaxis(x, -1, 1)
    for given in (first.copy(), tf.constant(first)):
        found = scale(given, data_format="channels_first", mode=mode)
        np.testing.assert_allclose(np.moveaxis(np.asarray(found), 1, -1), wanted, **close)
    one = scale(x[0].copy(), mode=mode)
    np.testing.assert_allclose(one, wanted[0], **close)
    scale(x, mode=mode)
    assert not np.allclose(x, before)  # Keras: a float array is modified in place


def test_pictures_are_scaled_as_each_network_wants_them() -> None:
    x = np.random.default_rng(0).uniform(0, 255, (1, 2, 2, 3))
    modes = {"tf": "mobilenet mobilenet_v2 resnet_v2", "torch": "densenet"}
    modes["caffe"] = "vgg16 vgg19 resnet resnet50"
    for mode, names in modes.items():
        for name in names.split():
            found = getattr(networks, name).preprocess_input(x.copy())
            np.testing.assert_allclose(found, FORMULAS[mode](x), rtol=1e-12, atol=1e-12)
    assert networks.mobilenet_v3.preprocess_input(x) is x
    for options in ({"mode": "none"}, {"data_format": "last"}):
        with pytest.raises(ValueError, match=r"must be .* got"):
            networks.imagenet_utils.preprocess_input(x, **options)


def test_shapes_of_pictures() -> None:
    # Facts of Keras' rule.
    assert image_shape(None, 224, 32, True) == (224, 224, 3)
    assert image_shape(None, 224, 32, False) == (None, None, 3)
    assert image_shape(None, 224, 32, False, data_format="channels_first") == (3, None, None)
    assert image_shape((3, 40, 50), 224, 32, True, data_format="channels_first") == (3, 40, 50)
    assert image_shape([None, 50, 3], 224, 32, False, "imagenet") == (None, 50, 3)
    with pytest.warns(UserWarning, match="1 or 3 channels"):
        assert image_shape((40, 40, 7), 224, 32, True) == (40, 40, 7)


def test_sizes_around_a_stride_of_two() -> None:
    # What Keras' correct_pad gives for these sizes.
    x = tf.keras.Input((32, 47, 3))
    assert padding_before(x, 3) == ((0, 1), (1, 1))
    assert padding_before(x, 5) == ((1, 2), (2, 2))
    assert padding_before(tf.keras.Input((None, None, 3)), 3) == ((0, 1), (0, 1))
    # The rule of the papers: multiples of 8, never below 0.9 of the number.
    assert [multiple_near(n) for n in (3, 11.2, 12, 19, 20, 36)] == [8, 16, 16, 24, 24, 40]


def test_networks_are_imported_when_they_are_asked_for() -> None:
    run_fresh("""
import sys
import pinnace as tf
assert not [name for name in sys.modules if name.startswith("pinnace.keras.applications")]
from pinnace.keras.applications.resnet50 import ResNet50
assert tf.keras.applications.ResNet50 is ResNet50 is tf.keras.applications.resnet.ResNet50
""")
