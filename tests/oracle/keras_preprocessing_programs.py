"""Layers for features and signals, and older ones: see `both`.

python keras_preprocessing_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers

RNG = np.random.default_rng(13)
SIGNALS = RNG.normal(size=(2, 900)).astype("float32")
TRACKS = RNG.normal(size=(3, 70, 2)).astype("float32")
# By numbers: names need SciPy, which Keras's environment does not have.
HANN = np.hanning(12).tolist()
X = RNG.random((2, 9, 7, 3)).astype("float32")


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return [str(np.asarray(x).dtype), np.asarray(x).tolist()]


def config(layer: Any) -> Any:
    found = layer.get_config()
    for name in ("name", "dtype", "trainable", "input_dtype", "lora_rank"):
        found.pop(name, None)
    return found


def mel(**options: Any) -> Any:
    settings = {"fft_length": 64, "sequence_stride": 20, "num_mel_bins": 9, **options}
    layer = layers.MelSpectrogram(**settings)
    return [layer(SIGNALS), layer(SIGNALS[0]), config(layer)]


def stft(**options: Any) -> Any:
    layer = layers.STFTSpectrogram(frame_length=12, **{"window": HANN, **options})
    x = TRACKS.transpose(0, 2, 1) if options.get("data_format") == "channels_first" else TRACKS
    found = layer(x)
    return [found, [list(w.shape) for w in layer.weights], layer.get_weights(), config(layer)]


def kernels() -> Any:
    make = keras.initializers.STFT
    return [
        make("real", np.hanning(8).tolist())((8, 1, 9)),
        make("imag", np.hamming(8).tolist(), "spectrum")((8, 1, 9), "float64"),
        make("real", None)((6, 1, 5)),
        make("imag", [1.0, 2.0, 3.0, 1.0], None)((4, 1, 3)),
        keras.initializers.serialize(make("imag", None, scaling=None))["config"],
    ]


def crossed(**options: Any) -> Any:
    layer = layers.HashedCrossing(**options)
    words, numbers = np.array(["a", "b", "c", "a"]), np.array([1, 2, 3, 1])
    return [
        layer((tf.constant(words), tf.constant(numbers))),
        layer((tf.constant(words[:, None]), tf.constant(numbers[:, None]))),
        layer((tf.constant(numbers), tf.constant(numbers * 2), tf.constant(words))),
        layer((tf.constant("a"), tf.constant(5))),
        config(layer),
    ]


def resized(kind: str, *args: Any, **options: Any) -> Any:
    layer = getattr(layers, kind)(*args, seed=3, **options)
    found = [layer(X, training=True) for _ in range(3)]
    return [*found, layer(X, training=False), layer(X[0], training=True), config(layer)]


def reversed_embedding(**options: Any) -> Any:
    layer = layers.ReversibleEmbedding(5, 3, **options)
    layer.build((None,))
    weights = [RNG.normal(size=w.shape).astype("float32") for w in layer.weights]
    layer.set_weights(weights)
    vectors = layer(np.array([[1, 2, 0], [4, 0, 3]]))
    return [vectors, layer(np.asarray(vectors), reverse=True), config(layer)["logit_soft_cap"]]


def adapted(data: Any, **options: Any) -> Any:
    layer = layers.Discretization(**options)
    layer.adapt(data)
    again = layers.Discretization.from_config(layer.get_config())
    x = np.linspace(-3, 3, 12, dtype="float32")[:, None]
    return [layer.bin_boundaries, layer(x), again(x), config(layer)]


WAVES = RNG.normal(size=(400, 3)).astype("float32")
PROGRAMS = {
    "bins": lambda: adapted(WAVES, num_bins=5),
    "bins_fine": lambda: adapted(WAVES, num_bins=20, epsilon=0.05, output_mode="one_hot"),
    "bins_few": lambda: adapted(WAVES[:2, :1], num_bins=5),
    "bins_dataset": lambda: adapted(
        tf.data.Dataset.from_tensor_slices(WAVES).batch(64), num_bins=7, output_mode="count"
    ),
    "mel": mel,
    "mel_options": lambda: mel(sequence_length=40, power_to_db=False, mag_exp=1.0, max_freq=5000.0),
    "mel_decibels": lambda: mel(top_db=20.0, ref_power=0.5, window="hamming", min_freq=100.0),
    "kernels": kernels,
    "stft": stft,
    "stft_magnitude": lambda: stft(mode="magnitude", frame_step=3, padding="same"),
    "stft_power": lambda: stft(mode="psd", scaling="spectrum", expand_dims=True),
    "stft_real": lambda: stft(mode="real", window=None, fft_length=32),
    "stft_imag": lambda: stft(mode="imag", expand_dims=True),
    "stft_parts": lambda: stft(mode="stft", window=np.hamming(12).tolist(), scaling=None),
    "crossing": lambda: crossed(num_bins=7),
    "crossing_rows": lambda: crossed(num_bins=5, output_mode="one_hot"),
    "height": lambda: resized("RandomHeight", 0.4),
    "width": lambda: resized("RandomWidth", (0.1, 0.9), interpolation="nearest"),
    "thresholded": lambda: [layers.ThresholdedReLU(0.5)(X), config(layers.ThresholdedReLU(0.25))],
    "reversible": reversed_embedding,
    "reversible_apart": lambda: reversed_embedding(tie_weights=False, logit_soft_cap=0.5),
    "reversible_double": lambda: reversed_embedding(reverse_dtype="float64"),
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
