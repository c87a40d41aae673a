"""`keras.applications`: networks for pictures, with their names, weights and files in Keras."""

from pinnace.keras.applications import densenet as densenet
from pinnace.keras.applications import imagenet_utils as imagenet_utils
from pinnace.keras.applications import mobilenet as mobilenet
from pinnace.keras.applications import mobilenet_v2 as mobilenet_v2
from pinnace.keras.applications import mobilenet_v3 as mobilenet_v3
from pinnace.keras.applications import resnet as resnet
from pinnace.keras.applications import resnet50 as resnet50
from pinnace.keras.applications import resnet_v2 as resnet_v2
from pinnace.keras.applications import vgg16 as vgg16
from pinnace.keras.applications import vgg19 as vgg19
from pinnace.keras.applications.densenet import DenseNet121 as DenseNet121
from pinnace.keras.applications.densenet import DenseNet169 as DenseNet169
from pinnace.keras.applications.densenet import DenseNet201 as DenseNet201
from pinnace.keras.applications.mobilenet import MobileNet as MobileNet
from pinnace.keras.applications.mobilenet_v2 import MobileNetV2 as MobileNetV2
from pinnace.keras.applications.mobilenet_v3 import MobileNetV3Large as MobileNetV3Large
from pinnace.keras.applications.mobilenet_v3 import MobileNetV3Small as MobileNetV3Small
from pinnace.keras.applications.resnet import ResNet50 as ResNet50
from pinnace.keras.applications.resnet import ResNet101 as ResNet101
from pinnace.keras.applications.resnet import ResNet152 as ResNet152
from pinnace.keras.applications.resnet_v2 import ResNet50V2 as ResNet50V2
from pinnace.keras.applications.resnet_v2 import ResNet101V2 as ResNet101V2
from pinnace.keras.applications.resnet_v2 import ResNet152V2 as ResNet152V2
from pinnace.keras.applications.vgg16 import VGG16 as VGG16
from pinnace.keras.applications.vgg19 import VGG19 as VGG19
