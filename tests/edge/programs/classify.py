"""python classify.py MODEL.tflite PIXELS.npy: MediaPipe's classification of an image, as JSON.

It takes the labels and the normalization from the file's metadata.
"""

import json
import sys

import mediapipe as mp
import numpy as np
from mediapipe.tasks.python import BaseOptions, vision

model, pixels = sys.argv[1:]
options = vision.ImageClassifierOptions(base_options=BaseOptions(model_asset_path=model))
with vision.ImageClassifier.create_from_options(options) as classifier:
    picture = mp.Image(image_format=mp.ImageFormat.SRGB, data=np.load(pixels))
    (found,) = classifier.classify(picture).classifications
    sys.stdout.write(json.dumps({one.category_name: one.score for one in found.categories}) + "\n")
