# ruff: noqa: E501, ISC004 (lines of the page)
"""Every environment variable that is read, as docs/reference/environment.md.

The names are found in the code; a name without a line below, or a line without a name, is an error.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "environment.md"
SOURCES = ("core", "saved_model", "serving", "deploy")
_READS = re.compile(r"\benviron\b|\benvironment\b|\bgetenv\b")
_NAME = re.compile(r"CC|LOCALAPPDATA|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
# Constants of such a form, in modules that read variables, that are none.
_NO_VARIABLES = frozenset(
    {
        "ASSERT_STATEMENTS",
        "AUTO_CONTROL_DEPS",
        "BUILTIN_FUNCTIONS",
        "EQUALITY_OPERATORS",
        "NAME_SCOPES",
        "O_NONBLOCK",
    }
)
# Read by tools/build_backend.py.
_AT_INSTALLATION = "PINNACE_BUILD_KERNELS"
# Default, effect.
_Lines = dict[str, tuple[str, str]]
GROUPS: dict[str, _Lines] = {
    "Running models": {
        "PINNACE_THREADS": (
            "0: as many as BLAS takes",
            "threads of one op; `pinnace serve` divides the cores among its workers if it is not set",
        ),
        "PINNACE_TIER": (
            "`auto`",
            "how graphs are run: `auto` (by machine code), `compiled` (the same, its errors raised), `plan` (none), "
            "`eager` (op by op)",
        ),
        "PINNACE_FUSION": ("1", "0: chains of elementwise ops are run op by op"),
        "PINNACE_EAGER": ("0", "1: functions are run as plain Python, for a debugger"),
        "PINNACE_DETERMINISM": ("0", "1: results do not depend on the order of threads"),
        "PINNACE_CHECK": (
            "0",
            "1: each call by machine code is compared with the plan, whose results it gives",
        ),
        "PINNACE_POISON": ("0", "1: memory is filled with NaN before it is written, for tests"),
        "OMP_NUM_THREADS": (
            "none",
            "threads of BLAS, and the most that kernels take",
        ),
        "OPENBLAS_THREAD_TIMEOUT": (
            "chosen at import",
            "how long threads of BLAS stay awake; what you set stands",
        ),
    },
    "Machine code": {
        "PINNACE_BUILD_KERNELS": (
            "1",
            "0: `pip install .` does not make the machine code of the kernels (Linux)",
        ),
        "PINNACE_CACHE": (
            "`~/.cache/pinnace`",
            "folder of fetched models, and of graphs to report; empty keeps nothing",
        ),
        "XDG_CACHE_HOME": (
            "`~/.cache`",
            "where the folder `pinnace` lies, without `PINNACE_CACHE`",
        ),
        "LOCALAPPDATA": ("as Windows sets it", "the same on Windows"),
        "NUMBA_CPU_NAME": ("set by the build", "for which processor Numba compiles the library"),
        "NUMBA_CPU_FEATURES": ("set by the build", "likewise, with which instructions"),
        "CC": (
            "`cc`, `gcc` or `clang`",
            "the program that links the library of kernels",
        ),
    },
    "Training": {
        "PINNACE_IMPORT": (
            "none",
            "modules, with commas, that commands import for classes of your own; "
            "`--import` of the commands adds to it",
        ),
        "KERAS_HOME": ("`~/.keras`", "folder of downloaded files"),
        "KERAS_MAX_EPOCHS": ("none", "the most epochs of a `fit`"),
        "KERAS_MAX_STEPS_PER_EPOCH": ("none", "the most batches of an epoch"),
        "AUTOGRAPH_VERBOSITY": ("0", "how much AutoGraph logs"),
        "TEST_REPORT_FILE_PREFIX": ("none", "where `test.Benchmark` writes its reports"),
    },
    "Several processes": {
        "TF_CONFIG": ("`{}`", "the cluster and this process's task in it, in TensorFlow's JSON"),
        "OMPI_COMM_WORLD_SIZE": ("1", "set by Open MPI's `mpirun`: how many processes it started"),
        "PMI_SIZE": ("1", "set by MPICH's and Intel's `mpiexec`"),
        "MV2_COMM_WORLD_SIZE": ("1", "set by MVAPICH"),
        "RAY_ADDRESS": ("this machine", "the cluster of Ray"),
        "RAY_AUTH_MODE": ("`disabled`", "Ray's; read for the words of an error"),
    },
    "`pinnace serve` on platforms": {
        "AIP_HTTP_PORT": ("none", "the port, where no flag gives one (Vertex AI)"),
        "AIP_STORAGE_URI": ("none", "the model, where no flag gives one"),
        "AIP_HEALTH_ROUTE": ("none", "one more path that answers as `/readyz` does"),
        "AIP_PREDICT_ROUTE": ("none", "one more path that answers as `:predict` does"),
        "SAGEMAKER_BIND_TO_PORT": ("none", "the port, where no flag gives one (SageMaker)"),
        "KUBERNETES_SERVICE_HOST": (
            "none",
            "set in pods: after SIGTERM the server goes on for a while, unless `--drain_s` is given",
        ),
        "GLIBC_TUNABLES": (
            "none",
            "glibc's; if it or any `MALLOC_…` is set, the server leaves malloc as it is",
        ),
    },
    "Commands": {
        "PINNACE_API_KEY": ("none", "the key that `pinnace replay` sends"),
        "JOB_COMPLETION_INDEX": (
            "none",
            "set by Kubernetes: `pinnace score --shard auto` takes it",
        ),
        "SLURM_ARRAY_TASK_ID": ("none", "set by Slurm, likewise"),
        "SLURM_ARRAY_TASK_COUNT": ("none", "likewise"),
        "SLURM_ARRAY_TASK_MIN": ("0", "likewise"),
        "SLURM_ARRAY_TASK_STEP": ("1", "likewise"),
    },
}
_HEAD = """# Environment variables

Every variable that the library, the server and the commands read, what it is by default, and what it does. They are read when
`pinnace` is imported or a command starts, so set them before; `pinnace.config` changes most of the first group later. Flags and
arguments come first where there are both. Libraries below read their own: those of object stores (`AWS_…`, `GOOGLE_…`) and proxies.
"""
_FOOT = """
Where a server shows an address or an error of a store, the values of variables whose names tell of keys, tokens or passwords are
blotted out. Written by `python tools/environment_page.py --write` from the code; a test finds every name that is read.
"""


def names() -> set[str]:
    """The variables that the code reads: constants of their form in modules that read any."""
    found = {name for folder in SOURCES for name in _names_in(ROOT / folder)} - _NO_VARIABLES
    return found | {_AT_INSTALLATION}


def _names_in(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        text = path.read_text()
        if not _READS.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and _NAME.fullmatch(node.value)
            ):
                yield node.value


def page() -> str:
    """The whole document.

    Raises:
        ValueError: a name that is read has no line here, or a line has no name that is read.
    """
    told = {name for lines in GROUPS.values() for name in lines}
    read = names()
    if told != read:
        raise ValueError(f"not told: {sorted(read - told)}; not read: {sorted(told - read)}")
    parts = [_HEAD]
    for title, lines in GROUPS.items():
        rows = "\n".join(
            f"| `{name}` | {usual} | {does} |" for name, (usual, does) in lines.items()
        )
        parts.append(f"\n## {title}\n\n| variable | default | effect |\n|---|---|---|\n{rows}\n")
    return "".join([*parts, _FOOT])


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    if parser.parse_args().write:
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
