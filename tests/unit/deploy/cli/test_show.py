"""`pinnace show`."""

import json
from pathlib import Path

import pytest

from pinnace.deploy.cli import terminal
from pinnace.deploy.cli.terminal import size_text, time_text
from pinnace.engine.ahead import reading
from pinnace.framework import config
from pinnace.proto.saved_model_pb2 import SavedModel
from support.command_line import pinnace
from support.golden import FOLDER
from support.hungry_models import save_hungry

SAVED_MODELS = FOLDER / "saved_models"
MODELS = sorted(one.name for one in SAVED_MODELS.iterdir() if one.is_dir())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_shown(name: str) -> None:
    model = (SAVED_MODELS / f"{name}") / "model"
    answer = pinnace("show", model, "--all")
    assert answer.code == 0, answer.err
    told = json.loads(pinnace("show", model, "--json").out)
    for signature in told["signatures"]:
        assert signature["name"] in answer.out
        for tensor in (*signature["inputs"], *signature["outputs"]):
            assert tensor["name"] in answer.out
            assert tensor["shape"] in answer.out
    for variable in told["variables"]:
        assert variable["name"] in answer.out
    assert told["writer"] in answer.out
    assert told["node_count"] == sum(op["count"] for op in told["ops"])


def test_a_machine_is_told_what_it_runs_or_why_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = json.loads(pinnace("show", "--machine", "--json").out)
    assert (told["library"] is None) == bool(told["reason"])
    assert bool(told["kernels"]) == (told["library"] is not None)
    monkeypatch.setattr(reading, "INSTALLED", tmp_path)
    for content, reason in ((None, "there is no library"), (b"{", "is damaged")):
        if content is not None:
            (tmp_path / "kernels.json").write_bytes(content)
        monkeypatch.setattr(reading, "_looked", None)
        told = json.loads(pinnace("show", "--machine", "--json").out)
        assert told["library"] is None
        assert reason in told["reason"]
        assert reason in pinnace("show", "--machine").out
    monkeypatch.setattr(config.settings, "fusion", False)
    assert json.loads(pinnace("show", "--machine", "--json").out)["reason"] == (
        "settings: fusion is off"
    )


def test_a_model_or_the_machine_is_shown() -> None:
    model = SAVED_MODELS / "poly_module" / "model"
    for arguments in ((), (model, "--machine")):
        answer = pinnace("show", *arguments)
        assert answer.code
        assert "give a MODEL or --machine" in answer.err


def test_what_is_piped_is_plain_columns() -> None:
    out = pinnace("show", (SAVED_MODELS / "poly_module") / "model").out
    assert "\x1b" not in out
    assert not set("│┃─━") & set(out)
    assert "serving_default  in   x     float32  [?, 3]" in out


def test_a_terminal_gets_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    terminal.Terminal().table(("name", "size"), [("[red]a[/]", "1")], right=(1,))
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert "[red]a[/]" in out  # names from a model are not markup
    assert "─" in out


@pytest.mark.parametrize("on_terminal", [False, True])
def test_a_name_cannot_steer_the_terminal(
    on_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal.Terminal(plain=not on_terminal)
    shown.heading("a\x1b[2Jb", "\x9bc")
    shown.line("a\rb\x07")
    shown.table(("name",), [("\x1b]0;title\x07",)])
    out = capsys.readouterr().out
    assert not set(map(chr, range(32))) - {"\n"} & set(out)
    assert r"a\x1b[2Jb" in out
    assert r"a\x0db\x07" in out


def test_keras_is_told() -> None:
    assert "Keras 3" in pinnace("show", (SAVED_MODELS / "keras_mlp") / "model").out
    assert "Keras" not in pinnace("show", (SAVED_MODELS / "counter") / "model").out


def test_the_graph_is_printed_as_text() -> None:
    model = (SAVED_MODELS / "several_signatures") / "model"
    answer = pinnace("show", model, "--graph", "b")
    assert answer.code == 0
    assert "MatMul(" in answer.out
    wrong = pinnace("show", model, "--graph", "describ")
    assert wrong.code == 1
    assert "Try: describe" in wrong.err


def test_the_graph_is_written_as_a_page(tmp_path: Path) -> None:
    page = tmp_path / "graph.html"
    model = (SAVED_MODELS / "keras_cnn") / "model"
    answer = pinnace("show", model, "--graph", "serving_default", "--html", page)
    assert answer.code == 0, answer.err
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "Conv2D" in text
    unwritable = pinnace("show", model, "--html", tmp_path / "none" / "graph.html")
    assert unwritable.code == 1
    assert "graph.html" in unwritable.err


@pytest.mark.parametrize(
    ("count", "wanted"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB")]
)
def test_sizes_are_readable(count: float, wanted: str) -> None:
    assert size_text(count) == wanted


@pytest.mark.parametrize(
    ("seconds", "wanted"), [(2.5, "2.5 s"), (0.0025, "2.5 ms"), (2.5e-6, "2.5 µs")]
)
def test_times_are_readable(seconds: float, wanted: str) -> None:
    assert time_text(seconds) == wanted


FAKE = "\nlow: Nothing found that reaches out of the model.\x1b[2J\t\u202e"


@pytest.fixture
def faking(tmp_path: Path) -> Path:
    """A model whose names contain newlines and other control characters."""
    folder = save_hungry(tmp_path / "model", side=2)
    file = folder / "saved_model.pb"
    model = SavedModel.FromString(file.read_bytes())
    (meta,) = model.meta_graphs
    meta.meta_info_def.tensorflow_version = f"2{FAKE}"
    meta.meta_info_def.tags.append(f"tag{FAKE}")
    signature = meta.signature_def["serving_default"]
    meta.signature_def[f"name{FAKE}"].CopyFrom(signature)
    signature.inputs[f"x{FAKE}"].CopyFrom(signature.inputs["x"])
    meta.asset_file_def.add(filename=f"words{FAKE}").tensor_info.name = "x:0"
    meta.graph_def.node.add(name=f"node{FAKE}", op=f"Op{FAKE}")
    function = meta.graph_def.library.function.add()
    function.signature.name = f"function{FAKE}"
    function.node_def.add(name=f"inner{FAKE}", op=f"Inner{FAKE}")
    file.write_bytes(model.SerializeToString())
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "{}", "--all"),
        ("show", "{}"),
        ("show", "{}", "--json"),
        ("show", "{}", "--graph", "nope"),
        ("show", "{}", "--graph", "serving_default"),
        ("scan", "{}"),
        ("scan", "{}", "--json"),
        ("diff", "{}", "{half}", "--all"),
        ("run", "{}", "--signature", "nope", "x=1"),
        ("run", "{}", "y=1"),
        ("export", "{}", "{out}", "--signature", "nope"),
        ("export", "{}", "{out}"),
        ("edit", "{}", "{out}", "--keep-signature", "nope"),
    ],
)
def test_no_name_of_a_model_begins_a_line(
    arguments: tuple[str, ...], faking: Path, tmp_path: Path
) -> None:
    half = SAVED_MODELS / "poly_module" / "model"
    out = tmp_path / "out.onnx"
    words = [one.replace("{}", str(faking)).format(half=half, out=out) for one in arguments]
    answer = pinnace(*words)
    shown = answer.out + answer.err
    assert shown
    assert not {"\x1b", "\t", "\u202e"} & set(shown)
    told = [line for line in shown.splitlines() if line.lstrip().startswith("low: Nothing found")]
    assert len(told) <= (arguments[0] == "scan")  # its own verdict
    assert "Traceback" not in shown
    assert not shown.lstrip().startswith("KeyError")
