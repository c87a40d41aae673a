"""Writes gpt2/ beside it: a small GPT-2 with random weights whose signature generates tokens.

Run with the transformers and Keras 2 of `make producers` beside TensorFlow:
PYTHONPATH=TRANSFORMERS:KERAS2 python tests/golden/generators/make.py
"""

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
import tf_keras
import transformers

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above


def main() -> None:
    tf_keras.utils.set_random_seed(7)
    config = transformers.GPT2Config(
        vocab_size=61,
        n_embd=12,
        n_layer=1,
        n_head=3,
        n_positions=32,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        initializer_range=0.6,
    )
    model = transformers.TFGPT2LMHeadModel(config)
    names = ("input_ids", "attention_mask")

    @tf.function(input_signature=[tf.TensorSpec((2, None), tf.int32, name) for name in names])
    def serve(input_ids: Any, attention_mask: Any) -> Any:
        given = {"input_ids": input_ids, "attention_mask": attention_mask}
        return {"sequences": model.generate(**given, max_new_tokens=9)}

    words = np.array([[11, 12, 13], [0, 21, 22]], np.int32)
    mask = (words != 0).astype(np.int32)
    sequences = serve(tf.constant(words), tf.constant(mask))["sequences"].numpy()
    module = tf.Module()
    module.weights = model.variables  # and not the model: its layers' own functions are large
    tf.saved_model.save(module, str(HERE / "gpt2" / "model"), signatures=serve)
    answers = {"in/input_ids": words, "in/attention_mask": mask, "out/sequences": sequences}
    np.savez_compressed(HERE / "gpt2" / "io.npz", **answers)
    versions = f"transformers {transformers.__version__}, tensorflow {tf.__version__}"
    record("generators/gpt2", script="generators/make.py", made_with=versions)


if __name__ == "__main__":
    main()
