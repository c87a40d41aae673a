"""Images written to files and read again; another library compresses the files."""

from typing import Any


def _channels(tf: Any, x: Any) -> Any:
    return tf.cast(tf.stack([tf.abs(x * 31), tf.abs(x * 17), tf.abs(x * 7)], -1), tf.uint8)


def without_loss(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """PNG files of one channel and of three, of 8 bits and of 16."""
    colours = _channels(tf, x)
    deep = tf.cast(colours[:, :, :1], tf.uint16) * 200
    found = []
    for image, level in ((colours, 9), (colours[:, :, :1], 0), (deep, -1)):
        written = ops.EncodePng(image=image, compression=level)
        found.append(ops.DecodePng(contents=written, dtype=image.dtype))
    return found


def with_loss(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """JPEG files of several qualities, read with the exact method."""
    smooth = tf.cast(tf.tile(_channels(tf, x)[:1, :1], [16, 24, 1]), tf.int32)
    slope = tf.range(16)[:, None, None] * 3 + tf.range(24)[None, :, None] * 2
    image = tf.cast((smooth + slope) % 256, tf.uint8)
    files = [
        ops.EncodeJpeg(image=image, quality=95),
        ops.EncodeJpeg(image=image, quality=40, progressive=True, chroma_downsampling=False),
        ops.EncodeJpeg(image=image[:, :, :1], quality=80, optimize_size=True),
        ops.EncodeJpegVariableQuality(images=image, quality=tf.constant(70)),
    ]
    return [ops.DecodeJpeg(contents=one, dct_method="INTEGER_ACCURATE") for one in files]
