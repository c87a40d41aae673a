"""Generators of transformers, of drawn weights: `written_words.py FOLDER NAME...`.

A signature `words_N` of each generates N words behind eight, greedily, for one row; no word ends
the sentence, so that a call is always as much work. Answers are TensorFlow's.
"""

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tf_keras
import transformers as hf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from producers.workloads import GENERATORS

LENGTH = 8
NO_END = {"bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0}


def gpt2(words: int, width: int, layers: int, heads: int, places: int = 256) -> Any:
    """Weights are spread so that no two words are nearly as likely."""
    spread = 0.6 if width < 100 else 0.08
    sizes = {"n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": places}
    config = hf.GPT2Config(**NO_END, vocab_size=words, initializer_range=spread, **sizes)
    return hf.TFGPT2LMHeadModel(config)


def t5() -> Any:
    """An encoder and a decoder."""
    config = hf.T5Config(
        vocab_size=97,
        d_model=24,
        d_kv=8,
        d_ff=40,
        num_layers=2,
        num_heads=3,
        decoder_start_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
        initializer_factor=2.0,
    )
    return hf.TFT5ForConditionalGeneration(config)


BUILT = {
    "gpt2_small": lambda: gpt2(97, 24, 2, 3),
    "t5_small": t5,
    # 25 million weights in eight blocks, 8 million in the embedding.
    "gpt2_33m": lambda: gpt2(16_384, 512, 8, 8),
}


def generator(model: Any, count: int) -> Any:
    """The signature that generates so many words."""
    spec = tf.TensorSpec((1, LENGTH), tf.int32, "input_ids")

    @tf.function(input_signature=[spec])
    def serve(input_ids: Any) -> Any:
        mask = tf.ones_like(input_ids)
        found = model.generate(
            input_ids=input_ids, attention_mask=mask, do_sample=False, max_new_tokens=count
        )
        return {"sequences": found}

    return serve


def main() -> None:
    """See above."""
    for name in sys.argv[2:]:
        target = Path(sys.argv[1]) / name
        target.mkdir()
        tf_keras.utils.set_random_seed(7)
        module = tf.Module()
        module.model = BUILT[name]()
        words = module.model.config.vocab_size
        asked = np.random.default_rng(5).integers(8, words, (1, LENGTH)).astype("i4")
        serving = {f"words_{n}": generator(module.model, n) for n in GENERATORS[name]}
        answers = {key: serve(tf.constant(asked))["sequences"] for key, serve in serving.items()}
        tf.saved_model.save(module, str(target / "model"), signatures=serving)
        np.savez(target / "asked.npz", input_ids=asked)
        np.savez(target / "answers.npz", **{key: y.numpy() for key, y in answers.items()})
        print(name, {key: y.shape for key, y in answers.items()}, flush=True)


if __name__ == "__main__":
    main()
