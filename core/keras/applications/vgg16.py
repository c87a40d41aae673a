"""`keras.applications.vgg16`."""

from pinnace.keras.applications.imagenet_utils import decode_predictions as decode_predictions
from pinnace.keras.applications.less_means import preprocess_input as preprocess_input
from pinnace.keras.applications.vgg import VGG16 as VGG16
