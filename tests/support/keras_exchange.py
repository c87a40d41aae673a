"""One side of an exchange of Keras files: creates, saves, loads and trains a folder's models.

    python keras_exchange.py LIBRARY write|read FOLDER [NAME…]

`write` writes NAME.keras, NAME.h5 and NAME.npz; `read` reads the other side's files, trains models
that were trained there for one more step, and prints the differences of outputs, losses and
weights.
"""

import importlib
import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import support.keras_2_models  # noqa: F401 (its cases)
from support.keras_models import CASES, Array, case_of, custom, halved, inputs_of, targets_of


def flat(outputs: Any) -> list[Array]:
    if isinstance(outputs, dict):
        return [y for key in sorted(outputs) for y in flat(outputs[key])]
    if isinstance(outputs, (list, tuple)):
        return [y for one in outputs for y in flat(one)]
    return [np.asarray(outputs)]


def argument(model: Any, xs: list[Array], tf: Any) -> Any:
    given = [tf.constant(x) for x in xs]
    try:
        names = model.input_names if isinstance(model.input, dict) else None
    except AttributeError:
        names = None
    if names:
        return dict(zip(names, given, strict=True))
    return given[0] if len(given) == 1 else given


def step(model: Any, xs: Any, targets: Any) -> float:
    """One training step; returns the loss before it."""
    found = model.train_on_batch(xs, targets)
    return float(found[0] if isinstance(found, list) else found)


def after_step(model: Any, x: Any, targets: Any) -> dict[str, Array]:
    loss = step(model, x, targets)
    return {"loss": np.array(loss), **numbered("trained", flat(model(x, training=False)))}


def numbered(stem: str, values: list[Array]) -> dict[str, Array]:
    return {f"{stem}_{i}": value for i, value in enumerate(values)}


def write(tf: Any, folder: Path, name: str) -> None:
    keras, case = tf.keras, case_of(name)
    keras.utils.set_random_seed(5)
    model = case.make(keras)
    x = argument(model, inputs_of(name), tf)
    targets = targets_of(model(x))
    if case.train:
        for _ in range(2):
            step(model, x, targets)
    arrays = numbered("output", flat(model(x, training=False)))
    model.save(folder / f"{name}.keras")
    if case.h5:
        model.save(folder / f"{name}.h5")
    if case.train:
        arrays.update(after_step(model, x, targets))
    np.savez_compressed(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]  # no option among them


def read(tf: Any, folder: Path, name: str, ending: str) -> dict[str, float]:
    """The largest differences of outputs and, after one more step, of losses and outputs."""
    keras, case = tf.keras, case_of(name)
    custom(keras)
    halved(keras)
    # Keras 3 does not restore the losses from its own .h5 files.
    compiles = not (ending == ".h5" and keras.__name__.startswith(("keras", "tensorflow")))
    options = {} if compiles else {"compile": False}
    warnings.filterwarnings("error", message=".*optimizer.*not restored.*")
    model = keras.models.load_model(folder / f"{name}{ending}", **options)
    x = argument(model, inputs_of(name), tf)
    wanted = dict(np.load(folder / f"{name}.npz"))
    found = numbered("output", flat(model(x, training=False)))
    if case.train and compiles:
        found.update(after_step(model, x, targets_of(model(x))))
    elif case.train:
        wanted = {key: value for key, value in wanted.items() if key.startswith("output")}
    assert found.keys() == wanted.keys(), (found.keys(), wanted.keys())
    differences = {"output": 0.0}
    for key, value in wanted.items():
        assert value.shape == found[key].shape, (key, value.shape, found[key].shape)
        far = np.max(np.abs(found[key].astype(float) - value.astype(float)), initial=0.0)
        stem = key.split("_")[0]
        differences[stem] = max(differences.get(stem, 0.0), float(far))
    return differences


def main() -> None:
    library, task, folder, *names = sys.argv[1:]
    tf = importlib.import_module(library)
    for name in names or CASES:
        endings = [".keras", ".h5"] if case_of(name).h5 else [".keras"]
        for ending in endings if task == "read" else [""]:
            report: dict[str, Any] = {"name": name + ending}
            try:
                if task == "write":
                    write(tf, Path(folder), name)
                else:
                    report["differences"] = read(tf, Path(folder), name, ending)
            except Exception as error:
                report["error"] = f"{type(error).__name__}: {error}"
                report["trace"] = traceback.format_exc()
            sys.stdout.write(f"REPORT {json.dumps(report)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
