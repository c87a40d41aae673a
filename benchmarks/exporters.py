"""The export beside tf2onnx: processor time, memory, and the files that come out.

Every run is a process of its own that reads the SavedModel and ends: imports count, and so does
what `pinnace export` does beyond converting (it runs both sides and compares). A file is checked
before its maker is timed: onnx.checker, ONNX Runtime, and TensorFlow's own outputs. That first run
does not count, and the others of a side follow it, since a machine may take long to have memory
again that the other side used; the figures are medians. A converter that takes more memory than is
kind to the machine is stopped, which is told.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table

import asked
import harness
import networks

FOLDER = Path(__file__).resolve().parent
OPSET = "18"
ROUNDS = 3
# Relative to the largest value of the output; the networks multiply and add in other orders.
TOLERANCE = 1e-4
OURS, THEIRS, SLIM = "pinnace", "tf2onnx", "tf2onnx + onnxslim"
FILES = {OURS: "pinnace.onnx", THEIRS: "tf2onnx.onnx", SLIM: "slim.onnx"}
SHORT = ("lstm", "mobilenet_v2")


@dataclass(frozen=True, slots=True)
class Model:
    """A network of `networks.py`.

    Attributes:
        name: its key.
        cpu_s: the processor time to stay below; None if there is no aim.
        transposes: how many transpositions may be left; None if any.
    """

    name: str
    cpu_s: float | None = None
    transposes: int | None = 2


MODELS = (
    Model("mobilenet_v2"),
    Model("mobilenet_v3"),
    Model("efficientnet_b0"),
    Model("resnet50", cpu_s=1.5),
    Model("vgg16", cpu_s=3.0),
    Model("unet"),
    Model("lstm", transposes=None),
    Model("gru", transposes=None),
    Model("encoder", transposes=None),
)


@dataclass(slots=True)
class Result:
    """What one tool made of one model.

    Attributes:
        failure: why there is no right file; empty if there is one.
        cpu_s: processor time of each round.
        system_s: how much of that the system took: for pages that are touched first, mostly.
        wall_s: time of each round.
        peak_bytes: the largest resident size of any round.
        weight_bytes: size of the weights in the file.
        kinds: operator -> how often it stands in the file, bodies included.
        relative: the largest difference from TensorFlow, relative to the largest value.
    """

    model: str
    tool: str
    failure: str = ""
    cpu_s: list[float] = field(default_factory=list)
    system_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    weight_bytes: int = 0
    file_bytes: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    relative: float | None = None

    def forget(self) -> None:
        """The times so far were those of a run that finds nothing where it looks first."""
        if not self.failure:
            for times in (self.cpu_s, self.system_s, self.wall_s):
                times.clear()

    @property
    def nodes(self) -> int:
        """How many operators the file has."""
        return sum(self.kinds.values())

    @property
    def cpu(self) -> float:
        """The median processor time."""
        return statistics.median(self.cpu_s)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process took."""

    code: int
    cpu_s: float
    system_s: float
    wall_s: float
    peak_bytes: int
    words: str


def spend(command: Sequence[str], most_bytes: int) -> Spent:
    """Run a process to its end, or until it takes more memory than it may."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        launcher = [sys.executable, "-IS", str(FOLDER / "spending.py"), str(most_bytes), str(log)]
        done = subprocess.run(
            [*launcher, *command],
            stdout=subprocess.PIPE,
            env=asked.clean_environment(),
            cwd=folder,
            check=True,
        )
        taken = json.loads(done.stdout)
        lines = log.read_text(errors="replace").splitlines()
    is_stopped = taken.pop("stopped")
    words = f"stopped at {most_bytes / 1e9:.0f} GB of memory" if is_stopped else _last(lines)
    return Spent(words=words, **taken)


def _last(lines: list[str]) -> str:
    told = [line.strip() for line in lines if line.strip()]
    return told[-1][:160] if told else ""


def command_of(tool: str, model: Path, folder: Path) -> list[str]:
    """What the tool is called with; what onnxslim shrinks is the file that tf2onnx wrote."""
    target = str(folder / FILES[tool])
    if tool == OURS:
        python = os.environ.get("PINNACE_WHEEL_PYTHON", sys.executable)
        entry = [python, "-m", "pinnace.deploy.cli.main", "export"]
        return [*entry, str(model), target, "--opset", OPSET]
    python = os.environ["PINNACE_TF2ONNX_PYTHON"]
    if tool == SLIM:
        return [python, "-m", "onnxslim", str(folder / FILES[THEIRS]), target]
    convert = [python, "-m", "tf2onnx.convert", "--saved-model", str(model)]
    return [*convert, "--output", target, "--opset", OPSET]


def one_round(result: Result, before: Result | None, model: Path, folder: Path, most: int) -> bool:
    """Make the file once more, and keep the figures; whether it went well.

    Args:
        result: to which the figures are added.
        before: what has just been made and is shrunk now: its figures count as well.
        model: the SavedModel.
        folder: of the files.
        most: bytes of memory.
    """
    spent = spend(command_of(result.tool, model, folder), most)
    cpu, system = spent.cpu_s, spent.system_s
    wall, peak = spent.wall_s, spent.peak_bytes
    if before is not None:
        cpu, system = cpu + before.cpu_s[-1], system + before.system_s[-1]
        wall, peak = wall + before.wall_s[-1], max(peak, before.peak_bytes)
    result.cpu_s.append(cpu)
    result.system_s.append(system)
    result.wall_s.append(wall)
    result.peak_bytes = max(result.peak_bytes, peak)
    if spent.code != 0:
        result.failure = f"exit code {spent.code}: {spent.words}"
    return spent.code == 0


def check(result: Result, target: Path, answer: Path) -> None:
    """Fill in what the file holds; a failure if it is not right."""
    try:
        onnx.checker.check_model(str(target), full_check=True)
    except Exception as error:
        result.failure = f"onnx.checker: {str(error).splitlines()[0][:160]}"
        return
    model = onnx.load(target, load_external_data=False)
    result.kinds = dict(sorted(_kinds(model.graph).items()))
    result.weight_bytes = sum(_bytes(tensor) for tensor in model.graph.initializer)
    result.file_bytes = target.stat().st_size
    del model
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(target), options, providers=["CPUExecutionProvider"]
        )
        (given,) = session.get_inputs()
        with np.load(answer) as known:
            x, wanted = known["x"], known["y"]
        worst = 0.0
        for times in (1, 2):  # no network mixes its rows
            (got,) = session.run(None, {given.name: np.concatenate([x] * times)})
            whole = np.concatenate([wanted] * times)
            assert got.shape == whole.shape, (got.shape, whole.shape)
            assert got.dtype == whole.dtype, (got.dtype, whole.dtype)
            worst = max(worst, float(np.max(np.abs(got - whole)) / np.max(np.abs(whole))))
    except Exception as error:
        result.failure = f"ONNX Runtime: {str(error).splitlines()[0][:160]}"
        return
    result.relative = worst
    if not worst <= TOLERANCE:
        result.failure = f"differs from TensorFlow by {worst:.1e}"


def _kinds(graph: onnx.GraphProto) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in graph.node:
        found[node.op_type] = found.get(node.op_type, 0) + 1
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                for kind, count in _kinds(attribute.g).items():
                    found[kind] = found.get(kind, 0) + count
    return found


def _bytes(tensor: onnx.TensorProto) -> int:
    size = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    return int(np.prod(tensor.dims, dtype=np.int64)) * size


def measure(model: Model, tools: Sequence[str], rounds: int, most_bytes: int) -> list[Result]:
    """One model by all tools, in turn."""
    source = networks.folder(model.name)
    results = [Result(model.name, tool) for tool in tools]
    ours, *peers = results
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def made(group: Sequence[Result], *, checked: bool) -> None:
            before = None
            for result in group:
                if result.failure or (before is not None and before.failure):
                    result.failure = result.failure or "there is nothing to shrink"
                    return
                went_well = one_round(result, before, source / "model", folder, most_bytes)
                if went_well and checked:
                    check(result, folder / FILES[result.tool], source / "answer.npz")
                before = result

        for group in ([ours], peers):
            made(group, checked=True)  # whoever gives no right file is not timed again
            if rounds > 1:
                for result in group:
                    result.forget()
                for _ in range(rounds):
                    made(group, checked=False)
    return results


HEADINGS = (
    "model",
    "tool",
    "CPU s",
    "of that system s",
    "wall s",
    "peak MB",
    "nodes",
    "transpositions",
    "difference",
    "CPU, ours / theirs",
    "memory, ours / theirs",
    "aims",
)


def rows(results: list[Result]) -> tuple[list[tuple[str, ...]], bool]:
    """The table; and whether every aim is met."""
    table: list[tuple[str, ...]] = []
    is_met = True
    for model in MODELS:
        group = [result for result in results if result.model == model.name]
        ours = next((r for r in group if r.tool == OURS), None)
        if ours is None:
            continue
        rivals = [r for r in group if r is not ours]
        missed = _missed(model, ours, rivals)
        is_met &= not missed
        for result in group:
            is_first = result is ours
            told = ", ".join(missed) if missed else "met"
            table.append(
                (
                    f"{model.name}, {ours.weight_bytes / 1e6:.1f} MB" if is_first else "",
                    result.tool,
                    *_cells(result),
                    *(("", "") if is_first else _ratios(ours, result)),
                    told if is_first else "",
                )
            )
    return table, is_met


def _missed(model: Model, ours: Result, rivals: list[Result]) -> list[str]:
    if ours.failure:
        return [ours.failure]
    found = []
    most = 1.3 * ours.weight_bytes + 150e6
    if ours.peak_bytes > most:
        found.append(f"memory > {most / 1e6:.0f} MB")
    if model.cpu_s is not None and ours.cpu > model.cpu_s:
        found.append(f"CPU > {model.cpu_s:g} s")
    if model.transposes is not None and ours.kinds.get("Transpose", 0) > model.transposes:
        found.append(f"transpositions > {model.transposes}")
    counts = [rival.nodes for rival in rivals if rival.kinds]
    if counts and ours.nodes > min(counts):
        found.append(f"nodes > {min(counts)}")
    return found


def _cells(result: Result) -> tuple[str, ...]:
    cpu = f"{result.cpu:.2f}" if result.cpu_s else ""
    system = f"{statistics.median(result.system_s):.2f}" if result.system_s else ""
    wall = f"{statistics.median(result.wall_s):.2f}" if result.wall_s else ""
    peak = f"{result.peak_bytes / 1e6:,.0f}"
    if result.failure:
        return cpu, system, wall, peak, "", "", result.failure
    return (
        cpu,
        system,
        wall,
        peak,
        str(result.nodes),
        str(result.kinds.get("Transpose", 0)),
        f"{result.relative:.1e}",
    )


def _ratios(ours: Result, theirs: Result) -> tuple[str, str]:
    if ours.failure or not theirs.cpu_s:
        return "", ""
    memory = f"{ours.peak_bytes / theirs.peak_bytes:.3f}"
    if theirs.failure:
        return "", ""
    pairs = zip(ours.cpu_s, theirs.cpu_s, strict=False)
    return f"{statistics.median(a / b for a, b in pairs):.3f}", memory


def _most_bytes() -> int:
    """What a converter may take: sixty per cent of what is free now, 16 GB at most."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        (free,) = [line.split()[1] for line in lines if line.startswith("MemAvailable")]
        return min(16_000_000_000, int(0.6 * int(free) * 1024))
    except (OSError, ValueError):
        return 16_000_000_000


def write(file: Path, results: list[Result], table: list[tuple[str, ...]], most: int) -> None:
    """The table as Markdown, and everything as JSON."""
    facts = harness.environment()
    peer = os.environ["PINNACE_TF2ONNX_PYTHON"]
    packages = ["tf2onnx", "onnxslim", "tensorflow", "onnx"]
    facts["versions"]["tf2onnx"] = harness._versions(peer, packages)
    lines = [
        "# Export to ONNX beside tf2onnx",
        "",
        "Written by `make bench-onnx`: each run is a process that reads a SavedModel of TensorFlow",
        "and writes a file; imports count, and for pinnace the comparison with ONNX Runtime, which",
        "tf2onnx does not make. Before anything is timed the file is checked by onnx.checker and",
        "ONNX Runtime, and with TensorFlow's own outputs on two sizes of batch. CPU is user and",
        "system time. A virtual machine that gives free memory back to its host pays up to 3 s",
        "of the latter for a gigabyte that is used again, that of the written file too: the runs",
        "of a side follow one another, and the first, whose file is checked, does not count. Peak",
        "is the largest resident size; medians of the rounds. Nodes count those of bodies. A",
        f"converter is stopped at {most / 1e9:.0f} GB. Aims: memory of 1.3 times the weights and",
        "150 MB, no more nodes than the others, two transpositions in a network of convolutions,",
        "and the processor time of two sizes (1.5 s for resnet50, 3 s for vgg16).",
        "",
        f"{facts['date']}, {facts['processor']}, {facts['cores']} cores shared with other work,",
        f"load {facts['load']} at the end.",
        "",
        *(f"- {side}: {versions}" for side, versions in facts["versions"].items()),
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
        *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table),
    ]
    file.write_text("\n".join(lines) + "\n")
    content: dict[str, Any] = {"environment": facts, "results": [asdict(one) for one in results]}
    file.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")


def main() -> int:
    """Measure, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of models, with commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--short", action="store_true", help="two models, once, ours alone")
    parser.add_argument("--markdown", type=Path, help="file to write the table to")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [model.name for model in MODELS]
    if given.short:
        names = [name for name in SHORT if networks.reachable(name)]
        if not names:
            sys.stderr.write("no model to export: TensorFlow, which makes them, is not here\n")
            return 0
    tools = [OURS]
    if not given.short:
        if "PINNACE_TF2ONNX_PYTHON" not in os.environ:
            sys.stderr.write("PINNACE_TF2ONNX_PYTHON is not set.\n  Try: make bench-onnx\n")
            return 1
        tools += [THEIRS, SLIM]
    most = _most_bytes()
    results: list[Result] = []
    for model in MODELS:
        if model.name in names:
            results += measure(model, tools, 1 if given.short else given.rounds, most)
            Console(stderr=True).print(f"{model.name}: done")
    table, is_met = rows(results)
    shown = Table(*HEADINGS, title="pinnace export beside tf2onnx")
    for row in table:
        shown.add_row(*row)
    Console(width=170).print(shown)
    if given.markdown and not given.only and not given.short:
        write(given.markdown, results, table, most)
    if given.short:  # figures of one run are no figures
        return 1 if any(result.failure for result in results) else 0
    return 0 if is_met else 2


if __name__ == "__main__":
    sys.exit(main())
