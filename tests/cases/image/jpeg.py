"""Cases of core/ops/image/jpeg.py: the header of a file."""

import numpy as np

from cases.image.codecs import one
from golden.functions.image import PICTURES
from support.drawing import random_arrays
from support.opcase import OpCase

HEADS = {"colours.jpg": [20, 31, 3], "grey.jpg": [20, 31, 1]}


CASES = [
    *(
        OpCase(
            "ExtractJpegShape",
            random_arrays(
                lambda rng, name=name: (one((PICTURES / name).read_bytes()),)  # noqa: ARG005
            ),
            lambda _, sizes=sizes: np.array(sizes),
        )
        for name, sizes in HEADS.items()
    ),
]
