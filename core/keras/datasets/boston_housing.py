"""House prices in Boston's suburbs in the 1970s: 506 rows of 13 numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.datasets.archives import arrays
from pinnace.keras.datasets.files import DIABETES, HOST, fetched
from pinnace.keras.datasets.splitting import check_split, split

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHA256 = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


def load_data(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    One column was computed from the share of Black residents, on the assumption that it affects
    prices; `california_housing` has no such column.

    Args:
        path: name of the file in `~/.keras/datasets`.
        test_split: the share of the second part, from 0 up to, and without, 1.
        seed: seed of the order of the rows.

    Returns:
        Numbers, float64 [n, 13]; prices in thousands of dollars, float64 [n].

    Raises:
        OSError: the file is not there and cannot be fetched; the error says what to put where.
        ValueError: unknown `test_split`, or another file.
    """
    check_split("boston_housing", test_split)
    origin = f"{HOST}boston_housing.npz"
    file = fetched("boston_housing", path, origin, _SHA256, instead=DIABETES)
    x, y = arrays(file, "x", "y")
    return split(x, y, test_split, seed)
