"""What `import pinnace` does to the process it is imported in: nothing that stays."""

import gc
import os
import subprocess
import sys

import pytest

import pinnace
from pinnace.framework.collecting import Paused

_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"


def _run(*arguments: str, **variables: str) -> str:
    *options, code = arguments
    inherited = {name: value for name, value in os.environ.items() if name != _VARIABLE}
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["", "import numpy; "])
def test_the_environment_is_as_before(first: str) -> None:
    shown = _run(f"{first}import os, pinnace; print(os.environ.get({_VARIABLE!r}))")
    assert shown == "None"


def test_a_users_wish_for_the_threads_of_openblas_stays() -> None:
    code = f"import os, pinnace; print(os.environ[{_VARIABLE!r}])"
    assert _run(code, **{_VARIABLE: "26"}) == "26"


@pytest.mark.parametrize(("first", "after"), [("", "True"), ("gc.disable(); ", "False")])
def test_garbage_is_collected_as_before(first: str, after: str) -> None:
    assert _run(f"import gc; {first}import pinnace; print(gc.isenabled())") == after


def test_garbage_is_collected_again_after_a_failed_import() -> None:
    def fail() -> None:
        paused = Paused()
        assert not gc.isenabled()
        del paused.missing  # type: ignore[attr-defined]

    assert gc.isenabled()
    with pytest.raises(AttributeError):
        fail()
    assert gc.isenabled()


def test_what_is_slow_to_import_is_not_imported() -> None:
    heavy = {"pathlib", "numba", "onnx", "fastapi", "pinnace.keras", "tempfile", "logging"}
    # Without `site`: the finder of an editable installation imports some of these itself.
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; import numpy, importlib.util; "
        "before = set(sys.modules); "
        f"spec = importlib.util.spec_from_file_location('pinnace', {pinnace.__file__!r}, "
        f"submodule_search_locations={list(pinnace.__path__)!r}); "
        "sys.modules['pinnace'] = found = importlib.util.module_from_spec(spec); "
        "spec.loader.exec_module(found); "
        f"print(sorted({heavy!r} & (set(sys.modules) - before)), 'pathlib' in before)"
    )
    assert _run("-S", code) == "[] False"
