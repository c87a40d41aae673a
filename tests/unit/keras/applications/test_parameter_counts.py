"""Numbers of parameters of networks: those of Keras 3.15.1, with 1000 classes."""

from __future__ import annotations

from typing import Any

import pytest

import pinnace as tf
from pinnace.framework.dtypes import as_dtype
from pinnace.keras import initializers
from pinnace.ops.array import constants

# Network -> its parameters, and the trainable ones.
COUNTS = {
    "EfficientNetB0": (5330571, 5288548),
    "EfficientNetB1": (7856239, 7794184),
    "EfficientNetB2": (9177569, 9109994),
    "EfficientNetB3": (12320535, 12233232),
    "EfficientNetB4": (19466823, 19341616),
    "EfficientNetB5": (30562527, 30389784),
    "EfficientNetB6": (43265143, 43040704),
    "EfficientNetB7": (66658687, 66347960),
    "Xception": (22910480, 22855952),
    "InceptionV3": (23851784, 23817352),
    "EfficientNetV2B0": (7200312, 7139704),
    "EfficientNetV2B1": (8212124, 8141052),
    "EfficientNetV2B2": (10178374, 10096086),
    "EfficientNetV2B3": (14467622, 14358406),
    "EfficientNetV2S": (21612360, 21458488),
    "EfficientNetV2M": (54431388, 54139356),
    "EfficientNetV2L": (119027848, 118515272),
    "ConvNeXtTiny": (28589128, 28589128),
    "ConvNeXtSmall": (50223688, 50223688),
    "ConvNeXtBase": (88591464, 88591464),
    "ConvNeXtLarge": (197767336, 197767336),
    "ConvNeXtXLarge": (350196968, 350196968),
    "InceptionResNetV2": (55873736, 55813192),
    "NASNetMobile": (5326716, 5289978),
    "NASNetLarge": (88949818, 88753150),
}
# The first of each family is enough for every day: the others differ only in numbers of a table.
FIRST = {
    *("EfficientNetB0", "Xception", "InceptionV3", "EfficientNetV2B0", "ConvNeXtTiny"),
    *("InceptionResNetV2", "NASNetMobile"),
}


@pytest.fixture
def blank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all weights zeros, since drawing a hundred million numbers takes seconds."""

    def zeros(_: Any, shape: Any, dtype: Any = None) -> Any:
        return constants.zeros(list(shape), as_dtype(dtype or "float32"))

    monkeypatch.setattr(initializers.VarianceScaling, "__call__", zeros)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in FIRST else [pytest.mark.slow]) for n in COUNTS],
)
@pytest.mark.usefixtures("blank")
def test_networks_have_as_many_parameters_as_those_of_keras(name: str) -> None:
    model = getattr(tf.keras.applications, name)(weights=None)
    trained = sum(int(v.shape.num_elements()) for v in model.trainable_weights)
    assert (model.count_params(), trained) == COUNTS[name]
    assert model.output_shape == (None, 1000)
