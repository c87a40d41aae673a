"""`tf.estimator`: model functions with a folder from which training resumes."""

from pinnace.estimator import export as export
from pinnace.estimator import tpu as tpu
from pinnace.estimator.estimator import Estimator as Estimator
from pinnace.estimator.hooks import CheckpointSaverListener as CheckpointSaverListener
from pinnace.estimator.hooks import LoggingTensorHook as LoggingTensorHook
from pinnace.estimator.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from pinnace.estimator.hooks import SessionRunArgs as SessionRunArgs
from pinnace.estimator.hooks import SessionRunContext as SessionRunContext
from pinnace.estimator.hooks import SessionRunHook as SessionRunHook
from pinnace.estimator.hooks import SessionRunValues as SessionRunValues
from pinnace.estimator.hooks import StopAtStepHook as StopAtStepHook
from pinnace.estimator.run_config import RunConfig as RunConfig
from pinnace.estimator.specs import EstimatorSpec as EstimatorSpec
from pinnace.estimator.specs import ModeKeys as ModeKeys
from pinnace.estimator.training import EvalSpec as EvalSpec
from pinnace.estimator.training import FinalExporter as FinalExporter
from pinnace.estimator.training import LatestExporter as LatestExporter
from pinnace.estimator.training import TrainSpec as TrainSpec
from pinnace.estimator.training import train_and_evaluate as train_and_evaluate
