"""Linear algebra, signals, images."""

import numpy as np

import pinnace as tf

a = tf.constant([[4.0, 1.0], [1.0, 3.0]])
s, u, v = tf.linalg.svd(a)
again = u @ tf.linalg.diag(s) @ tf.transpose(v)
assert float(tf.reduce_max(tf.abs(again - a))) < 1e-5
assert tf.linalg.solve(a, [[1.0], [2.0]]).shape == (2, 1)
t = tf.range(64, dtype=tf.float32) / 64.0
spectrum = tf.abs(tf.signal.rfft(tf.sin(2 * np.pi * 5 * t)))
assert int(tf.argmax(spectrum)) == 5
picture = tf.cast(tf.reshape(tf.range(48), [4, 4, 3]), tf.uint8)
assert bool(tf.reduce_all(tf.io.decode_png(tf.io.encode_png(picture)) == picture))
assert tf.image.resize(picture, [2, 2]).shape == (2, 2, 3)
