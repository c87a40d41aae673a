"""Imports go down the layers, and third parties stay at home."""

import sys
from collections.abc import Iterator

from architecture.sources import imports, late_names, modules, written

# Folder (import name below `pinnace`) -> layer. A module imports its own folder and lower numbers;
# folders with the same number do not see each other. The longest matching name applies.
LAYERS = {
    "proto": 0,
    "late": 0,
    "public_imports": 0,
    "framework": 1,
    "storage": 2,
    "ops": 3,
    "ops.composites": 3.5,
    "graph": 4,
    "engine": 5,
    "autodiff": 6,
    "checkpoint": 6,
    "functions": 7,
    "data": 8,
    "distribute": 8.5,
    "feature_column": 8.2,
    "lookup": 7.8,
    "numpy_names": 7.5,
    "linear_operators": 7.5,
    "profiler": 7.5,
    "summary": 8,
    "testing": 8,
    "types": 8.6,
    # A Keras model saves and exports itself; the code that saves objects in general does not know
    # Keras.
    "saved_model": 8.7,
    "deploy.tokenizer": 8.75,
    "deploy.refusals": 8.75,
    "deploy.program": 8.8,
    "deploy.sampling": 8.85,
    "deploy.page": 8.85,
    "deploy.lite": 8.9,
    "deploy.onnx": 8.9,
    "keras": 9,
    "deploy.tfjs": 11,
    "deploy.upgrade": 10.5,
    "deploy.models": 11.4,
    "estimator": 11,
    "compat": 11.2,
    "serving": 12,
    "deploy.score": 12.5,
    "integrations": 12.7,
    "deploy.cli": 13,
    "tools": 14,
}
# `core/__init__.py` and the files beside it bind public names; nothing in the library imports them.
NAMESPACES = 11.5
# Imports that the numbers allow and the design does not: a server and an exporter see a loaded
# model.
UNSEEN = {
    "serving": ("keras", "autodiff", "data", "summary"),
    "deploy.tokenizer": ("keras", "autodiff", "data", "summary"),
    "deploy.program": ("keras", "autodiff", "data", "summary"),
    "deploy.sampling": ("keras", "autodiff", "data", "summary"),
    "deploy.lite": ("keras", "autodiff", "data", "summary"),
    "deploy.onnx": ("keras", "autodiff", "data", "summary"),
}

# Third party -> the folders that may import it; () is the tests alone.
HOMES: dict[str, tuple[str, ...]] = {
    "numpy": ("",),
    "google.protobuf": ("",),
    "typing_extensions": ("",),  # for types only: it is not a dependency
    "ml_dtypes": ("framework",),
    "threadpoolctl": ("ops.kernels",),
    "google_crc32c": ("storage",),
    "re2": ("ops.strings",),
    "fsspec": ("serving.models.remote",),
    "aiohttp": ("serving.models.remote",),
    "numba": ("engine.codegen",),
    "llvmlite": ("engine.codegen",),
    "libcst": ("deploy.upgrade",),
    "malt": ("functions.autograph",),
    "rich": ("keras", "deploy.cli"),
    "h5py": ("keras.saving", "deploy.cli"),
    "PIL": ("keras", "deploy.models"),
    "fastapi": ("serving",),
    "starlette": ("serving",),
    "uvicorn": ("serving",),
    "httptools": ("serving.http",),
    "orjson": ("serving", "deploy.score"),
    "simdjson": ("serving.fast",),
    "prometheus_client": ("serving",),
    "opentelemetry": ("serving",),
    "httpx": ("serving.client",),
    "grpc": ("serving.grpc", "serving.fast.grpc"),
    "pyarrow": ("deploy.score",),
    "ray": ("integrations.ray",),
    "pyspark": ("integrations.spark",),
    "apache_beam": ("integrations.beam",),
    "flatbuffers": ("deploy.lite",),
    "ai_edge_litert": ("deploy.lite",),
    "onnx": ("deploy.onnx", "deploy.cli"),
    "onnxruntime": ("deploy.onnx", "deploy.models", "serving.models.engines"),
    "markdown_it": ("deploy.cli",),
    "pygments": ("deploy.cli",),
    "typer": ("deploy.cli",),
    "scipy": ("keras.augmentation",),
    "sklearn": ("keras.wrappers",),
    "tensorflow": (),
}
MODULES = [name for name in modules() if written(name)]


# One test per rule: it lists all modules that break it.
def test_imports_go_down() -> None:
    wrong = [
        f"{name} (layer {place(name)[1]:g}), {one}" for name in MODULES for one in _upward(name)
    ]
    assert not wrong, "\n".join(wrong)


def _upward(name: str) -> Iterator[str]:
    folder, layer = place(name)
    late = late_names(name)
    for line, target in imports(name):
        if target.split(".")[0] != "pinnace" or line in late:
            continue
        seen, below = place(target)
        if target == "pinnace":
            yield f"line {line}: `pinnace` itself; import the module that defines the name"
        elif seen != folder and below >= layer:
            yield f"line {line}: {target} is of layer {below:g}"
        elif seen in UNSEEN.get(folder, ()):
            yield f"line {line}: {target}: {folder} does not see {seen}"


def test_third_parties_stay_at_home() -> None:
    wrong = [f"{name}, {one}" for name in MODULES for one in _away_from_home(name)]
    assert not wrong, "\n".join(wrong)


def _away_from_home(name: str) -> Iterator[str]:
    for line, target in imports(name):
        top = target.split(".")[0]
        if top == "pinnace" or top in sys.stdlib_module_names:
            continue
        known = [party for party in HOMES if within(target, party)]
        if not known:
            yield f"line {line}: {target} has no home: add it to HOMES, and to README"
        elif not any(within(name, f"pinnace.{home}".rstrip(".")) for home in HOMES[known[0]]):
            homes = ", ".join(HOMES[known[0]]) or "the tests"
            yield f"line {line}: {target} belongs to {homes}"


def test_imports_are_absolute() -> None:
    relative = [
        f"{name}, line {line}: {target}"
        for name in MODULES
        for line, target in imports(name)
        if target[0] == "."
    ]
    assert not relative, "\n".join(relative)


def test_a_client_imports_nothing_of_the_server() -> None:
    wrong = [
        f"{name}, line {line}: {target}"
        for name in MODULES
        if within(name, "pinnace.serving.client")
        for line, target in imports(name)
        if within(target, "pinnace.serving") and not within(target, "pinnace.serving.client")
    ]
    assert not wrong


def test_every_folder_has_a_layer() -> None:
    folders = {".".join(name.split(".")[1:-1]) for name in MODULES} - {"", "deploy"}
    lost = sorted(f for f in folders if place(f"pinnace.{f}.x")[0] == "")
    assert not lost, f"no layer for {lost}: give it one here and in docs/architecture.md"


def test_every_folder_and_home_of_the_tables_is_there() -> None:
    gone = [f for f in LAYERS if not any(within(name, f"pinnace.{f}") for name in modules())]
    assert not gone, f"no such folder: {gone}"
    imported = [(name, target) for name in MODULES for _, target in imports(name)]
    empty = [
        (party, home)
        for party, homes in HOMES.items()
        for home in homes
        if not any(
            within(target, party) and within(name, f"pinnace.{home}".rstrip("."))
            for name, target in imported
        )
    ]
    assert not empty, f"nothing there imports it: {empty}"


def test_the_table_holds_what_it_should() -> None:
    assert place("pinnace.framework.tensor") == ("framework", 1)
    assert place("pinnace.ops.composites.ragged") == ("ops.composites", 3.5)
    assert place("pinnace.opsy.math")[0] == ""


def place(name: str) -> tuple[str, float]:
    """The entry of the table for the module's folder, and its layer."""
    fitting = [folder for folder in LAYERS if within(name, f"pinnace.{folder}")]
    folder = max(fitting, key=len, default="")
    return folder, LAYERS.get(folder, NAMESPACES)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")
