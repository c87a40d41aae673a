"""The arguments of `export_saved_model`: receivers and outputs, `tf.estimator.export`."""

from pinnace.estimator.export_outputs import ClassificationOutput as ClassificationOutput
from pinnace.estimator.export_outputs import PredictOutput as PredictOutput
from pinnace.estimator.export_outputs import RegressionOutput as RegressionOutput
from pinnace.estimator.receivers import ServingInputReceiver as ServingInputReceiver
from pinnace.estimator.receivers import (
    build_parsing_serving_input_receiver_fn as build_parsing_serving_input_receiver_fn,
)
from pinnace.estimator.receivers import (
    build_raw_serving_input_receiver_fn as build_raw_serving_input_receiver_fn,
)
