"""Random numbers, Fourier transforms, pictures, sparse and ragged tensors: in programs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import conv, image, traced
from unit.deploy.onnx.one_op import run_model

SEED = TensorSpec([2], np.int64, name="seed")
SOUND = TensorSpec([None, 400], np.float32, name="sound")
few = settings(max_examples=max(2, settings().max_examples // 20))

DRAWS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "uniform": (lambda s: tf.random.stateless_uniform([3, 5], s), 0),
    "doubles": (lambda s: tf.random.stateless_uniform([3, 5], s, dtype=tf.float64), 0),
    "halves": (lambda s: tf.random.stateless_uniform([7], s, dtype=tf.float16), 0),
    "normal": (lambda s: tf.random.stateless_normal([3, 5], s), 1e-6),  # logarithm, sine, cosine
    "integers": (lambda s: tf.random.stateless_uniform([9], s, -3, 9, tf.int32), 0),
    "long": (lambda s: tf.random.stateless_uniform([9], s, -3, 1 << 40, tf.int64), 0),
    "words": (lambda s: tf.random.stateless_uniform([9], s, None, None, tf.int32), 0),
    "classes": (
        lambda s: tf.random.stateless_categorical(np.array([[1, 2, 3], [0, -1e9, 1]], "f4"), 20, s),
        0,
    ),
    "shuffled": (lambda s: tf.random.experimental.stateless_shuffle(tf.range(11), s), 0),
    "split": (lambda s: tf.random.experimental.stateless_split(s, 3), 0),
}


@pytest.mark.parametrize("name", DRAWS)
@few
@given(seed=st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2))
def test_random_numbers_are_those_of_the_seed(name: str, seed: tuple[int, int]) -> None:
    draw, allowed = DRAWS[name]
    report = export(traced(draw, SEED), verify=False)
    (found,) = run_model(report, [np.array(seed, np.int64)])
    wanted = np.asarray(draw(tf.constant(seed, tf.int64)))
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=allowed, atol=allowed)


def spectrum(x: Any) -> Any:
    return tf.abs(tf.signal.stft(x, 64, 32, fft_length=64))


def cepstrum(x: Any) -> Any:
    frames = spectrum(x)
    mel = tf.signal.linear_to_mel_weight_matrix(10, 33, 8000.0, 20.0, 3800.0)
    levels = tf.math.log(tf.tensordot(frames * frames, mel, 1) + 1e-6)
    return tf.signal.mfccs_from_log_mel_spectrograms(levels)


def there_and_back(x: Any) -> Any:
    return tf.signal.inverse_stft(tf.signal.stft(x, 64, 32, fft_length=64), 64, 32)


def filtered(x: Any) -> Any:
    z = tf.signal.rfft(x)
    gain = tf.cast(tf.linspace(1.0, 0.0, 201), tf.complex64)
    return tf.signal.irfft(z * gain * tf.math.conj(gain), [400])


@pytest.mark.parametrize("function", [spectrum, cepstrum, there_and_back, filtered])
@pytest.mark.parametrize("opset", [18, 20])
def test_sound(function: Any, opset: int) -> None:
    sound = np.random.default_rng(0).standard_normal((2, 400))
    report = export(traced(function, SOUND), opset=opset, ir_version=9, sample={"sound": sound})
    assert report.op_counts["DFT"] >= 1


def test_complex_numbers_at_the_border_are_refused() -> None:
    with pytest.raises(UnimplementedError, match=r"output .* is complex64"):
        export(traced(tf.signal.rfft, SOUND))


@pytest.mark.parametrize("method", ["bicubic", "area", "lanczos3", "bilinear"])
@pytest.mark.parametrize("antialias", [False, True])
def test_pictures_between_convolutions_are_not_transposed(method: str, antialias: bool) -> None:
    def net(x: Any) -> Any:
        return conv(tf.image.resize(conv(x, 4), [11, 5], method, antialias=antialias), 3)

    # The input's and the output's.
    assert export(traced(net, image())).transposes == 2


def test_a_transposed_convolution_of_any_size_needs_no_sizes() -> None:
    layer = tf.keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")
    model = tf.keras.Sequential([tf.keras.Input((None, None, 3)), layer])
    assert export(model).op_counts == {"ConvTranspose": 1, "Transpose": 2}


# The parts of sparse and ragged tensors.

PLACES = TensorSpec([None, 2], np.int64, name="places")
VALUES = TensorSpec([None], np.float32, name="values")
SPLITS = TensorSpec([None], np.int64, name="splits")


def parts(x: Any) -> tuple[Any, Any, Any]:
    return x.indices, x.values, x.dense_shape


SPARSE: dict[str, Callable[[Any], Any]] = {
    "reorder": lambda x: parts(tf.sparse.reorder(x)),
    "reshape": lambda x: parts(tf.sparse.reshape(tf.sparse.reorder(x), [3, -1])),
    "sum": lambda x: tf.sparse.reduce_sum(x, 1),
    "product": lambda x: parts(x * tf.reshape(tf.range(5.0), [1, 5])),
    "filled": lambda x: parts(tf.sparse.fill_empty_rows(tf.sparse.reorder(x), -1.0)[0]),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensors(name: str) -> None:
    def net(places: Any, values: Any) -> Any:
        return SPARSE[name](tf.SparseTensor(places, values, [6, 5]))

    for places in ([[2, 1], [0, 3], [0, 1], [4, 0]], [[5, 4]]):
        sample = {"places": np.array(places), "values": np.arange(len(places)) + 1.0}
        export(traced(net, PLACES, VALUES), sample=sample)


RAGGED: dict[str, Callable[[Any, Any], Any]] = {
    "splits": lambda v, s: tf.RaggedTensor.from_row_splits(v, s).to_tensor(-1.0),
    "cut": lambda v, s: tf.RaggedTensor.from_row_splits(v, s).to_tensor(shape=[None, 2]),
    "deep": lambda v, s: tf.RaggedTensor.from_nested_row_splits(
        v, [s, tf.constant([0, 1, 3, 4, 4, 4, 6], tf.int64)]
    ).to_tensor(),
}


@pytest.mark.parametrize("name", RAGGED)
@pytest.mark.parametrize("splits", [[0, 2, 2, 6], [0, 6], [0, 0, 1, 6, 6]])
def test_rows_of_different_length(name: str, splits: list[int]) -> None:
    function = traced(RAGGED[name], VALUES, SPLITS)
    export(function, sample={"values": np.arange(6.0), "splits": np.array(splits)})


def test_labels_of_the_best_classes() -> None:
    def net(x: Any) -> Any:
        lengths = tf.fill([2], tf.shape(x)[0])
        return parts(tf.nn.ctc_greedy_decoder(x, lengths)[0][0])

    export(traced(net, TensorSpec([None, 2, 3], np.float32, name="x")))
