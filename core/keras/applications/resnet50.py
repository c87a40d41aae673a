"""`keras.applications.resnet50`."""

from pinnace.keras.applications.resnet import ResNet50 as ResNet50
from pinnace.keras.applications.resnet import decode_predictions as decode_predictions
from pinnace.keras.applications.resnet import preprocess_input as preprocess_input
