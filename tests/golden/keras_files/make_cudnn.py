"""Models with `CuDNNLSTM` and `CuDNNGRU`, as Keras 2 wrote them on GPUs.

Their layers can be built without a GPU, but not run: the results are those of `LSTM` and `GRU`,
into which Keras itself loaded the weights of the same file. Run by a Python that has TensorFlow and
tf_keras, from the root of the repository:

    export TF_USE_LEGACY_KERAS=1 PYTHONPATH=tests:FOLDER_OF_TF_KERAS
    python tests/golden/keras_files/make_cudnn.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_keras.src.layers.rnn.cudnn_gru import CuDNNGRU
from tf_keras.src.layers.rnn.cudnn_lstm import CuDNNLSTM

from support.golden import record

L = tf_keras.layers
FOLDER = Path(__file__).parent / "keras_2_cudnn"


def lstm_of_today(units: int, **options: Any) -> Any:
    return L.LSTM(units, recurrent_activation="sigmoid", **options)


def gru_of_today(units: int, **options: Any) -> Any:
    return L.GRU(units, recurrent_activation="sigmoid", reset_after=True, **options)


def model(lstm: Any, gru: Any) -> Any:
    return tf_keras.Sequential(
        [
            tf_keras.Input((6, 4)),
            lstm(3, return_sequences=True, name="first"),
            gru(4, return_sequences=True, name="second"),
            L.Bidirectional(lstm(2, return_sequences=True, name="inner"), name="third"),
            L.Bidirectional(gru(2, name="innermost"), merge_mode="sum", name="fourth"),
            L.Dense(2, name="last"),
        ]
    )


def unanswered(states: int) -> Any:
    """Zeros of the right shape in place of what only a GPU computes."""

    def process(self: Any, inputs: Any, initial_state: Any) -> Any:
        del initial_state
        one = tf.zeros([tf.shape(inputs)[0], self.units])
        every = tf.zeros([tf.shape(inputs)[0], inputs.shape[1], self.units])
        return (every if self.return_sequences else one), [one] * states

    return process


def main() -> None:
    """Write the file and the results."""
    FOLDER.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for layer, states in ((CuDNNLSTM, 2), (CuDNNGRU, 1)):
        layer._process_batch = unanswered(states)
    on_gpu = model(CuDNNLSTM, CuDNNGRU)
    on_gpu.set_weights([rng.normal(size=w.shape) for w in on_gpu.weights])
    on_gpu.save(FOLDER / "recurrent.h5")
    here = model(lstm_of_today, gru_of_today)
    here.load_weights(FOLDER / "recurrent.h5")
    x = rng.normal(size=(3, 6, 4)).astype("float32")
    np.savez_compressed(FOLDER / "recurrent.npz", x0=x, y0=here(x))
    record(
        "keras_files/keras_2_cudnn",
        script="keras_files/make_cudnn.py",
        made_with=f"tensorflow {tf.__version__}, tf-keras {tf_keras.__version__}",
    )


if __name__ == "__main__":
    main()
