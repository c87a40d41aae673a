"""Callbacks of training, evaluation and prediction."""

from pinnace.keras.callbacks.callback import Callback as Callback
from pinnace.keras.callbacks.callback_list import CallbackList as CallbackList
from pinnace.keras.callbacks.checkpoints import BackupAndRestore as BackupAndRestore
from pinnace.keras.callbacks.checkpoints import ModelCheckpoint as ModelCheckpoint
from pinnace.keras.callbacks.functions import LambdaCallback as LambdaCallback
from pinnace.keras.callbacks.history import History as History
from pinnace.keras.callbacks.learning_rate import LearningRateScheduler as LearningRateScheduler
from pinnace.keras.callbacks.learning_rate import ReduceLROnPlateau as ReduceLROnPlateau
from pinnace.keras.callbacks.logs import CSVLogger as CSVLogger
from pinnace.keras.callbacks.logs import TensorBoard as TensorBoard
from pinnace.keras.callbacks.progress import ProgbarLogger as ProgbarLogger
from pinnace.keras.callbacks.stopping import EarlyStopping as EarlyStopping
from pinnace.keras.callbacks.stopping import TerminateOnNaN as TerminateOnNaN
