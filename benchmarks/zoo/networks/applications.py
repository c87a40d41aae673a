"""Every family of `tf.keras.applications` in its smallest form, with logits of 100 classes.

Images are smaller than the published where 32 of them would take a second.
"""

from functools import partial
from typing import Any

from zoo.network import Network, images


def _build(tf: Any, family: str, size: int, more: dict[str, Any]) -> Any:
    make = getattr(tf.keras.applications, family)
    # Logits: a softmax over random weights is next to constant, and hides what goes wrong.
    given = {"weights": None, "classes": 100, "classifier_activation": None, **more}
    model = make(input_shape=(size, size, 3), **given)
    if family.startswith("VGG"):
        # Signals fade in deep networks without normalization, unless kernels are He's.
        for variable in model.trainable_variables:
            variable.assign(variable * (2**0.5 if len(variable.shape) > 1 else 1.0))
    return model


def _family(
    family: str, size: int, *, most: float = 1.0, note: str = "", rtol: float = 1e-3, **more: Any
) -> Network:
    return Network(
        title=f"{family}{note}, {size}×{size}",
        build=partial(_build, family=family, size=size, more=more),
        draw=images(size, most=most),
        rtol=rtol,
    )


NETWORKS = {
    "convnext_tiny": _family("ConvNeXtTiny", 64, most=255.0),
    "densenet121": _family("DenseNet121", 96),
    "efficientnet_b0": _family("EfficientNetB0", 128, most=255.0),
    "efficientnet_v2_b0": _family("EfficientNetV2B0", 128, most=255.0),
    "inception_resnet_v2": _family("InceptionResNetV2", 96),
    "inception_v3": _family("InceptionV3", 112),
    "mobilenet": _family("MobileNet", 160, note=" (α 0.5)", alpha=0.5),
    "mobilenet_v2": _family("MobileNetV2", 160, note=" (α 0.35)", alpha=0.35),
    "mobilenet_v3_large": _family("MobileNetV3Large", 128, most=255.0),
    "mobilenet_v3_small": _family("MobileNetV3Small", 160, most=255.0),
    "nasnet_mobile": _family("NASNetMobile", 96),
    "resnet50": _family("ResNet50", 96),
    "resnet50_v2": _family("ResNet50V2", 96),
    "vgg16": _family("VGG16", 64),
    "vgg19": _family("VGG19", 64),
    "xception": _family("Xception", 96),
}
