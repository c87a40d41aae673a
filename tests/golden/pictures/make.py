"""Writes the pictures beside it: JPEG files by TensorFlow, of gradients with noise.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/pictures/make.py
"""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

rng = np.random.default_rng(7)
y, x = np.mgrid[:20, :31]
slopes = np.stack([y * 12, x * 8, 255 - x * 4 - y * 5], -1)
photo = np.clip(slopes + rng.integers(-9, 9, slopes.shape), 0, 255).astype(np.uint8)
FILES = {
    "colours.jpg": tf.io.encode_jpeg(photo, quality=80),
    "progressive.jpg": tf.io.encode_jpeg(photo, progressive=True, chroma_downsampling=False),
    "grey.jpg": tf.io.encode_jpeg(photo[..., :1], quality=60),
}
for name, data in FILES.items():
    (HERE / name).write_bytes(data.numpy())
    record(f"pictures/{name}", script="pictures/make.py", made_with=f"tensorflow {tf.__version__}")
