"""Writes core/ops/math/sobol_numbers.bin: where Sobol sequences of 21200 dimensions begin.

The numbers are those of Joe and Kuo, "Constructing Sobol sequences with better two-dimensional
projections", 2008 (new-joe-kuo-6.21201), as SciPy has them: python tools/sobol_numbers.py

A dimension is a primitive polynomial of degree d and d odd numbers m, of which m[j] has j + 1 bits.
The polynomials are all of degree 1, of degree 2, ... in the order of their bits, and are computed
when they are needed. Of the numbers j bits of each m[j] are written, without its last, from the
highest bit on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.stats

FILE = Path(__file__).resolve().parents[1] / "core/ops/math/sobol_numbers.bin"
DIMENSIONS = 21200  # as many as TensorFlow has


def main() -> None:
    """Write the file."""
    table = np.load(Path(scipy.stats.__file__).with_name("_sobol_direction_numbers.npz"))
    bits: list[str] = []
    for polynomial, numbers in zip(
        table["poly"][1:DIMENSIONS].tolist(), table["vinit"][1:DIMENSIONS].tolist(), strict=True
    ):
        degree = polynomial.bit_length() - 1
        bits.extend(f"{numbers[j] >> 1:0{j}b}" for j in range(1, degree))
    text = "".join(bits)
    flags = np.frombuffer(text.encode(), np.uint8) - ord("0")
    FILE.write_bytes(np.packbits(flags).tobytes())


if __name__ == "__main__":
    main()
