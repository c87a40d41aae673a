"""The programs of docs/howto/other_tools.md run with the tools that they describe.

`make companions` installs these into a folder, without their Keras.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.companions

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "other_tools.md"
PROGRAMS = dict(
    re.findall(r"^## (.+?)\n(?:.|\n)*?^```python\n((?:.|\n)*?)^```$", PAGE.read_text(), re.M)
)
# After the packages installed here: tools must not replace their NumPy.
RUN = (
    "import sys; sys.path.append(sys.argv[1]); "
    "exec(compile(sys.argv[2], 'program', 'exec'), {'__name__': 'program'})"
)


@pytest.mark.parametrize("tool", PROGRAMS)
def test_a_program_of_the_page_runs(tool: str, tmp_path: Path) -> None:
    folder = os.environ.get("PINNACE_COMPANIONS")
    if not folder:
        pytest.fail("PINNACE_COMPANIONS is not set. Try: make companions")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, folder, PROGRAMS[tool]],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_tool_has_a_program() -> None:
    assert list(PROGRAMS) == ["Optuna", "KerasTuner", "scikit-learn", "LIME", "SHAP", "MLflow"]
