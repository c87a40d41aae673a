"""SavedModels that TensorFlow writes for benchmarks: made once, kept in the cache folder.

Run by TensorFlow's interpreter: `python networks.py NAME FOLDER` writes FOLDER/model,
FOLDER/answer.npz with an input and what TensorFlow's signature gives for it, and
FOLDER/weights.npz.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CACHE = Path(
    os.environ.get("BENCH_CACHE", Path(__file__).resolve().parents[1] / ".cache" / "models")
)
LAYOUT = 2  # of a network's folder
EXPORTER = Path(__file__).resolve().parents[1] / "deploy" / "onnx"


def folder(name: str) -> Path:
    """Where a network's SavedModel and answer lie, made by TensorFlow if they are not there.

    Raises:
        RuntimeError: it is not there and no TensorFlow is known to make it.
    """
    target = CACHE / f"{name}-{LAYOUT}"
    if not target.exists():
        interpreter = os.environ.get("PINNACE_TF_PYTHON")
        if interpreter is None:
            raise RuntimeError(
                f"{name}: TensorFlow writes this model, and PINNACE_TF_PYTHON is not set"
            )
        CACHE.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=CACHE))
        subprocess.run([interpreter, __file__, name, str(scratch)], check=True, stdout=sys.stderr)
        try:
            scratch.rename(target)
        except OSError:  # somebody else was quicker
            shutil.rmtree(scratch)
    return target


def onnx_file(name: str) -> Path:
    """What `pinnace export` makes of a network's SavedModel."""
    return exported(folder(name))


def exported(source: Path, signature: str = "serving_default") -> Path:
    """What `pinnace export` makes of `source`/model: made once, and again by another exporter.

    Args:
        source: the folder; the file lies in it.
        signature: which of the model's.

    Raises:
        RuntimeError: the export failed; the message ends with what it said.
    """
    stem = "model" if signature == "serving_default" else signature
    target = source / f"{stem}-{sum_of(sorted(EXPORTER.rglob('*.py'))):08x}.onnx"
    if not target.exists():
        scratch = source / f"part-{os.getpid()}.onnx"
        command = ["-m", "pinnace.deploy.cli.main", "export", str(source / "model"), str(scratch)]
        command += ["--signature", signature] if stem != "model" else []
        done = subprocess.run(
            [sys.executable, *command], check=False, capture_output=True, text=True
        )
        if done.returncode:
            words = (done.stdout + done.stderr)[-3000:]
            raise RuntimeError(f"pinnace export {source.name}: {words}")
        for stale in source.glob(f"{stem}-*.onnx"):  # of another exporter
            stale.unlink(missing_ok=True)
        scratch.rename(target)
    return target


def stored_weights(source: Path) -> list[np.ndarray]:
    """The weights of `source`/model, in the order in which TensorFlow listed them."""
    with np.load(source / "weights.npz") as stored:
        return [stored[key] for key in stored]


def sum_of(files: Sequence[Path]) -> int:
    """A sum of what stands in these files."""
    total = 0
    for file in files:
        total = zlib.crc32(file.read_bytes(), total)
    return total


def reachable(name: str) -> bool:
    """Whether the model is there or can be made."""
    return (CACHE / f"{name}-{LAYOUT}").exists() or "PINNACE_TF_PYTHON" in os.environ


def perceptron(tf: object) -> object:
    """784-512-512-10."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((784,), name="x"),
            layers.Dense(512, activation="relu"),
            layers.Dense(512, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )


def lstm(tf: object) -> object:
    """LSTM(64) over 50 steps of 32 features, and a dense layer."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [tf.keras.Input((50, 32), name="x"), layers.LSTM(64), layers.Dense(10)]
    )


def encoder(tf: object) -> object:
    """Four transformer blocks over 128 tokens of 256 features: 4 heads, 1024 inside."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((128, 256), name="x")
    for _ in range(4):
        attended = layers.MultiHeadAttention(4, 64)(x, x)
        x = layers.LayerNormalization(epsilon=1e-6)(x + attended)
        inner = layers.Dense(1024, activation="gelu")(x)
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dense(256)(inner))
    return tf.keras.Model(inputs, x)


def mobilenet_v2(tf: object) -> object:
    """3.5 million weights, 0.3 GFLOP multiplied and added."""
    return tf.keras.applications.MobileNetV2(weights=None)


def resnet50(tf: object) -> object:
    """25.6 million weights, 3.9 GFLOP multiplied and added."""
    return tf.keras.applications.ResNet50(weights=None)


def gru(tf: object) -> object:
    """GRU(64) over 50 steps of 32 features, and a dense layer."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [tf.keras.Input((50, 32), name="x"), layers.GRU(64), layers.Dense(10)]
    )


def mobilenet_v3(tf: object) -> object:
    """MobileNetV3-Large: squeeze and excite, hard swish."""
    return tf.keras.applications.MobileNetV3Large((224, 224, 3), weights=None)


def efficientnet_b0(tf: object) -> object:
    """5.3 million weights, 0.4 GFLOP multiplied and added."""
    return tf.keras.applications.EfficientNetB0(weights=None)


def vgg16(tf: object) -> object:
    """138 million weights, 103 million of them in one product."""
    return tf.keras.applications.VGG16(weights=None)


def unet(tf: object) -> object:
    """Three levels down and up again over 128x128 pixels; four classes of each."""
    layers = tf.keras.layers

    def block(x: object, width: int) -> object:
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        return x

    x = inputs = tf.keras.Input((128, 128, 3), name="x")
    kept = []
    for width in (32, 64, 128):
        x = block(x, width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, 256)
    for width in (128, 64, 32):
        x = layers.Conv2DTranspose(width, 2, strides=2, padding="same")(x)
        x = block(layers.Concatenate()([kept.pop(), x]), width)
    return tf.keras.Model(inputs, layers.Conv2D(4, 1, activation="softmax")(x))


BUILDERS = {
    "gru": gru,
    "mobilenet_v3": mobilenet_v3,
    "efficientnet_b0": efficientnet_b0,
    "vgg16": vgg16,
    "unet": unet,
    "perceptron": perceptron,
    "lstm": lstm,
    "encoder": encoder,
    "mobilenet_v2": mobilenet_v2,
    "resnet50": resnet50,
}


def write(name: str, target: Path) -> None:
    """Make the model, give it weights that keep signals alive, save it and what it answers."""
    import tensorflow as tf

    random = np.random.default_rng(0)
    model = BUILDERS[name](tf)
    for variable in model.variables:
        # Batch normalisation with statistics other than 0 and 1, so that folding them is seen.
        shape = tuple(variable.shape)
        if len(shape) > 1:
            continue
        around = 1.0 if variable.path.endswith(("gamma", "variance")) else 0.0
        variable.assign(around + 0.1 * random.standard_normal(shape))
    x = random.random((1, *model.input_shape[1:])).astype(np.float32)
    model.export(str(target / "model"), verbose=False)
    signature = tf.saved_model.load(str(target / "model")).signatures["serving_default"]
    (key,) = signature.structured_input_signature[1]
    (answer,) = signature(**{key: tf.constant(x)}).values()
    np.savez(target / "answer.npz", x=x, y=answer.numpy())
    np.savez(target / "weights.npz", *model.get_weights())


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
