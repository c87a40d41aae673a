"""The main job, from data to answers: train, save, export, serve, ask.

    make demo            train on real handwritten digits, then serve until Ctrl-C
    make demo ONCE=1     the same, then stop everything and exit

The images are the 1,797 that scikit-learn ships (8x8 pixels, values 0 to 16); nothing is
downloaded.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import pinnace as tf
from pinnace.deploy import lite, onnx, tfjs

SIGNATURE = "serving_default"
SHADES = " ░▒▓█"
console = Console()


def load_data() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """((train images, labels), (test images, labels)), always split alike.

    Images are float32 [n, 8, 8, 1].
    """
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = digits.images[order].astype(np.float32)[..., np.newaxis]
    labels = digits.target[order].astype(np.int32)
    return (images[360:], labels[360:]), (images[:360], labels[:360])


def build_model() -> tf.keras.Model:
    """A small convolutional classifier."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1), name="image"),
            layers.Rescaling(1 / 16),
            layers.Conv2D(16, 3, padding="same"),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(64, activation="relu"),
            layers.Dense(10, activation="softmax", name="digit"),
        ],
        name="digits",
    )


def train(folder: Path) -> np.ndarray:
    """Train, save, export; gives the test images."""
    (x, y), (x_test, y_test) = load_data()
    console.rule("[bold]1  train[/]")
    tf.keras.utils.set_random_seed(0)
    model = build_model()
    model.summary()
    model.compile(
        optimizer=tf.keras.optimizers.Adam(2e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    start = time.perf_counter()
    model.fit(x, y, batch_size=32, epochs=12)
    seconds = time.perf_counter() - start
    loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
    console.print(
        f"test accuracy [bold]{accuracy:.2%}[/], loss {loss:.4f}, trained in {seconds:.1f} s"
    )
    if accuracy < 0.97:
        raise SystemExit(f"the model should reach 97 % on the test images, got {accuracy:.2%}")

    console.rule("[bold]2  save[/]")
    target = folder / "digits" / "1"
    tf.saved_model.save(model, target)
    loaded = tf.saved_model.load(target)
    outputs = loaded.signatures[SIGNATURE](image=tf.constant(x_test))
    name, got = next(iter(outputs.items()))
    expected = model.predict(x_test, verbose=0)
    difference = float(np.abs(got.numpy() - expected).max())
    console.print(f"SavedModel {target}: loaded again, largest difference {difference:.1e}")
    # What tf_check.py compares TensorFlow's answers with.
    np.savez(
        folder / "digits" / "io.npz",
        **{f"0/{SIGNATURE}/in/image": x_test[:32], f"0/{SIGNATURE}/out/{name}": expected[:32]},
    )

    console.rule("[bold]3  export[/]")
    export(target, folder)
    return x_test


def export(model: Path, folder: Path) -> None:
    """Write the model for ONNX Runtime, LiteRT and TensorFlow.js; each runs it before it counts."""
    table = Table("for", "file", "bytes", "ops", "checked in", "largest difference")
    report = onnx.export(model, folder / "digits.onnx")
    size = (folder / "digits.onnx").stat().st_size
    row = ("ONNX Runtime", "digits.onnx", f"{size:,}", str(report.node_count), "ONNX Runtime")
    table.add_row(*row, f"{report.largest_difference:.1e}")
    phone = lite.export(model, folder / "digits.tflite")
    ops = str(sum(phone.op_counts.values()))
    row = ("phones", "digits.tflite", f"{phone.file_bytes:,}", ops, "LiteRT")
    table.add_row(*row, f"{phone.largest_difference:.1e}")
    web = tfjs.export(model, folder / "digits_tfjs")
    size = sum(one.stat().st_size for one in (folder / "digits_tfjs").iterdir())
    checked = ", ".join(web.checked) or "nothing: no Node"
    difference = f"{max(one[0] for one in web.differences.values()):.1e}" if web.verified else ""
    ops = str(sum(web.op_counts.values()))
    table.add_row("browsers", "digits_tfjs/", f"{size:,}", ops, checked, difference)
    console.print(table)


def start_server(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """The server as a process of its own, answering."""
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve"]
    command += ["--model", f"digits={folder / 'digits'}", "--rest_api_port", str(port)]
    console.print("$ pinnace " + " ".join(shlex.quote(word) for word in command[3:]))
    server = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}/v1/models/digits"
    for _ in range(200):
        if server.poll() is not None:
            raise SystemExit(f"the server stopped with exit code {server.returncode}")
        try:
            if httpx.get(url, timeout=1).status_code == 200:
                return server
        except httpx.TransportError:
            time.sleep(0.05)
    server.terminate()
    raise SystemExit("the server did not answer within 10 s")


def ask(port: int, images: np.ndarray, truths: np.ndarray) -> None:
    """Send images as any HTTP client would, and show the answers beside the truths."""
    url = f"http://127.0.0.1:{port}/v1/models/digits:predict"
    start = time.perf_counter()
    reply = httpx.post(url, json={"instances": images.tolist()}, timeout=10)
    milliseconds = (time.perf_counter() - start) * 1e3
    reply.raise_for_status()
    answers = np.array(reply.json()["predictions"])
    table = Table(title=f"{len(images)} images, one request, {milliseconds:.1f} ms")
    for column in ("image", "predicted", "probability", "truth", ""):
        table.add_column(column, justify="center")
    for image, answer, truth in zip(images, answers, truths, strict=True):
        guess = int(answer.argmax())
        right = "[green]right[/]" if guess == truth else "[red]wrong[/]"
        table.add_row(picture(image), str(guess), f"{answer[guess]:.3f}", str(truth), right)
    console.print(table)


def picture(image: np.ndarray) -> str:
    """An 8x8 image in characters, two rows in one line of text."""
    levels = np.clip(image[::2, :, 0] / 16 * (len(SHADES) - 1) + 0.5, 0, len(SHADES) - 1).astype(
        int
    )
    return "\n".join("".join(SHADES[level] * 2 for level in row) for row in levels)


def curl_line(port: int, image: np.ndarray) -> str:
    """A command that works as pasted."""
    body = json.dumps({"instances": [image.astype(int).tolist()]}, separators=(",", ":"))
    return f"curl -d '{body}' http://127.0.0.1:{port}/v1/models/digits:predict"


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--once", action="store_true", help="stop the server at the end")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--folder", type=Path, default=Path("models"), help="where the models go")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    images = train(arguments.folder)
    truths = load_data()[1][1]

    console.rule("[bold]4  serve[/]")
    server = start_server(arguments.folder, arguments.port)
    try:
        ask(arguments.port, images[:5], truths[:5])
        console.rule("[bold]try next[/]")
        console.print(curl_line(arguments.port, images[0]), soft_wrap=True, highlight=False)
        console.print(
            f"curl http://127.0.0.1:{arguments.port}/v1/models/digits/metadata", highlight=False
        )
        console.print(f"pinnace show {arguments.folder / 'digits' / '1'}", highlight=False)
        if not arguments.once:
            console.print("\nServing until Ctrl-C.")
            server.wait()
    except KeyboardInterrupt:
        console.print("\nstopping")
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()


if __name__ == "__main__":
    main()
