"""Functions of `keras.ops` in traced functions and functional models, and invalid arguments."""

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import ops
from support.keras_operations_more import CASES

# Functions that return NumPy arrays, or whose first argument is a shape.
AT_ONCE = {"convert_to_numpy"}


def arrays(results: Any) -> list[Any]:
    several = results if isinstance(results, (list, tuple)) else [results]
    return [np.asarray(x) for x in several]


@pytest.mark.parametrize("name", sorted(CASES.keys() - AT_ONCE))
def test_a_traced_function_gives_the_same(name: str) -> None:
    arguments = CASES[name][0]
    held = [isinstance(x, np.ndarray) for x in arguments]
    given = [tf.constant(x) for x, tensor in zip(arguments, held, strict=True) if tensor]

    def called(*tensors: Any) -> Any:
        rest = iter(tensors)
        return getattr(ops, name)(
            *(next(rest) if tensor else x for x, tensor in zip(arguments, held, strict=True))
        )

    wanted, found = arrays(called(*given)), arrays(tf.function(called)(*given))
    assert len(found) == len(wanted)
    for ours, plain in zip(found, wanted, strict=True):
        assert (ours.dtype, ours.shape) == (plain.dtype, plain.shape)
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


def test_functions_are_pickled_by_the_names_they_are_defined_under() -> None:
    functions = [f for f in vars(ops).values() if inspect.isfunction(f) and f.__name__[0] != "_"]
    assert len(functions) > 300
    for function in functions:
        assert pickle.loads(pickle.dumps(function)) is function, function  # noqa: S301 (its own bytes)
        assert function.__doc__, function


MODELS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(ops, name)
        for name in (
            *("angle", "arcsinh", "cbrt", "deg2rad", "exp2", "fabs", "i0", "isreal", "signbit"),
            *("sinc", "trunc", "erfc", "celu", "hard_tanh", "sparsemax", "squareplus", "swish"),
            *("layer_normalization", "rms_normalization", "glu", "fliplr", "empty_like", "diff"),
            "trapezoid",
        )
    },
    "hypot": lambda x: ops.hypot(x, 2.0),
    "fmax": lambda x: ops.fmax(x, x * 0.5),
    "isclose": lambda x: ops.isclose(x, x),
    "digitize": lambda x: ops.digitize(x, [0.0, 0.5]),
    "average": lambda x: ops.average(x, axis=1),
    "median": lambda x: ops.median(x, axis=1),
    "quantile": lambda x: ops.quantile(x, [0.2, 0.4], axis=(1, 2)),
    "nanmean": lambda x: ops.nanmean(x, axis=-1),
    "nanargmax": lambda x: ops.nanargmax(x, axis=-1),
    "rot90": lambda x: ops.rot90(x, axes=(1, 2)),
    "diagonal": lambda x: ops.diagonal(x, 0, 1, 2),
    "rearrange": lambda x: ops.rearrange(x, "b (r s) c -> b s (c r)", r=2),
    "hsplit": lambda x: ops.hsplit(x, 2)[1],
    "cdist": lambda x: ops.cdist(x, x),
    "inner": lambda x: ops.inner(x, np.ones(6, "float32")),
    "rfft": lambda x: ops.rfft(x)[0],
    "svd": lambda x: ops.svd(x, compute_uv=False),
    "extract_sequences": lambda x: ops.extract_sequences(x, 3, 2),
    "depthwise_conv": lambda x: ops.depthwise_conv(x, np.ones((2, 6, 1), "float32"), 2, "same"),
    "conv_transpose": lambda x: ops.conv_transpose(x, np.ones((3, 2, 6), "float32"), 2),
    "adaptive_max_pool": lambda x: ops.adaptive_max_pool(x, 3),
    "attention": lambda x: ops.dot_product_attention(*[ops.reshape(x, (-1, 4, 2, 3))] * 3),
    "binary_crossentropy": lambda x: ops.binary_crossentropy(ops.cast(x > 0, "float32"), x, True),
    "vectorized_map": lambda x: ops.vectorized_map(lambda row: ops.sum(row), x),
    "scan": lambda x: ops.scan(lambda c, r: (c + r, c), ops.zeros((4, 6)), x)[1],
    "associative_scan": lambda x: ops.associative_scan(lambda a, b: a + b, x, axis=1),
    "segment_max": lambda x: ops.segment_max(x, np.array([0, 1, 0]), 2),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_functional_model_is_made_of_it(name: str) -> None:
    x = np.random.default_rng(2).normal(size=(3, 4, 6)).astype("float32")
    inputs = tf.keras.Input((4, 6))
    outputs = MODELS[name](inputs)
    model = tf.keras.Model(inputs, outputs)
    found, wanted = np.asarray(model(x)), np.asarray(MODELS[name](tf.constant(x)))
    assert tf.TensorShape(outputs.shape).is_compatible_with(wanted.shape)
    assert outputs.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


X = np.ones((3, 4), "float32")
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "gcd": (lambda: ops.gcd(X, 2), TypeError, "must be integers, got float32"),
    "ldexp": (lambda: ops.ldexp(X, 0.5), TypeError, "x2 must be integers"),
    "view": (lambda: ops.view(X[:, :3], "float64"), ValueError, "whole number of float64"),
    "view_as_complex": (lambda: ops.view_as_complex(X), ValueError, "real and imaginary"),
    "linspace": (lambda: ops.linspace(0, 1, -2), ValueError, "must not be negative, got -2"),
    "moveaxis": (lambda: ops.moveaxis(X, 0, 2), ValueError, "axis 2 is out of bounds"),
    "swapaxes": (lambda: ops.swapaxes(X, 0, -3), ValueError, "axis -3 is out of bounds"),
    "diagonal": (lambda: ops.diagonal(X, 0, 0, -3), ValueError, "axis -3 is out of bounds"),
    "rot90": (lambda: ops.rot90(X, axes=(0, 0)), ValueError, "two different ones"),
    "diag": (lambda: ops.diag(1.0), ValueError, "a vector or a matrix"),
    "rearrange": (lambda: ops.rearrange(X, "a b -> a"), ValueError, "name each of the 2 axes"),
    "rearrange_sizes": (lambda: ops.rearrange(X, "a (b c) -> a b c"), ValueError, "told apart"),
    "histogram": (lambda: ops.histogram(X[0], 0), ValueError, "positive number, got 0"),
    "histogram_axes": (lambda: ops.histogram(X), ValueError, "must be 1-dimensional"),
    "where": (lambda: ops.where(X > 0, X), ValueError, "both be given"),
    "extract_patches_3d": (
        lambda: ops.image.extract_patches_3d(X.reshape(1, 3, 2, 2, 1), 1, 2, 2),
        ValueError,
        "not supported in conjunction",
    ),
    "searchsorted": (lambda: ops.searchsorted(X, X), ValueError, "must have one axis"),
    "select": (lambda: ops.select([X > 0], []), ValueError, "equally long"),
    "unravel_index": (lambda: ops.unravel_index(1, (2, None)), ValueError, "must be known"),
    "diff": (lambda: ops.diff(X, -1), ValueError, "must not be negative"),
    "correlate": (lambda: ops.correlate(X[0], X[0], "half"), ValueError, "valid, full or same"),
    "psnr": (lambda: ops.psnr(X, X[0], 1.0), ValueError, "must have one shape"),
    "quantile": (lambda: ops.quantile(X, 0.5, method="exact"), ValueError, "must be one of linear"),
    "cross": (lambda: ops.cross(X, X), ValueError, "two or three elements"),
    "cdist": (lambda: ops.cdist(X, X[:, :2]), ValueError, "as many coordinates"),
    "cholesky": (lambda: ops.cholesky(X), ValueError, "must be square"),
    "qr": (lambda: ops.qr(X, "raw"), ValueError, "reduced or complete, got 'raw'"),
    "lstsq": (lambda: ops.lstsq(X, X.T), ValueError, "b must be"),
    "fft": (lambda: ops.fft(X), ValueError, "must be a pair"),
    "stft": (lambda: ops.stft(X, 4, 2, 3), ValueError, "must equal or be larger"),
    "stft_dtype": (lambda: ops.stft(X.astype(int), 2, 2, 2), TypeError, "float32 or float64"),
    "window": (lambda: ops.stft(X, 2, 2, 2, "flat"), ValueError, "must be hann or hamming"),
    "scan": (lambda: ops.scan(lambda c, x: (c, x), 1.0), ValueError, "xs or length"),
    "scan_function": (lambda: ops.scan(3, 1.0, X), TypeError, "must be a function"),
    "associative_scan": (
        lambda: ops.associative_scan(lambda a, _: a, [X, X[:2]]),
        ValueError,
        "one size along axis",
    ),
    "switch": (lambda: ops.switch(0, []), ValueError, "one function at least"),
    "jvp": (lambda: ops.jvp(lambda x: x, (X,), ()), ValueError, "one tangent per primal"),
    "scatter_update": (
        lambda: ops.scatter_update(X, [[0]], X[:1], "mean"),
        ValueError,
        "got 'mean'",
    ),
    "segment_sum": (
        lambda: ops.segment_sum(X, [0, 0, 1], 2, sorted=True),
        ValueError,
        "num_segments",
    ),
    "conv_transpose": (lambda: ops.conv_transpose(X, X), ValueError, "spatial axes"),
    "depthwise_conv": (
        lambda: ops.depthwise_conv(X[None], X[:2, :, None], padding="full"),
        ValueError,
        "or same",
    ),
    "data_format": (
        lambda: ops.adaptive_max_pool(X[None], 2, "last"),
        ValueError,
        "channels_first, got 'last'",
    ),
    "adaptive_max_pool": (
        lambda: ops.adaptive_max_pool(X[None], (2, 2)),
        ValueError,
        "output_size",
    ),
    "fold": (lambda: ops.fold(X[None], 4, 2), ValueError, "x must be"),
    "attention": (lambda: ops.dot_product_attention(X, X, X), ValueError, "depth"),
    "flash_attention": (
        lambda: ops.dot_product_attention(X, X, X, flash_attention=True),
        ValueError,
        "None or False",
    ),
    "layer_normalization": (lambda: ops.layer_normalization(X, scale=1), TypeError, "'scale'"),
    "multi_hot": (lambda: ops.multi_hot([1]), ValueError, "num_classes must be given"),
    "ctc_decode": (lambda: ops.ctc_decode(X[None], [3], "best"), ValueError, "greedy or beam"),
    "categorical_crossentropy": (
        lambda: ops.categorical_crossentropy(X, X[:2]),
        ValueError,
        "must have one shape",
    ),
    "result_type": (
        lambda: tf.keras.backend.result_type("float8_e5m2", "float32"),
        ValueError,
        "no common",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_told(name: str) -> None:
    call, error, told = REFUSED[name]
    with pytest.raises(error, match=told):
        call()
