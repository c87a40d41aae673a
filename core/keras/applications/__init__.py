"""`keras.applications`: networks for pictures, with their names, weights and files in Keras."""

from pinnace.keras.applications import imagenet_utils as imagenet_utils
from pinnace.keras.applications import vgg16 as vgg16
from pinnace.keras.applications import vgg19 as vgg19
from pinnace.keras.applications.vgg16 import VGG16 as VGG16
from pinnace.keras.applications.vgg19 import VGG19 as VGG19
