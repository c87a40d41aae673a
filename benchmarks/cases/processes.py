"""Whole processes: an import, and the first answer of networks that TensorFlow saved."""

from harness import FOLDER, ProcessCase

_FIRST_ANSWER = str(FOLDER / "first_answer.py")


def _first_call(title: str, model: str) -> ProcessCase:
    """The first call alone, in processes of their own."""
    call = [_FIRST_ANSWER, "--model", model, "--call"]
    return ProcessCase(
        title=f"first call in a new process, {title}",
        aims={"tensorflow": 0.3},
        model=model,
        commands={library: [*call, library] for library in ("pinnace", "tensorflow")},
        tells=True,
    )


CASES = {
    "first_answer": ProcessCase(
        title="process start to first answer, MobileNetV2",
        aims={"tensorflow": 0.2},
        model="mobilenet_v2",
        commands={
            "pinnace": [_FIRST_ANSWER, "pinnace"],
            "tensorflow": [_FIRST_ANSWER, "tensorflow"],
        },
    ),
    "first_call_encoder": _first_call("transformer encoder", "encoder"),
    "first_call_mobilenet": _first_call("MobileNetV2", "mobilenet_v2"),
    "first_call_resnet": _first_call("ResNet50", "resnet50"),
    "import_time": ProcessCase(
        title="start and import",
        aims={"tensorflow": 0.08},
        memory_aims={"tensorflow": 0.1},
        commands={
            "pinnace": ["-c", "import pinnace"],
            "tensorflow": ["-c", "import tensorflow"],
        },
    ),
}
