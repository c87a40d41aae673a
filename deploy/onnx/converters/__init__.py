"""The converters, in the folders and files of `core/ops`."""

from pinnace.deploy.onnx.converters import array as array
from pinnace.deploy.onnx.converters import audio as audio
from pinnace.deploy.onnx.converters import composites as composites
from pinnace.deploy.onnx.converters import control as control
from pinnace.deploy.onnx.converters import functional as functional
from pinnace.deploy.onnx.converters import image as image
from pinnace.deploy.onnx.converters import linalg as linalg
from pinnace.deploy.onnx.converters import math as math
from pinnace.deploy.onnx.converters import nn as nn
from pinnace.deploy.onnx.converters import outside as outside
from pinnace.deploy.onnx.converters import quantization as quantization
from pinnace.deploy.onnx.converters import ragged as ragged
from pinnace.deploy.onnx.converters import random as random
from pinnace.deploy.onnx.converters import signal as signal
from pinnace.deploy.onnx.converters import sparse as sparse
from pinnace.deploy.onnx.converters import state as state
from pinnace.deploy.onnx.converters import strings as strings
