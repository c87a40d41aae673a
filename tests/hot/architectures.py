"""TensorFlow's SavedModels of 26 third-party vision architectures, to which no test was fitted.

    python architectures.py FOLDER [NAME...]

FOLDER/NAME gets a SavedModel (`model`), images in batches of several sizes (`asked.npz`),
TensorFlow's outputs for them (`answers.npz`), and its outputs if everything is computed in float64
(`exact.npz`), so that its own error is known. Each is written by a separate process and gets its
name when it is complete, so that an interrupted one is written again. It runs in an environment
with TensorFlow, tf_keras and keras-cv-attention-models.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

# Modules of keras_cv_attention_models, and the function of each that builds its smallest model.
ARCHITECTURES = {
    "AotNet50": "aotnet",
    "BeitBasePatch16": "beit",
    "BotNet26T": "botnet",
    "CAFormerS18": "caformer",
    "CMTTiny": "cmt",
    "CoaTLiteTiny": "coat",
    "CoAtNet0": "coatnet",
    "ConvNeXtTiny": "convnext",
    "CotNet50": "cotnet",
    "CSPNeXtTiny": "cspnext",
    "DaViT_T": "davit",
    "EdgeNeXt_XX_Small": "edgenext",
    "EfficientFormerL1": "efficientformer",
    "EfficientFormerV2S0": "efficientformer",
    "EfficientNetV2B0": "efficientnet",
    "EfficientViT_B0": "efficientvit",
    "FasterNetT0": "fasternet",
    "FasterViT0": "fastervit",
    "FastViT_T8": "fastvit",
    "GCViT_XXTiny": "gcvit",
    "GhostNetV2_100": "ghostnet",
    "HaloNet26T": "halonet",
    "HorNetTiny": "hornet",
    "InceptionNeXtTiny": "inceptionnext",
    "IFormerSmall": "iformer",
    "LCNet050": "mobilenetv3_family",
}
BATCHES = (1, 2, 3)
_SEED = 20
# Relative to the largest output: below this, outputs of all images are alike, and the comparison is
# empty.
_LEAST_SPREAD = 1e-3


def write(name: str, target: Path) -> None:
    """Save one architecture with random weights, its inputs and its outputs."""
    import importlib

    import numpy as np
    import tensorflow as tf
    from float64 import answers_in_float64

    tf.keras.utils.set_random_seed(_SEED)
    random = np.random.default_rng(_SEED)
    module = importlib.import_module(f"keras_cv_attention_models.{ARCHITECTURES[name]}")
    model = getattr(module, name)(pretrained=None)
    size = model.input_shape[1:]
    _liven(model, random.standard_normal((4, *size)).astype(np.float32), random)
    spec = tf.TensorSpec([None, *size], tf.float32, name="pictures")

    @tf.function(input_signature=[spec])  # type: ignore[untyped-decorator]
    def answer(pictures: Any) -> dict[str, Any]:
        return {"scores": model(pictures, training=False)}

    root = tf.Module()
    root.network, root.answer = model, answer
    tf.saved_model.save(root, str(target / "model"), signatures=answer)
    loaded = tf.saved_model.load(str(target / "model"))
    signature = loaded.signatures["serving_default"]
    asked, answers = {}, {}
    for batch in BATCHES:
        pictures = random.standard_normal((batch, *size)).astype(np.float32)
        asked[str(batch)] = pictures
        answers[str(batch)] = signature(pictures=tf.constant(pictures))["scores"].numpy()
    largest = answers[str(BATCHES[-1])]
    assert np.isfinite(largest).all(), name
    spread = np.std(largest.astype(np.float64), axis=0).max() / np.abs(largest).max()
    assert spread > _LEAST_SPREAD, (name, spread)
    np.savez(target / "asked.npz", **asked)
    np.savez(target / "exact.npz", **answers_in_float64(signature, asked))
    np.savez(target / "answers.npz", **answers)


def _liven(model: Any, pictures: Any, random: Any) -> None:
    """Give weights values as after training.

    Scales and offsets move away from their initial values, with which whole branches vanish;
    statistics become those of these images: with others, signals fade in deep networks.
    """
    for variable in model.trainable_weights:
        if variable.shape.rank <= 1:
            variable.assign_add(0.05 * random.standard_normal(tuple(variable.shape)))
    for layer in model.submodules:
        if hasattr(layer, "moving_variance"):
            layer.momentum = 0.0
    model(pictures, training=True)


def main(folder: Path, names: list[str]) -> int:
    """Write the missing architectures; returns the number of those that failed."""
    failed = 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or list(ARCHITECTURES):
        if (folder / name).is_dir():
            continue
        making = folder / f"{name}.making"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        program = [sys.executable, __file__, "--one", name, str(making)]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        if done.returncode:
            failed += 1
            sys.stderr.write(f"{name} could not be written:\n{done.stderr}\n")
            continue
        making.rename(folder / name)
        sys.stdout.write(f"  {name}\n")
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    # Before TensorFlow is imported: the architectures are of Keras 2.
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # oneDNN's softmax refuses HaloNet's six axes.
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    if sys.argv[1] == "--one":
        write(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(1 if main(Path(sys.argv[1]), sys.argv[2:]) else 0)
