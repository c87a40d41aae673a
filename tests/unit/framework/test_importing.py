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
    heavy = {
        "pathlib",
        "numba",
        "onnx",
        "ml_dtypes",
        "fastapi",
        "pinnace.keras",
        "tempfile",
        "logging",
    }
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


_NARROW = """
import sys
import pinnace as tf

x = tf.Variable([[1.0, 2.0]])
with tf.GradientTape() as tape:
    y = tf.cast(tf.cast(x, tf.float16), tf.float32) * tf.reduce_sum(x)
tape.gradient(y, x)
dtype = tf.as_dtype("bfloat16")
assert dtype is tf.bfloat16 is tf.as_dtype(dtype) and dtype.size == 2 and dtype != tf.float16
print("ml_dtypes" in sys.modules)
"""


def test_ml_dtypes_is_imported_when_a_value_has_one_of_its_types() -> None:
    assert _run(_NARROW) == "False"
    assert _run(f"{_NARROW}\ntf.cast(x, dtype); print('ml_dtypes' in sys.modules)")[-4:] == "True"


@pytest.mark.parametrize(
    "first", ["z = tf.constant([3, 5], tf.bfloat16)", "z = np.array([3, 5], ml_dtypes.bfloat16)"]
)
def test_sets_of_numpy_dtypes_grow_with_ml_dtypes(first: str) -> None:
    code = f"""
import numpy as np
import pinnace as tf

tf.square(tf.constant([2.0]))
before = tf.negative(tf.constant([2.0]))
import ml_dtypes
{first}
with tf.GradientTape() as tape:
    z = tf.convert_to_tensor(z)
    tape.watch(z)
    y = tf.negative(tf.square(z))
found = tape.gradient(y, z)
print(type(tf.bfloat16).__name__, found.dtype.name, *found.numpy().astype(float))
"""
    assert _run(code) == "DType bfloat16 -6.0 -10.0"


def test_dtypes_of_ml_dtypes_have_limits_and_other_attributes() -> None:
    code = """
import pinnace as tf

int4 = tf.dtypes.experimental.int4
print(hasattr(int4, "nothing"), int4.size, int4.min, int4.max, tf.bfloat16.max > 3e38)
"""
    assert _run(code) == "False 1 -8 7 True"


def test_the_collector_traverses_no_imported_module_again() -> None:
    code = "import gc, pinnace; print(len(gc.get_objects(1)) < 5000, gc.get_freeze_count())"
    assert _run(code) == "True 0"
    kept = "import gc; gc.freeze(); import pinnace; print(gc.get_freeze_count() > 0)"
    assert _run(kept) == "True"
