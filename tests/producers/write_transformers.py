"""Write models of transformers with their answers: `write_transformers.py FOLDER [NAME ...]`.

Runs where transformers, tf_keras and TensorFlow are, and knows nothing of pinnace. Each FOLDER/NAME
has `model/`, a SavedModel, and `io.npz`: inputs as `SIGNATURE/in/NAME`, TensorFlow's answers as
`SIGNATURE/out/NAME`. Architectures are the real ones, their sizes small and their weights drawn.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import tensorflow as tf
import tf_keras
import transformers as hf

RNG = np.random.default_rng(5)
WORDS, LENGTH, NEW = 97, 7, 9
SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
COMMON = {**SPECIAL, "vocab_size": WORDS, "initializer_range": 0.6}
BART = {
    **COMMON,
    "d_model": 24,
    **{
        f"{side}_{what}": size
        for side in ("encoder", "decoder")
        for what, size in (("layers", 2), ("attention_heads", 3), ("ffn_dim", 40))
    },
    "max_position_embeddings": 64,
    "init_std": 0.6,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
# name -> class, configuration. Drawn weights are spread so that no two words are nearly as likely.
GENERATORS: dict[str, tuple[Any, Any]] = {
    "gpt2": (
        hf.TFGPT2LMHeadModel,
        hf.GPT2Config(**COMMON, n_embd=24, n_layer=2, n_head=3, n_positions=64),
    ),
    "opt": (
        hf.TFOPTForCausalLM,
        hf.OPTConfig(
            **COMMON,
            hidden_size=24,
            num_hidden_layers=2,
            ffn_dim=40,
            num_attention_heads=3,
            max_position_embeddings=64,
            word_embed_proj_dim=24,
            init_std=0.6,
        ),
    ),
    "xglm": (
        hf.TFXGLMForCausalLM,
        hf.XGLMConfig(
            **COMMON,
            d_model=24,
            num_layers=2,
            attention_heads=3,
            ffn_dim=40,
            max_position_embeddings=64,
            init_std=0.6,
        ),
    ),
    "mistral": (
        hf.TFMistralForCausalLM,
        hf.MistralConfig(
            **COMMON,
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            sliding_window=32,
        ),
    ),
    "t5": (
        hf.TFT5ForConditionalGeneration,
        hf.T5Config(
            vocab_size=WORDS,
            d_model=24,
            d_kv=8,
            d_ff=40,
            num_layers=2,
            num_heads=3,
            decoder_start_token_id=0,
            eos_token_id=2,
            pad_token_id=0,
            initializer_factor=2.0,
        ),
    ),
    "bart": (hf.TFBartForConditionalGeneration, hf.BartConfig(**BART)),
    "marian": (
        hf.TFMarianMTModel,
        hf.MarianConfig(**{**BART, "forced_eos_token_id": 2, "decoder_vocab_size": WORDS}),
    ),
    "whisper": (
        hf.TFWhisperForConditionalGeneration,
        hf.WhisperConfig(
            **{**BART, "decoder_start_token_id": 3, "forced_eos_token_id": None},
            num_mel_bins=8,
            max_source_positions=15,
            max_target_positions=32,
            suppress_tokens=[5, 6],
            begin_suppress_tokens=[7, 2],
        ),
    ),
}
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False, "num_beams": 1},
    "sampled": {
        "do_sample": True,
        "num_beams": 1,
        "seed": [7, 11],
        "top_k": 20,
        "top_p": 0.9,
        "temperature": 1.3,
    },
    "beam": {"do_sample": False, "num_beams": 3},
}
# As transformers' own tests: one of the two sizes is not known.
SIZES = {"rows": (None, LENGTH), "words": (2, None), "all": (2, LENGTH)}
# The cache of some needs the number of words, or of rows as well.
KNOWN = {
    **dict.fromkeys(("opt", "mistral"), ("rows", "all")),
    **dict.fromkeys(("xglm", "whisper"), ("all",)),
    # A word that ends all sentences needs the number of rows.
    **dict.fromkeys(("bart", "marian"), ("words",)),
}


ENCODER = {
    "vocab_size": WORDS,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
}
VISION = {
    "patch_size": 2,
    "hidden_sizes": [24, 32, 40],
    "neck_hidden_sizes": [8, 12, 16, 20, 24, 28, 32],
    "mlp_ratio": 2.0,
    "expand_ratio": 2.0,
    "aspp_out_channels": 16,
}
# Those that answer without a loop, as `save_pretrained(saved_model=True)` writes them.
FORWARD: dict[str, tuple[Any, Any]] = {
    "deberta": (
        hf.TFDebertaModel,
        hf.DebertaConfig(
            **ENCODER,
            relative_attention=True,
            pos_att_type=["c2p", "p2c"],
            max_relative_positions=16,
        ),
    ),
    "deberta_v2": (
        hf.TFDebertaV2Model,
        hf.DebertaV2Config(
            **ENCODER,
            relative_attention=True,
            pos_att_type=["c2p", "p2c"],
            position_buckets=8,
            share_att_key=True,
            conv_kernel_size=3,
            norm_rel_ebd="layer_norm",
        ),
    ),
    "layoutlm": (hf.TFLayoutLMModel, hf.LayoutLMConfig(**ENCODER)),
    "mobilevit": (hf.TFMobileViTModel, hf.MobileViTConfig(image_size=64, **VISION)),
    # Whose features are resized, since patches do not divide them.
    "mobilevit_odd": (
        hf.TFMobileViTForSemanticSegmentation,
        hf.MobileViTConfig(image_size=80, **VISION),
    ),
}


def sizes_of(name: str, way: str) -> tuple[str, ...]:
    found = KNOWN.get(name, ("rows", "words"))
    # Beams need the number of rows.
    return tuple(one for one in found if one != "rows" or way != "beam")


def drawn_words(rows: int, length: int) -> Any:
    """Words and a mask that hides the first ones of a row, as decoders are padded."""
    words = RNG.integers(8, WORDS, (rows, length)).astype("i4")
    mask = np.ones_like(words)
    if rows > 1:
        words[1, :2], mask[1, :2] = 0, 0
    return words, mask


def given_to(name: str, config: Any, size: str) -> tuple[list[Any], list[Any]]:
    """The signature of a generator, and values for it."""
    batch, length = SIZES[size]
    rows = 3 if batch is None else batch
    if name == "whisper":
        shape = (config.num_mel_bins, 2 * config.max_source_positions)
        heard = RNG.standard_normal((rows, *shape)).astype("f4")
        return [tf.TensorSpec((batch, *shape), tf.float32, "input_features")], [heard]
    keys = ("input_ids", "attention_mask")
    specs = [tf.TensorSpec((batch, length), tf.int32, key) for key in keys]
    return specs, list(drawn_words(rows, length or 5))


def generator(model: Any, specs: list[Any], options: dict[str, Any], new: int) -> Any:
    @tf.function(input_signature=specs)
    def serve(*xs: Any) -> Any:
        given = {spec.name: x for spec, x in zip(specs, xs, strict=True)}
        return {"sequences": model.generate(**given, **options, max_new_tokens=new)}

    return serve


def write_generator(folder: Path, name: str) -> None:
    kind, config = GENERATORS[name]
    tf_keras.utils.set_random_seed(7)
    module = tf.Module()
    module.model = kind(config)
    signatures, arrays = {}, {}
    for way, options in WAYS.items():
        for size in sizes_of(name, way):
            specs, given = given_to(name, config, size)
            if SIZES[size][0] is None:  # `top_p` needs the number of rows
                options = {key: value for key, value in options.items() if key != "top_p"}
            key = f"{way}_{size}"
            serve = signatures[key] = generator(module.model, specs, options, NEW)
            for spec, value in zip(specs, given, strict=True):
                arrays[f"{key}/in/{spec.name}"] = value
            for out, value in serve(*map(tf.constant, given)).items():
                arrays[f"{key}/out/{out}"] = value.numpy()
    tf.saved_model.save(module, str(folder / "model"), signatures=signatures)
    np.savez_compressed(folder / "io.npz", **arrays)


def boxes(rows: int, length: int) -> Any:
    """Boxes on a page of 1000 by 1000: left, top, right, bottom."""
    corners = np.sort(RNG.integers(0, 1000, (rows, length, 2, 2)), axis=2)
    return corners.reshape(rows, length, 4).astype("i4")


def write_forward(folder: Path, name: str) -> None:
    kind, config = FORWARD[name]
    tf_keras.utils.set_random_seed(7)
    model = kind(config)
    rows, given = 3, {}
    for key, spec in model.input_signature.items():
        if key == "bbox":
            given[key] = boxes(rows, LENGTH)
        elif spec.dtype.is_floating:
            given[key] = RNG.standard_normal((rows, *spec.shape[1:])).astype("f4")
        else:
            words, mask = drawn_words(rows, LENGTH)
            given[key] = {"input_ids": words, "attention_mask": mask}.get(key, np.zeros_like(mask))
    model.save_pretrained(folder / "all", saved_model=True)
    (folder / "all" / "saved_model" / "1").rename(folder / "model")
    shutil.rmtree(folder / "all")
    serve = tf.saved_model.load(str(folder / "model")).signatures["serving_default"]
    arrays = {f"serving_default/in/{key}": value for key, value in given.items()}
    found = serve(**{key: tf.constant(value) for key, value in given.items()})
    arrays |= {f"serving_default/out/{key}": value.numpy() for key, value in found.items()}
    np.savez_compressed(folder / "io.npz", **arrays)


def main(folder: Path, only: list[str]) -> None:
    for names, write in ((GENERATORS, write_generator), (FORWARD, write_forward)):
        for name in names:
            if only and name not in only:
                continue
            place = folder / name
            place.mkdir(parents=True, exist_ok=True)
            write(place, name)
            print(place.name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
