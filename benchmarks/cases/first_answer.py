"""From nothing to the first answer of a MobileNetV2 that TensorFlow saved."""

from harness import FOLDER, ProcessCase

_SCRIPT = str(FOLDER / "first_answer.py")
CASE = ProcessCase(
    title="process start to first answer, MobileNetV2",
    aims={"tensorflow": 0.2},
    model="mobilenet_v2",
    commands={"pinnace": [_SCRIPT, "pinnace"], "tensorflow": [_SCRIPT, "tensorflow"]},
)
