"""Train, save, load and predict with an installed wheel; run by the wheel's interpreter."""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import pinnace as tf


def main() -> None:
    """Raise AssertionError unless the wheel does the main job."""
    home = Path(tf.__file__).resolve()
    assert home.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()), home
    assert (home.parent / "py.typed").exists()

    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 3)).astype(np.float32)
    y = np.stack([x[:, 0] + x[:, 1], x[:, 2]], axis=1)

    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(2)]
    )
    model.compile(optimizer="sgd", loss="mse")
    model.fit(x, y, epochs=1, batch_size=32, verbose=0)  # two steps
    expected = model.predict(x, verbose=0)
    assert expected.shape == (64, 2)
    assert np.isfinite(expected).all()

    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(model, folder)
        serve = tf.saved_model.load(folder).signatures["serving_default"]
        ((name, _),) = serve.structured_input_signature[1].items()
        (outputs,) = serve(**{name: tf.constant(x)}).values()
        np.testing.assert_allclose(outputs.numpy(), expected, rtol=1e-5, atol=1e-6)
        shown = pinnace("show", folder)
        assert "serving_default" in shown, shown
    assert "serve" in pinnace("--help")
    if (home.parent / "engine" / "library").exists():
        # Such a wheel has machine code, which older processors cannot run, and not its sources.
        told = json.loads(pinnace("show", "--machine", "--json"))
        assert told["library"] or "none is for this processor" in told["reason"], told
    print("the wheel: imported, trained, saved, loaded, predicted, shown")  # noqa: T201 - for the log


def pinnace(*arguments: str) -> str:
    """The output of the command line."""
    command = [str(Path(sys.executable).parent / "pinnace"), *arguments]
    environment = {**os.environ, "COLUMNS": "120"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    main()
