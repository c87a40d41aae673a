"""`keras.backend`, compared with Keras' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oracle import comparing, ours
from oracle.drawing import ASKED, drawn
from oracle.programs import backend

if TYPE_CHECKING:
    from oracle.peer import Peer

# Exponentials, sums of a few elements and divisions, in float32.
UNITS = 64


@st.composite
def matrices(draw: st.DrawFn) -> list[Any]:
    """Two matrices of one shape, without zeros, since logarithms and quotients follow."""
    shape = draw(st.tuples(st.integers(2, 4), st.integers(2, 4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    return [
        (rng.uniform(0.1, 3, shape) * rng.choice([-1, 1], shape)).astype(np.float32)
        for _ in range(2)
    ]


def test_functions_give_what_keras_gives(peer: Peer) -> None:
    @drawn(ASKED or 20)
    @given(inputs=matrices())
    def compare(inputs: Any) -> None:
        peer.send([{"program": ["backend", "functions"], "inputs": inputs}])
        here = ours.attempt(ours.run_program, backend.functions, inputs)
        (theirs,) = peer.receive()
        assert not comparing.failed(theirs), theirs
        assert not comparing.failed(here), here
        for index, (a, b) in enumerate(zip(theirs["values"], here[0], strict=True)):
            problem = comparing.array_differs(a, b, UNITS, UNITS)
            assert not problem, f"value {index}: {problem}"

    compare()
