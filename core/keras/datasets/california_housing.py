"""House prices in California's districts in 1990: 20,640 rows of 8 numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.keras.datasets.archives import arrays
from pinnace.keras.datasets.files import DIABETES, HOST, fetched
from pinnace.keras.datasets.splitting import check_split, split

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHA256 = "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f"
_SMALL = 600


def load_data(
    version: str = "large",
    path: str = "california_housing.npz",
    test_split: float = 0.2,
    seed: int = 113,
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """((x_train, y_train), (x_test, y_test)).

    Args:
        version: `large`, or `small`: the first 600 rows.
        path: name of the file in `~/.keras/datasets`.
        test_split: the share of the second part, from 0 up to, and without, 1.
        seed: seed of the order of the rows.

    Returns:
        Numbers, [n, 8]: income, age, rooms, bedrooms, population, occupants, latitude, longitude;
        median prices in dollars, [n].

    Raises:
        OSError: the file is not there and cannot be fetched; the error says what to put where.
        ValueError: unknown `version` or `test_split`, or another file.
    """
    if version not in {"large", "small"}:
        raise ValueError(
            f"keras.datasets.california_housing: version must be large or small, got {version!r}"
        )
    check_split("california_housing", test_split)
    origin = f"{HOST}california_housing.npz"
    file = fetched("california_housing", path, origin, _SHA256, instead=DIABETES)
    x, y = arrays(file, "x", "y")
    rows = _SMALL if version == "small" else len(x)
    return split(x[:rows], y[:rows], test_split, seed)
