"""`from pinnace.keras.utils import …`: modules have public import names, without copies."""

from support.fresh_process import run_fresh

NAMES = [
    *("audio", "autograph", "autograph.experimental", "bitwise", "compat.v1", "data"),
    *("debugging", "dtypes", "errors", "image", "initializers", "io", "keras.backend"),
    *("keras.preprocessing.sequence", "keras.utils", "linalg", "lookup", "losses"),
    *("math", "math.special", "metrics", "nest", "nn", "optimizers", "quantization"),
    *("ragged", "random", "raw_ops", "saved_model", "sets", "signal", "sparse", "strings"),
    *("summary", "test", "train", "version"),
]
# After `import pinnace` each name is tried in a separate process, which imports no other.
LOOK = """
import importlib, os, sys, traceback
import pinnace

def look(name):
    module = importlib.import_module("pinnace." + name)
    shown = pinnace
    for part in name.split("."):
        shown = getattr(shown, part)
    assert shown is module, (shown, module)
    assert module.__spec__.name == module.__name__, module.__spec__
    # Each file was run once.
    loaded = {module for module in sys.modules.values() if hasattr(module, "__spec__")}
    files = [getattr(module, "__file__", None) for module in loaded]
    root = os.path.dirname(pinnace.__file__) + os.sep
    ours = [file for file in files if file and file.startswith(root)]
    assert len(ours) == len(set(ours)) > 100

wrong = []
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            look(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        wrong.append(name)
sys.exit(f"these do not import by their names: {wrong}" if wrong else 0)
"""


def test_public_modules_import_by_their_names() -> None:
    run_fresh(LOOK, *NAMES)


def test_a_name_that_is_none_is_refused_as_python_does() -> None:
    run_fresh("""
for name in ("pinnace.mathematics", "pinnace.math.nothing", "pinnace.math.np"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert error.name == name, error
    else:
        raise AssertionError(name)
""")


def test_names_are_taken_from_modules_of_other_places() -> None:
    out = run_fresh("""
from pinnace.keras.utils import to_categorical
from pinnace.math.special import dawsn
import pinnace.linalg as la
print(to_categorical([1], 3).tolist(), float(dawsn(0.0)), la.__name__)
""")
    assert out.strip() == "[[0.0, 1.0, 0.0]] 0.0 pinnace.linalg"
