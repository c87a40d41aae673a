"""Whole processes: an import, and the first answer of a MobileNetV2 that TensorFlow saved."""

from harness import FOLDER, ProcessCase

_FIRST_ANSWER = str(FOLDER / "first_answer.py")
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
