"""Effects of `import pinnace` on its process: those that `process_effects` lists."""

import gc
import importlib
import json
import os
import subprocess
import sys

import pytest

import pinnace
from pinnace.framework.process_effects import collector_paused

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
    assert gc.isenabled()
    with pytest.raises(ModuleNotFoundError), collector_paused():
        importlib.import_module("pinnace.nothing" if not gc.isenabled() else "pinnace")
    assert gc.isenabled()


_LOOK = """
import atexit, gc, importlib, json, locale, os, signal, sys, threading, warnings

handlers = []
os.register_at_fork = lambda **given: handlers.append(given["after_in_child"].__module__)
ended = []
atexit.register = lambda function, *rest: ended.append(function.__module__)

def look():
    import numpy

    return {
        "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks)],
        "environment": dict(os.environ),
        "errors of NumPy": numpy.geterr(),
        "finders": [str(getattr(one, "__name__", type(one))) for one in sys.meta_path],
        "filters": [str(one) for one in warnings.filters],
        "folder": [os.getcwd()],
        "hooks": [str(one) for one in (sys.excepthook, sys.displayhook, threading.excepthook)],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.path],
        "locale": [locale.setlocale(locale.LC_ALL)],
        "print options": [str(numpy.get_printoptions())],
        "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
        "threads": [str(one) for one in threading.enumerate()],
    }

before = look()
handlers.clear(), ended.clear()
import pinnace
after = look()
changed = {
    what: [[x for x in now if x not in was], [x for x in was if x not in now]]
    for (what, was), now in zip(before.items(), after.values())
    if now != was
}
ours = lambda names: sorted({name for name in names if name.startswith("pinnace")})
print(json.dumps([changed, ours(handlers), ours(ended)]))
"""


def test_the_process_is_as_before_but_for_what_is_listed() -> None:
    changed, forked, ended = json.loads(_run(_LOOK))
    names = (
        "framework.missing_in_modules._Finder",
        "public_imports._Beneath",
        "public_imports._Named",
    )
    finders = [f"<class 'pinnace.{name}'>" for name in names]
    (ignored,), unignored = changed.pop("filters")
    assert "RuntimeWarning" in ignored
    assert "pinnace" in ignored
    assert unignored == []
    assert changed == {"finders": [finders, []]}
    assert sorted(forked) == ["pinnace.engine.forms", "pinnace.ops.kernels.team"]
    assert ended == []


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
