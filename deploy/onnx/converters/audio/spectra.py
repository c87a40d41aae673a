"""Audio spectrograms by matrix products, in float64 as in the kernels."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.ops.audio import spectra

# DFT and STFT take no window shorter than the transform; a matrix of this size has 64 MB.
_LONGEST = 2048


@converts("AudioSpectrogram")
def audio_spectrogram(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Windows gathered, times the window function and the cosines and sines of each frequency."""
    size, stride = int(call.attr("window_size")), int(call.attr("stride"))
    if size > _LONGEST:
        call.fail(f"its windows must have at most {_LONGEST} samples")
    length = spectra.transform_length(size)
    angles = 2 * np.pi / length * np.outer(np.arange(size), np.arange(length // 2 + 1))
    window = spectra.hann(size)[:, None]
    room = g.op("Max", g.binary("Sub", g.size_of(x, 0), size - stride), g.ints(0))
    count = g.scalar(g.op("Div", room, g.ints(stride)))
    starts = g.unsqueeze(g.binary("Mul", g.iota(count), stride), 1)
    places = g.op("Add", starts, g.constant(np.arange(size)))
    signal = g.transpose(g.cast(x, dtypes.float64), [1, 0])
    windows = g.op("Gather", signal, places, axis=1)
    parts = [
        g.op("MatMul", windows, g.constant(window * table))
        for table in (np.cos(angles), np.sin(angles))
    ]
    power = g.op("Add", *(g.op("Mul", part, part) for part in parts))
    return g.cast(power if call.attr("magnitude_squared") else g.op("Sqrt", power), dtypes.float32)


@converts("Mfcc", constants=("sample_rate",))
def mfcc(g: GraphBuilder, call: NodeView, x: Value, rate: Value) -> Value:
    """Mel filters, logarithms, then the cosine transform."""
    del rate
    bins = x.shape[2]
    if bins is None:
        call.fail("the number of frequencies must be known")
    low, high = (float(call.attr(f"{end}_frequency_limit")) for end in ("lower", "upper"))
    count = int(call.attr("filterbank_channel_count"))
    weights = spectra.filterbank(bins, call.needed_int(1, "sample_rate"), low, high, count)
    energies = g.op("MatMul", g.op("Sqrt", g.cast(x, dtypes.float64)), g.constant(weights))
    logs = g.op("Log", g.op("Max", energies, g.like(energies, spectra.FLOOR)))
    table = spectra.cosines(count, int(call.attr("dct_coefficient_count")))
    return g.cast(g.op("MatMul", logs, g.constant(table)), dtypes.float32)
