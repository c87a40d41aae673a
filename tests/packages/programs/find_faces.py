"""mtcnn: three subclassed models that build by hand, images scaled by `tf.image`."""

import json

import numpy as np
from mtcnn import MTCNN

RNG = np.random.default_rng(0)
IMAGE = np.repeat(np.repeat(RNG.random((20, 20, 3)) * 255, 10, 0), 10, 1).astype("uint8")
# There is no face: the thresholds let the most similar region pass.
LOW = {"threshold_pnet": 0.15, "threshold_rnet": 0.02, "threshold_onet": 0.001}
FOUND = MTCNN().detect_faces(IMAGE, **LOW)
PLACES = [[*map(int, face["box"])] for face in FOUND]
POINTS = [{key: [*map(int, xy)] for key, xy in face["keypoints"].items()} for face in FOUND]
print(
    json.dumps(
        {"places": PLACES, "points": POINTS, "sure": [float(f["confidence"]) for f in FOUND]}
    )
)
