"""Images that are too small for a network, or of unknown size, are refused."""

import re

import pytest

import pinnace as tf

LEAST = {
    "EfficientNetB0": 32,
    "Xception": 71,
    "InceptionV3": 75,
    "EfficientNetV2S": 32,
    "ConvNeXtTiny": 32,
    "InceptionResNetV2": 75,
    "NASNetLarge": 32,
}


@pytest.mark.parametrize("name", LEAST)
def test_pictures_have_a_least_size(name: str) -> None:
    least = LEAST[name]
    given = (least, least - 1, 3)
    phrase = f"{name}: input size must be at least {least}x{least}, got input_shape={given}"
    with pytest.raises(ValueError, match=re.escape(phrase)):
        getattr(tf.keras.applications, name)(weights=None, input_shape=given)


@pytest.mark.parametrize("name", LEAST)
def test_published_weights_have_1000_classes(name: str) -> None:
    phrase = f"{name}: classes must be 1000 with weights='imagenet' and include_top=True, got 10"
    with pytest.raises(ValueError, match=re.escape(phrase)):
        getattr(tf.keras.applications, name)(classes=10)


@pytest.mark.parametrize(("name", "size"), [("NASNetMobile", 224), ("NASNetLarge", 331)])
def test_cells_of_nasnet_need_known_sizes(name: str, size: int) -> None:
    phrase = f"{name}: height and width must be known, got [?, ?, ?, 3]\n  Try: input_shape=({size}"
    with pytest.raises(ValueError, match=re.escape(phrase)):
        getattr(tf.keras.applications, name)(
            weights=None, include_top=False, input_shape=(None, None, 3)
        )
