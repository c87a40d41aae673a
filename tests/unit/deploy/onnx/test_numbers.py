"""Random numbers, Fourier transforms, images, sparse and ragged tensors, in whole functions."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.deploy.onnx import ExportReport, export
from pinnace.deploy.onnx.verification.checking import open_session, run_session
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import conv, image, op, traced
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
    # Drawn by rejection with the same random words, so equal up to the last bits.
    "truncated": (lambda s: tf.random.stateless_truncated_normal([33, 3], s), 1e-6),
    "truncated doubles": (
        lambda s: tf.random.stateless_truncated_normal([33], s, dtype=tf.float64),
        1e-10,
    ),
    "truncated halves": (
        lambda s: tf.random.stateless_truncated_normal([33], s, dtype=tf.float16),
        1e-3,
    ),
    "truncated of a seed": (
        lambda s: op("StatelessTruncatedNormal", np.int32([33]), s, dtype=tf.float32),
        1e-6,
    ),
    "gamma": (
        lambda s: tf.random.stateless_gamma([40, 5], s, alpha=np.float32([0.3, 1, 2.5, 0, 90])),
        1e-6,
    ),
    "gamma of a seed": (
        lambda s: op("StatelessRandomGammaV2", np.int32([40, 2]), s, np.array([0.02, 7.0])),
        1e-10,
    ),
    "poisson": (
        lambda s: tf.random.stateless_poisson(
            [40, 5], s, lam=np.float32([0.3, 0, 9.5, 20, 1e4]), dtype=tf.int64
        ),
        0,
    ),
    "poisson without rate": (
        lambda s: tf.random.stateless_poisson([4, 2], s, lam=np.array([np.nan, 3.0])),
        0,
    ),
    "binomial": (
        lambda s: tf.random.stateless_binomial(
            [40, 6],
            s,
            counts=np.array([10.0, 10, 100, 1000, 5, 0]),
            probs=np.array([0.3, 1, 0.5, 0.9, 0, 0.3]),
        ),
        0,
    ),
    "binomial of all pairs": (
        lambda s: tf.random.stateless_binomial(
            [9, 2, 2], s, counts=np.array([[10.0], [1e6]]), probs=np.array([0.3, 1e-7])
        ),
        0,
    ),
    "none": (lambda s: tf.random.stateless_truncated_normal([0, 3], s), 0),
    "no gamma": (lambda s: tf.random.stateless_gamma([0, 2], s, alpha=np.float32([2, 3])), 0),
}


@functools.cache
def drawing_model(name: str) -> ExportReport:
    """One model for all seeds."""
    return export(traced(DRAWS[name][0], SEED), verify=False)


@pytest.mark.parametrize("name", DRAWS)
@few
@given(seed=st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2))
def test_random_numbers_are_those_of_the_seed(name: str, seed: tuple[int, int]) -> None:
    draw, allowed = DRAWS[name]
    (found,) = run_model(drawing_model(name), [np.array(seed, np.int64)])
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

    # The transposes of the input and the output.
    assert export(traced(net, image())).transposes == 2


METHODS = [
    *("nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian"),
    "mitchellcubic",
]
ANY_IMAGE = TensorSpec([None, None, None, 2], np.float32, name="image")
NEW_SIZE = TensorSpec([2], np.int32, name="size")


@functools.cache
def resizer(method: str, antialias: bool) -> Any:
    """A session that resizes images from any size to any size."""

    def net(x: Any, size: Any) -> Any:
        return tf.image.resize(x, size, method, antialias=antialias)

    function = traced(net, ANY_IMAGE, NEW_SIZE)
    return open_session(export(function, verify=False).model.SerializeToString())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
@settings(max_examples=settings().max_examples // 2)
@given(sizes=st.tuples(*[st.integers(1, 70)] * 4), seed=st.integers(0, 99))
def test_pictures_of_any_size_become_what_the_kernel_makes(
    method: str, antialias: bool, sizes: tuple[int, ...], seed: int
) -> None:
    x = np.random.default_rng(seed).standard_normal((1, *sizes[:2], 2)).astype("f4")
    new = np.array(sizes[2:], np.int32)
    (found,) = run_session(resizer(method, antialias), {"image": x, "size": new})
    wanted = np.asarray(tf.image.resize(x, new, method, antialias=antialias))
    if wanted.shape == x.shape and sizes[:2] == sizes[2:]:
        wanted = x  # the kernel copies it, the model computes it
    # ONNX Runtime computes the positions of bilinear points differently, by up to 70 * 2 ** -23.
    allowed = {"nearest": 0.0, "bilinear": 1e-4}.get(method, 1e-5)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=allowed)


@pytest.mark.parametrize("method", ["bicubic", "nearest", "lanczos3"])
def test_pictures_of_any_size_between_convolutions_are_not_transposed(method: str) -> None:
    def net(x: Any) -> Any:
        y = conv(x, 4)
        size = op("Shape", y)[1:3] * 2 - 1
        return conv(tf.image.resize(y, size, method, antialias=True), 3)

    # The transposes of the input and the output; another is that of the columns' matrix.
    spec = TensorSpec([None, None, None, 2], np.float32, name="image")
    assert export(traced(net, spec)).transposes == 2 + (method != "nearest")


def test_every_point_becomes_as_many_in_one_operator() -> None:
    def net(x: Any) -> Any:
        return tf.image.resize(x, op("Shape", x)[1:3] * np.array([2, 3], np.int32), "nearest")

    assert export(traced(net, ANY_IMAGE)).op_counts["Resize"] == 1


def test_a_transposed_convolution_of_any_size_needs_no_sizes() -> None:
    layer = tf.keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")
    model = tf.keras.Sequential([tf.keras.Input((None, None, 3)), layer])
    assert export(model).op_counts == {"ConvTranspose": 1, "Transpose": 2}


# Components of sparse and ragged tensors.

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


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_one_resize_behind_another_is_loaded(method: str) -> None:
    def net(x: Any) -> Any:
        return tf.image.resize(tf.image.resize(x, [32, 16]), [64, 48], method)

    spec = TensorSpec([None, 16, 16, 3], np.float32, name="image")
    found = export(traced(net, spec))  # compared with ONNX Runtime
    assert found.op_counts["Resize"] == 2


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_one_resize_behind_another_of_unknown_sizes_is_no_resize(method: str) -> None:
    def net(x: Any) -> Any:
        size = tf.shape(x)[1:3]
        return tf.image.resize(tf.image.resize(x, size // 2 + 1), size * 2 // 3 + 1, method)

    found = export(traced(net, TensorSpec([None, None, None, 3], np.float32, name="image")))
    assert "Resize" not in found.op_counts  # rounded differently unless the scale is an integer


# Integers beyond their types wrap, as NumPy's do.

_ROWS = np.array([[100, 100, 3], [90, 110, 77], [99, 5, 101], [120, 117, 119], [123, 125, 127]])


def _large(dtype: str) -> Any:
    return _ROWS.astype(dtype) * np.array({"int32": 10**7, "int64": 10**16}.get(dtype, 1), dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "int32", "int64"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1], []])
@pytest.mark.parametrize("keep", [False, True])
def test_products_over_axes_that_are_computed_wrap(dtype: str, axes: list[int], keep: bool) -> None:
    specs = [tf.TensorSpec([5, 3], dtype), tf.TensorSpec([len(axes)], tf.int32)]
    function = tf.function(lambda x, a: tf.reduce_prod(x, a, keepdims=keep), specs, autograph=False)
    report = export(function.get_concrete_function())
    x = _large(dtype)
    (got,) = run_model(report, [x, np.array(axes, np.int32)])
    np.testing.assert_array_equal(got, np.prod(x, tuple(axes), dtype=dtype, keepdims=keep))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_powers_of_whole_numbers_wrap(dtype: str) -> None:
    x, y = _large(dtype), np.array([0, 5, 31], dtype)
    with np.errstate(over="ignore"):
        wanted = np.power(x, y), np.power(x, np.array(7, dtype))
    specs = [tf.TensorSpec([None, 3], dtype), tf.TensorSpec([3], dtype)]
    function = tf.function(
        lambda x, y: (tf.pow(x, y), tf.pow(x, tf.constant(7, dtype))), specs, autograph=False
    )
    for got, right in zip(
        run_model(export(function.get_concrete_function()), [x, y]), wanted, strict=True
    ):
        np.testing.assert_array_equal(got, right)


def test_sums_of_products_of_whole_numbers_wrap() -> None:
    specs = [tf.TensorSpec([None, 3], tf.int32)]
    function = tf.function(lambda x: tf.einsum("ij->i", x), specs, autograph=False)
    x = _large("int32")
    (got,) = run_model(export(function.get_concrete_function()), [x])
    np.testing.assert_array_equal(got, np.sum(x, 1, dtype=np.int32))


def test_means_of_segments_are_quotients_of_what_the_type_holds() -> None:
    function = tf.function(
        lambda x: tf.math.segment_mean(x, [0, 0, 0, 1, 1]),
        [tf.TensorSpec([5, 3], tf.int8)],
        autograph=False,
    )
    wanted = np.int8([[11, -13, -25], [-6, -7, -5]])  # TensorFlow 2.21
    np.testing.assert_array_equal(function(_large("int8")), wanted)
    (got,) = run_model(export(function.get_concrete_function()), [_large("int8")])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("axes", [[2], [0, 1], [1, 0], [-1, 0], [2, 1, 0], []])
@pytest.mark.parametrize("keep", [False, True])
def test_strings_are_joined_along_axes(axes: list[int], keep: bool) -> None:
    def join(x: Any) -> Any:
        return tf.strings.reduce_join(x, axes, keepdims=keep, separator="±")

    specs = [tf.TensorSpec([None, 3, None], tf.string)]
    report = export(tf.function(join, specs, autograph=False).get_concrete_function(), opset=20)
    assert report.compared.keys() >= {"drawn", "no rows", "no elements"}
    x = np.array([[["a", "1 2"], ["", "é"], ["c", "d"]]] * 2, object)
    session = open_session(report.model.SerializeToString())
    (got,) = session.run(None, {session.get_inputs()[0].name: x})
    # The axis named first is the innermost.
    wanted = np.asarray(join(tf.constant(x)))
    assert np.ravel(got).tolist() == [text.decode() for text in np.ravel(wanted)]
