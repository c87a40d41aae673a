"""`tf.lite`: the converter to .tflite files, and an interpreter if one is installed."""

from pinnace.deploy.lite.tensorflow_names import Interpreter as Interpreter
from pinnace.deploy.lite.tensorflow_names import OpsSet as OpsSet
from pinnace.deploy.lite.tensorflow_names import Optimize as Optimize
from pinnace.deploy.lite.tensorflow_names import RepresentativeDataset as RepresentativeDataset
from pinnace.deploy.lite.tensorflow_names import TargetSpec as TargetSpec
from pinnace.deploy.lite.tensorflow_names import TFLiteConverter as TFLiteConverter
