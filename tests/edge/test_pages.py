"""Pages of .tflite files and TensorFlow.js models in Chromium, compared with Python and Node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from edge import made
from edge.runtimes import GOLDEN, ROOT, as_modules, record, run_node
from pinnace.deploy import lite, tfjs
from pinnace.deploy.lite.verification.interpreting import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable

    from edge.runtimes import Edge

Source = Path | str
DIGITS = ROOT / "models" / "digits" / "1"
WHOLE = {"int8_static": "rows", "input_type": "uint8", "output_type": "uint8"}
LITE: dict[str, tuple[Source, dict[str, Any]]] = {
    "digits": (DIGITS, {}),
    "digits_float16": (DIGITS, {"float16": True}),
    "convolutions": (GOLDEN / "keras_cnn" / "model", {}),
    "lstm": (GOLDEN / "keras_lstm" / "model", {}),
    "gru": (GOLDEN / "keras_gru" / "model", {}),
    "recurrent": ("recurrent", {}),
    "pictures": ("pictures", {}),
    "pictures_int8": ("pictures", {"int8": True}),
    "pictures_uint8": ("pictures", WHOLE),
}
TFJS: dict[str, tuple[Source, dict[str, Any]]] = {
    "digits": (DIGITS, {}),
    "convolutions": (GOLDEN / "keras_cnn" / "model", {}),
    "lstm": (GOLDEN / "keras_lstm" / "model", {}),
    "transformer": (GOLDEN / "keras_transformer" / "model", {}),
    "flow": (GOLDEN / "autograph_flow" / "model", {"signature": "loops"}),
    "pictures": ("pictures", {}),
    "pictures_uint8": ("pictures", {"quantize": "uint8"}),
}
LAYERS: dict[str, tuple[Callable[[], tf.keras.Model], dict[str, Any]]] = {
    "layers_pictures": (made.picture_layers, {"labels": made.LABELS}),
    "layers_words": (made.word_layers, {}),
    "layers_words_uint8": (made.word_layers, {"quantize": "uint8"}),
}
OF_TFJS = (*TFJS, *LAYERS)
PICTURE = np.random.default_rng(3).integers(0, 256, (20, 24, 3), np.uint8)


def sources(folder: Path) -> Callable[[Source], Path]:
    """The folder of a model; models built here are built once."""

    def found(source: Source) -> Path:
        if isinstance(source, Path):
            return source
        place = folder / "made" / source
        if not place.exists():
            getattr(made, source)(place)
        return place

    return found


@pytest.fixture(scope="session")
def folder(edge: Edge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a page for each model, and their files."""
    place = tmp_path_factory.mktemp("more_pages").resolve()
    found = sources(place)
    rows = {"image": np.random.default_rng(0).integers(0, 256, (40, 20, 24, 3)).astype(np.float32)}
    picture = tf.io.encode_png(PICTURE).numpy()
    for name, (source, options) in LITE.items():
        told: dict[str, Any] = {k: rows if v == "rows" else v for k, v in options.items()}
        page = place / f"lite-{name}"
        file = place / f"{name}.tflite"
        lite.export(found(source), file, web=page, web_runtime=edge.modules, **told)
    for name, (source, options) in TFJS.items():
        tfjs.export(
            found(source), place / f"tfjs-{name}", page=True, runtime=edge.modules, **options
        )
        as_modules(place / f"tfjs-{name}")
    for name, (make, options) in LAYERS.items():
        tfjs.export_layers(
            make(), place / f"tfjs-{name}", page=True, runtime=edge.modules, **options
        )
        as_modules(place / f"tfjs-{name}")
    for page in place.glob("*pictures*/page.json"):
        (page.parent / "picture.png").write_bytes(picture)
    return place


@pytest.fixture(scope="session")
def seen(edge: Edge, folder: Path) -> dict[str, dict[str, Any]]:
    """The browser's results for all pages."""
    names = [f"lite-{name}" for name in LITE] + [f"tfjs-{name}" for name in OF_TFJS]
    return run_node("run_pages.mjs", folder, edge.modules, edge.chromium, *names)


def array(tensor: dict[str, Any]) -> Any:
    return np.array(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])


@pytest.mark.parametrize("name", LITE)
def test_litert_in_python_agrees(folder: Path, name: str) -> None:
    page = json.loads((folder / f"lite-{name}" / "page.json").read_text())
    worst = 0.0
    for model in (folder / f"lite-{name}" / "model.tflite", folder / f"{name}.tflite"):
        interpreter = Interpreter(model.read_bytes())
        for case in page["cases"]:
            feeds = {key: array(tensor) for key, tensor in case["inputs"].items()}
            got = interpreter.run(feeds, page["signature"])
            for key, tensor in case["outputs"].items():
                wanted = array(tensor)
                assert got[key].dtype == wanted.dtype
                assert got[key].shape == wanted.shape
                gap = np.max(np.abs(got[key].astype(np.float64) - wanted), initial=0)
                worst = max(worst, float(gap / (np.max(np.abs(wanted), initial=0) or 1)))
    ok = bool(page["cases"]) and worst <= max(page["tolerance"], 0.01 if "uint8" in name else 0)
    record(name, "litert", {"ok": ok, "relative": worst})
    assert ok, worst


@pytest.mark.parametrize("page", [*(f"lite-{x}" for x in LITE), *(f"tfjs-{x}" for x in OF_TFJS)])
def test_a_browser_agrees(seen: dict[str, dict[str, Any]], page: str) -> None:
    found = seen[page]
    kind, _, name = page.partition("-")
    record(name, {"lite": "litert.js", "tfjs": "tfjs.page"}[kind], found)
    assert found["ok"], found["wrong"]
    assert found["shown"], "the button shows no outputs"
    # LiteRT.js writes everything to the console as errors.
    assert [e for e in found["errors"] if not e.startswith(("INFO:", "WARNING:"))] == []
    assert found["foreign"] == []


@pytest.mark.parametrize("name", OF_TFJS)
def test_tensorflow_js_in_node_agrees(edge: Edge, folder: Path, name: str) -> None:
    page = folder / f"tfjs-{name}"
    found = run_node("run_node.mjs", "tfjs", page / "model.json", page, edge.modules)
    record(name, "tfjs.node", found)
    assert found["ok"], found["wrong"]


@pytest.mark.parametrize(
    "page",
    [
        *("lite-pictures", "lite-pictures_uint8", "tfjs-pictures", "tfjs-pictures_uint8"),
        "tfjs-layers_pictures",
    ],
)
def test_a_picture_is_what_the_model_sees(
    seen: dict[str, dict[str, Any]], folder: Path, page: str
) -> None:
    served = tf.saved_model.load(folder / "made" / "pictures").signatures["serving_default"]
    x = tf.constant(PICTURE[None].astype(np.float32))
    (scores,) = (y.numpy()[0] for y in served(image=x).values())
    best = seen[page]["best"]
    numbers = [float(value) for value in best["values"]]
    if "uint8" in page and page.startswith("lite"):
        numbers = [value / 256 for value in numbers]
    by_name = dict(zip(best["names"], numbers, strict=True))
    assert set(by_name) == set(made.LABELS)
    for index, label in enumerate(made.LABELS):
        assert by_name[label] == pytest.approx(scores[index], abs=0.02 if "uint8" in page else 1e-4)


def test_a_wrong_output_is_found(edge: Edge, folder: Path, tmp_path: Path) -> None:
    page = folder / "tfjs-digits"
    for name in ("tensors.js", "runtime.js", "package.json"):
        (tmp_path / name).write_bytes((page / name).read_bytes())
    told = json.loads((page / "page.json").read_text())
    next(iter(told["cases"][0]["outputs"].values()))["data"][3] += 0.01
    (tmp_path / "page.json").write_text(json.dumps(told))
    found = run_node("run_node.mjs", "tfjs", page / "model.json", tmp_path, edge.modules)
    assert not found["ok"]
