"""Classifiers of small images that people write themselves."""

from typing import Any

from zoo.network import Network, Training, classes, images, with_positions

CIFAR = images(32)
TEN = Training(targets=classes(10), loss="classes")


def conv(tf: Any, x: Any, width: int, size: int = 3, strides: int = 1) -> Any:
    """Convolution, batch normalization, ReLU."""
    layers = tf.keras.layers
    x = layers.Conv2D(width, size, strides=strides, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


def vgg_like(tf: Any) -> Any:
    """Three pairs of convolutions, each with a bias, and two dense layers."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((32, 32, 3), name="x")
    for width in (32, 64, 128):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    return tf.keras.Model(inputs, layers.Dense(10)(x))


def resnet20(tf: Any) -> Any:
    """The ResNet of twenty layers for CIFAR."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((32, 32, 3), name="x")
    x = conv(tf, x, 16)
    for width in (16, 32, 64):
        for number in range(3):
            strides = 2 if width > 16 and number == 0 else 1
            y = conv(tf, x, width, strides=strides)
            y = layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
            y = layers.BatchNormalization()(y)
            if strides == 2:
                x = layers.Conv2D(width, 1, strides=2, use_bias=False)(x)
            x = layers.ReLU()(layers.Add()([x, y]))
    return tf.keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def densenet_like(tf: Any) -> Any:
    """Three dense blocks of six layers that grow by twelve channels."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((32, 32, 3), name="x")
    x = layers.Conv2D(24, 3, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(6):
            y = layers.ReLU()(layers.BatchNormalization()(x))
            y = layers.Conv2D(12, 3, padding="same", use_bias=False)(y)
            x = layers.Concatenate()([x, y])
        if block < 2:
            x = conv(tf, x, x.shape[-1] // 2, 1)
            x = layers.AveragePooling2D(2)(x)
    return tf.keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def separable(tf: Any) -> Any:
    """Separable convolutions with residuals, as the guide's small Xception has them."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((64, 64, 3), name="x")
    x = conv(tf, x, 32, strides=2)
    for width in (64, 128, 256):
        y = layers.ReLU()(x)
        y = layers.BatchNormalization()(layers.SeparableConv2D(width, 3, padding="same")(y))
        y = layers.ReLU()(y)
        y = layers.BatchNormalization()(layers.SeparableConv2D(width, 3, padding="same")(y))
        y = layers.MaxPooling2D(3, strides=2, padding="same")(y)
        x = layers.Add()([y, layers.Conv2D(width, 1, strides=2, padding="same")(x)])
    return tf.keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def squeeze_excite(tf: Any) -> Any:
    """Inverted bottlenecks with swish, squeeze and excite."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((64, 64, 3), name="x")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="swish")(x)
    for width, strides in ((24, 2), (24, 1), (40, 2), (40, 1), (80, 2), (80, 1)):
        inner = x.shape[-1] * 4
        y = layers.Conv2D(inner, 1, use_bias=False)(x)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        gate = layers.Conv2D(inner // 8, 1, activation="swish")(gate)
        gate = layers.Conv2D(inner, 1, activation="sigmoid")(gate)
        y = layers.Conv2D(width, 1, use_bias=False)(layers.Multiply()([y, gate]))
        y = layers.BatchNormalization()(y)
        x = layers.Add()([x, y]) if strides == 1 else y
    return tf.keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def convnext_like(tf: Any) -> Any:
    """Depthwise 7×7, layer normalization, and a wide pair of dense layers with GELU."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((32, 32, 3), name="x")
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(48, 2, strides=2)(x))
    for width, deep in ((48, 2), (96, 3)):
        for _ in range(deep):
            y = layers.DepthwiseConv2D(7, padding="same")(x)
            y = layers.LayerNormalization(epsilon=1e-6)(y)
            y = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(y))
            x = layers.Add()([x, y])
        if width == 48:
            x = layers.Conv2D(96, 2, strides=2)(layers.LayerNormalization(epsilon=1e-6)(x))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.GlobalAveragePooling2D()(x))
    return tf.keras.Model(inputs, layers.Dense(10)(x))


def vit(tf: Any) -> Any:
    """64 patches of 4×4, four blocks of 128 features, positions learnt."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((32, 32, 3), name="x")
    x = layers.Reshape((64, 128))(layers.Conv2D(128, 4, strides=4)(inputs))
    x = with_positions(tf, x)
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.MultiHeadAttention(4, 32)(y, y)
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.Dense(128)(layers.Dense(256, activation="gelu")(y))
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    return tf.keras.Model(inputs, layers.Dense(10)(x))


def mixer(tf: Any) -> Any:
    """An MLP-Mixer: dense layers over 64 patches, then over 128 features, four times."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((32, 32, 3), name="x")
    x = layers.Reshape((64, 128))(layers.Conv2D(128, 4, strides=4)(inputs))
    for _ in range(4):
        y = layers.Permute((2, 1))(layers.LayerNormalization(epsilon=1e-6)(x))
        y = layers.Dense(64)(layers.Dense(64, activation="gelu")(y))
        x = x + layers.Permute((2, 1))(y)
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.Dense(128)(layers.Dense(512, activation="gelu")(y))
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    return tf.keras.Model(inputs, layers.Dense(10)(x))


def preprocessing_inside(tf: Any) -> Any:
    """Images of 160×120 are cropped, resized and normalized by the model itself."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((120, 160, 3), name="x")
    # Keras' image layers are in training unless told otherwise, and so is all behind them.
    x = layers.CenterCrop(112, 112)(x, training=False)
    x = layers.Resizing(64, 64)(x, training=False)
    x = layers.Rescaling(1 / 127.5, offset=-1)(x)
    x = layers.Normalization(mean=[0.1, 0.0, -0.1], variance=[0.25, 0.3, 0.35])(x)
    for width in (24, 48, 96):
        x = conv(tf, x, width, strides=2)
    return tf.keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def _photographs(random: Any, rows: int) -> dict[str, Any]:
    brightness = random.random((rows, 1, 1, 1))
    return {"x": (random.random((rows, 120, 160, 3)) * brightness * 255).astype("float32")}


NETWORKS = {
    "convnext_like": Network(
        title="ConvNeXt-like, 32×32", build=convnext_like, draw=CIFAR, training=TEN
    ),
    "densenet_like": Network(
        title="DenseNet-like, 32×32", build=densenet_like, draw=CIFAR, training=TEN
    ),
    "mixer": Network(title="MLP-Mixer, 32×32", build=mixer, draw=CIFAR, training=TEN),
    "preprocessing": Network(
        title="crop, resize, normalize inside a CNN", build=preprocessing_inside, draw=_photographs
    ),
    "resnet20": Network(title="ResNet-20, 32×32", build=resnet20, draw=CIFAR, training=TEN),
    "separable": Network(
        title="separable convolutions, 64×64", build=separable, draw=images(64), training=TEN
    ),
    "squeeze_excite": Network(
        title="squeeze and excite, 64×64", build=squeeze_excite, draw=images(64), training=TEN
    ),
    "vgg_like": Network(title="VGG-like, 32×32", build=vgg_like, draw=CIFAR, training=TEN),
    "vit": Network(title="ViT, 64 patches", build=vit, draw=CIFAR, training=TEN),
}
