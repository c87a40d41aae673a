"""Networks whose answer is a picture, a volume or boxes: segmentation, autoencoders, generators."""

from typing import Any

from zoo.network import Network, Training, classes, floats, images, numbers
from zoo.networks.vision import conv


def unet(tf: Any) -> Any:
    """Three levels down and up again over 64×64 pixels; four classes of each."""
    layers = tf.keras.layers

    def block(x: Any, width: int) -> Any:
        return conv(tf, conv(tf, x, width), width)

    x = inputs = tf.keras.Input((64, 64, 3), name="x")
    kept = []
    for width in (16, 32, 64):
        x = block(x, width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, 128)
    for width in (64, 32, 16):
        x = layers.Conv2DTranspose(width, 2, strides=2, padding="same")(x)
        x = block(layers.Concatenate()([kept.pop(), x]), width)
    return tf.keras.Model(inputs, layers.Conv2D(4, 1)(x))


def dilated_segmentation(tf: Any) -> Any:
    """DeepLab's head: dilated convolutions side by side, and a resize to full size."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((96, 96, 3), name="x")
    x = conv(tf, inputs, 32, strides=2)
    x = low = conv(tf, x, 48, strides=2)
    x = conv(tf, x, 96, strides=2)
    sides = [conv(tf, x, 48, 1)]
    for rate in (2, 4, 6):
        y = layers.Conv2D(48, 3, padding="same", dilation_rate=rate, use_bias=False)(x)
        sides.append(layers.ReLU()(layers.BatchNormalization()(y)))
    x = conv(tf, layers.Concatenate()(sides), 64, 1)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = conv(tf, layers.Concatenate()([x, conv(tf, low, 16, 1)]), 48)
    x = layers.UpSampling2D(4, interpolation="bilinear")(layers.Conv2D(5, 1)(x))
    return tf.keras.Model(inputs, x)


def detector(tf: Any) -> Any:
    """One-shot detection: boxes and classes from three feature maps, joined."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((96, 96, 3), name="x")
    for width in (16, 32, 64):
        x = conv(tf, x, width, strides=2)
    found = []
    for width in (96, 128, 128):
        boxes = layers.Conv2D(4 * 4, 3, padding="same")(x)
        scores = layers.Conv2D(4 * 6, 3, padding="same", activation="sigmoid")(x)
        joined = [layers.Reshape((-1, n))(y) for y, n in ((boxes, 4), (scores, 6))]
        found.append(layers.Concatenate()(joined))
        x = conv(tf, conv(tf, x, width // 2, 1), width, strides=2)
    return tf.keras.Model(inputs, layers.Concatenate(axis=1)(found))


def autoencoder(tf: Any) -> Any:
    """Strided convolutions down to 32 numbers, transposed ones back."""
    layers = tf.keras.layers
    relu = {"padding": "same", "activation": "relu", "kernel_initializer": "he_normal"}
    x = inputs = tf.keras.Input((32, 32, 1), name="x")
    for width in (16, 32, 64):
        x = layers.Conv2D(width, 3, strides=2, **relu)(x)
    x = layers.Dense(32)(layers.Flatten()(x))
    x = layers.Reshape((4, 4, 64))(layers.Dense(4 * 4 * 64, activation="relu")(x))
    for width in (64, 32, 16):
        x = layers.Conv2DTranspose(width, 3, strides=2, **relu)(x)
    x = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)
    return tf.keras.Model(inputs, x)


def generator(tf: Any) -> Any:
    """DCGAN's: 64 numbers to an image of 32×32."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((64,), name="x")
    x = layers.Dense(4 * 4 * 128, use_bias=False)(x)
    x = layers.Reshape((4, 4, 128))(layers.LeakyReLU()(layers.BatchNormalization()(x)))
    for width in (64, 32):
        x = layers.Conv2DTranspose(width, 5, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(3, 5, strides=2, padding="same", activation="tanh")(x)
    return tf.keras.Model(inputs, x)


def discriminator(tf: Any) -> Any:
    """DCGAN's other half: strided 5×5 convolutions with leaky ReLU."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((32, 32, 3), name="x")
    for width in (32, 64, 128):
        x = layers.LeakyReLU()(layers.Conv2D(width, 5, strides=2, padding="same")(x))
    return tf.keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))


def super_resolution(tf: Any) -> Any:
    """Residual convolutions and a shuffle of channels into pixels: three times the size."""
    layers, ops = tf.keras.layers, tf.keras.ops
    inputs = tf.keras.Input((48, 48, 1), name="x")
    x = layers.Conv2D(32, 5, padding="same", activation="relu")(inputs)
    for _ in range(3):
        y = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
        x = layers.Add()([x, layers.Conv2D(32, 3, padding="same")(y)])
    x = layers.Conv2D(9, 3, padding="same")(x)
    # Depth to space as layers have it.
    x = ops.transpose(ops.reshape(x, (-1, 48, 48, 3, 3)), (0, 1, 3, 2, 4))
    return tf.keras.Model(inputs, ops.reshape(x, (-1, 144, 144, 1)))


def style_transfer(tf: Any) -> Any:
    """Reflected borders by hand, group normalization, nearest upsampling."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((64, 64, 3), name="x")
    x = layers.Conv2D(16, 9, activation="relu")(layers.ZeroPadding2D(4)(x))
    for width in (32, 64):
        x = layers.Conv2D(width, 3, strides=2, padding="same")(x)
        x = layers.ReLU()(layers.GroupNormalization(8)(x))
    for _ in range(2):
        y = layers.GroupNormalization(8)(layers.Conv2D(64, 3, padding="same")(x))
        y = layers.Conv2D(64, 3, padding="same")(layers.ReLU()(y))
        x = layers.Add()([x, y])
    for width in (32, 16):
        x = layers.Conv2D(width, 3, padding="same")(layers.UpSampling2D()(x))
        x = layers.ReLU()(layers.GroupNormalization(8)(x))
    return tf.keras.Model(inputs, layers.Conv2D(3, 9, padding="same", activation="tanh")(x))


def volumes(tf: Any) -> Any:
    """3D convolutions over 16 slices of 32×32."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((16, 32, 32, 1), name="x")
    for width in (8, 16, 32):
        x = layers.Conv3D(width, 3, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(layers.MaxPooling3D()(x))
    x = layers.Dense(64, activation="relu")(layers.GlobalAveragePooling3D()(x))
    return tf.keras.Model(inputs, layers.Dense(3)(x))


def video(tf: Any) -> Any:
    """A convolutional LSTM over eight frames of 16×16."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((8, 16, 16, 3), name="x")
    x = layers.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    x = layers.ConvLSTM2D(16, 3, padding="same")(layers.BatchNormalization()(x))
    return tf.keras.Model(inputs, layers.Conv2D(3, 3, padding="same", activation="sigmoid")(x))


def frames(tf: Any) -> Any:
    """The same CNN for each of eight frames, and a GRU over them."""
    layers = tf.keras.layers
    one = tf.keras.Sequential(
        [
            tf.keras.Input((32, 32, 3)),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
        ]
    )
    inputs = tf.keras.Input((8, 32, 32, 3), name="x")
    x = layers.GRU(32)(layers.TimeDistributed(one)(inputs))
    return tf.keras.Model(inputs, layers.Dense(10)(x))


_squares = "squares"
NETWORKS = {
    "autoencoder": Network(
        title="convolutional autoencoder, 32×32",
        build=autoencoder,
        draw=images(32, 1),
        training=Training(targets=numbers(32, 32, 1), loss=_squares),
    ),
    "deeplab": Network(
        title="dilated segmentation, 96×96", build=dilated_segmentation, draw=images(96)
    ),
    "detector": Network(title="one-shot detector, 96×96", build=detector, draw=images(96)),
    "discriminator": Network(
        title="GAN discriminator, 32×32",
        build=discriminator,
        draw=images(32),
        training=Training(targets=lambda r, n: r.integers(0, 2, (n, 1)).astype("f"), loss="yes_no"),
    ),
    "frames": Network(
        title="CNN for each of 8 frames, GRU", build=frames, draw=floats(8, 32, 32, 3)
    ),
    "generator": Network(
        title="GAN generator, 32×32",
        build=generator,
        draw=floats(64),
        training=Training(targets=numbers(32, 32, 3), loss=_squares),
    ),
    "style_transfer": Network(
        title="style transfer, group norms, 64×64", build=style_transfer, draw=images(64)
    ),
    "super_resolution": Network(
        title="super-resolution, 48×48 × 3", build=super_resolution, draw=images(48, 1)
    ),
    "unet": Network(
        title="U-Net, 64×64",
        build=unet,
        draw=images(64),
        training=Training(targets=classes(4, 64, 64), loss="classes", rows=16),
    ),
    "video": Network(title="ConvLSTM, 8 frames of 16×16", build=video, draw=floats(8, 16, 16, 3)),
    "volumes": Network(
        title="3D convolutions, 16×32×32",
        build=volumes,
        draw=floats(16, 32, 32, 1),
        training=Training(targets=classes(3), loss="classes"),
    ),
}
