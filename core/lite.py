"""TensorFlow's `tf.lite`: what writes .tflite files, and an interpreter where there is one."""

from pinnace.deploy.lite.tensorflow_names import Interpreter as Interpreter
from pinnace.deploy.lite.tensorflow_names import OpsSet as OpsSet
from pinnace.deploy.lite.tensorflow_names import Optimize as Optimize
from pinnace.deploy.lite.tensorflow_names import RepresentativeDataset as RepresentativeDataset
from pinnace.deploy.lite.tensorflow_names import TargetSpec as TargetSpec
from pinnace.deploy.lite.tensorflow_names import TFLiteConverter as TFLiteConverter
