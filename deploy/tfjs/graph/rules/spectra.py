"""Fourier transforms, whose length TensorFlow.js takes from the signal."""

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.graph.graph import Value


@rule("RFFT")
def rfft(r: Rewrite) -> tuple[Value, ...] | None:
    """The transform of the signal, cropped or padded with zeros to the length."""
    x, length = r.inputs
    known = r.known(1)
    r.needs(known is not None, "of a length that is not known")
    length_of_x, wanted = x.shape[-1] if x.shape.rank else None, int(np.reshape(known, -1)[0])
    r.needs(length_of_x is not None, "of a signal of unknown length")
    size = int(length_of_x or 0)
    if size == wanted:
        return None
    rank = len(x.shape)
    if size > wanted:
        begin = r.constant([0] * rank, np.int32)
        cut = r.op("Slice", x, begin, r.constant([*[-1] * (rank - 1), wanted], np.int32))
        return r.same(cut, length)
    edges = np.zeros((rank, 2), np.int32)
    edges[-1, 1] = wanted - size
    return r.same(r.op("Pad", x, r.constant(edges)), length)


@rule("IRFFT")
def irfft(r: Rewrite) -> None:
    """Refuse lengths that the number of coefficients does not determine."""
    x = r.inputs[0]
    known = r.known(1)
    size = x.shape[-1] if x.shape.rank else None
    r.needs(
        known is not None and size is not None and int(np.reshape(known, -1)[0]) == 2 * (size - 1),
        "its length does not follow from the number of coefficients",
    )
