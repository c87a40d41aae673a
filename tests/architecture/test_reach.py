"""Only listed files of the ops reach outside the process, each for a stated reason.

tests/unit/ops/test_gate.py watches code that runs; this test also sees code that no case runs.
"""

import ast
import re
from collections.abc import Iterator

from architecture.sources import imports, modules, written

FOLDERS = ("pinnace.ops.", "pinnace.graph.")
# Files, folders, processes, addresses, the environment, the terminal.
OUTSIDE = re.compile(
    r"(?:asyncio|ctypes|ftplib|glob|http|logging|mmap|multiprocessing|os|pathlib|pickle|pty|shutil|"
    r"signal|socket|sqlite3|ssl|subprocess|tempfile|urllib|webbrowser|zipfile|pinnace\.storage(?!\.varints))"
    r"(?:\..*)?"
)
CALLED = {"open", "exec", "eval", "compile", "__import__", "print", "input", "breakpoint"}
STREAMS = {"stdin", "stdout", "stderr", "__stdout__", "__stderr__"}
# Module of pinnace.ops or pinnace.graph -> why it may do so.
KNOWN = {
    "ops.control.printing": "terminal, files: Print and PrintV2, which say so",
    "ops.dataset.files": "TFRecordDataset and the like, which say so",
    "ops.io.bundles": "SaveV2, RestoreV2 and the like, which say so",
    "ops.io.files": "ReadFile, WriteFile, MatchingFiles, which say so",
    "ops.io.gfile": "tf.io.gfile: functions of programs, no ops",
    "ops.io.proto_descriptors": "descriptor files of DecodeProtoV2 and EncodeProto, which say so",
    "ops.io.writers": "tf.io.TFRecordWriter: a class of programs, no op",
    "ops.kernels.candidates": "open: FixedUnigramCandidateSampler with vocab_file, which says so",
    "ops.kernels.addresses": "ctypes: where arrays lie in the process' own memory",
    "ops.kernels.blas_threads": "ctypes: the functions of OpenBLAS that set its threads",
    "ops.kernels.team": "os: how many cores there are, and how busy",
    "ops.random.generator": "os: chance from the system, for generators of programs",
    "ops.trees.decision_forests": "SimpleMLLoadModelFromPathWithHandle, which says so",
    "ops.trees.forest_files": "decodes what that op has read",
    "ops.trees.forest_folders": "reads the files for that op, and folders of ydf",
    "ops.state.text_lines": "InitializeTableFromTextFileV2, which says so",
}  # fmt: skip


def _ways_out(name: str) -> Iterator[str]:
    for line, found in imports(name):
        if OUTSIDE.fullmatch(found):
            yield f"{name}:{line} imports {found}"
    for node in ast.walk(ast.parse(modules()[name].read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in CALLED:
                yield f"{name}:{node.lineno} calls {node.func.id}"
        elif isinstance(node, ast.Attribute) and node.attr in STREAMS:
            yield f"{name}:{node.lineno} names {node.attr}"


def test_only_known_files_of_ops_and_graphs_know_a_way_out() -> None:
    names = [name for name in modules() if name.startswith(FOLDERS) and written(name)]
    wrong = [
        one
        for name in names
        if name.removeprefix("pinnace.") not in KNOWN
        for one in _ways_out(name)
    ]
    assert not wrong, "\n".join(["if it must, list it, and let its ops say so (`reaches`)", *wrong])


def test_the_list_has_no_file_that_needs_no_reason() -> None:
    assert [name for name in KNOWN if not list(_ways_out(f"pinnace.{name}"))] == []
