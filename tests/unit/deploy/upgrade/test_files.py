"""Files, notebooks and folders: other bytes are unchanged, and everything is reported."""

from __future__ import annotations

import codecs
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pinnace.deploy.cli.main import main
from pinnace.deploy.upgrade import Options, upgrade_file, upgrade_tree
from pinnace.deploy.upgrade.notebooks import upgrade_notebook
from pinnace.deploy.upgrade.sources import upgrade_source
from support.fresh_process import run_fresh

OLD = b"import tensorflow as tf\ny = tf.log(x)\n"
NEW = b"import tensorflow as tf\ny = tf.math.log(x)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (codecs.BOM_UTF8 + OLD, codecs.BOM_UTF8 + NEW),
        (OLD.replace(b"\n", b"\r\n"), NEW.replace(b"\n", b"\r\n")),
        (b"# coding: latin-1\n# Gr\xfc\xdfe\n" + OLD, b"# coding: latin-1\n# Gr\xfc\xdfe\n" + NEW),
        (OLD.rstrip(), NEW.rstrip()),
        (b"\n\x0c\n" + OLD + b"\\\n\n", b"\n\x0c\n" + NEW + b"\\\n\n"),
        (b"", b""),
    ],
)
def test_bytes_that_are_not_rewritten_stay(before: bytes, after: bytes) -> None:
    content, upgraded = upgrade_source(before, Options())
    assert content == after
    assert upgraded.read


def test_a_file_of_another_encoding_than_it_says_is_told_and_left() -> None:
    before = b"# caf\xe9\n" + OLD
    content, upgraded = upgrade_source(before, Options())
    assert content == before
    assert not upgraded.read
    assert "Save it as UTF-8" in upgraded.findings[0].remedy


def notebook(*sources: object, **settings: object) -> bytes:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["tf.log is *old*\n"]},
        *(
            {"cell_type": "code", "execution_count": 3, "metadata": {"a": [1.0, 1e5]},
             "outputs": [{"data": {"text/plain": ["tf.log(é)"]}}], "source": source}
            for source in sources
        ),
    ]  # fmt: skip
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 2}, **settings).encode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [{}, {"indent": 1}, {"indent": 2, "ensure_ascii": False}, {"separators": (",", ":")}],
)
def test_of_a_notebook_the_sources_alone_change(settings: dict[str, object]) -> None:
    before = notebook(
        ["import tensorflow as tf\n", "%matplotlib inline"],
        "x = 1",
        [
            "!pip install x \\\n",
            "  y\n",
            "z = tf.log(x)  # é\n",
            "if x:\n",
            "    !ls\n",
            "files = !ls",
        ],
        ["%%bash\n", "tf.log"],
        ["%%time\n", "tf.reduce_sum(x,\n", "    keep_dims=True)"],
        "tf.to_float(x)\n",
        **settings,
    )
    content, upgraded = upgrade_notebook(before, Options())
    assert upgraded.read
    expected = (
        before.decode()
        .replace("z = tf.log", "z = tf.math.log")
        .replace("keep_dims", "keepdims")
        .replace("tf.to_float(x)", "tf.cast(x, dtype=tf.float32)")
    )
    assert content.decode() == expected
    assert upgrade_notebook(content, Options())[0] == content


def test_findings_of_a_notebook_name_the_cell_and_its_line() -> None:
    before = notebook("import tensorflow as tf", ["x = 1\n", "tf.contrib.foo(x)"])
    (told,) = upgrade_notebook(before, Options())[1].findings
    assert (told.line, told.what) == (2, "cell 2: tf.contrib.foo is used.")


def test_a_cell_that_is_no_python_is_told_and_the_others_are_upgraded() -> None:
    before = notebook("import tensorflow as tf\nprint 'tf'", "import tensorflow as tf", "tf.log(x)")
    content, upgraded = upgrade_notebook(before, Options())
    assert content == before.replace(b'"tf.log(x)"', b'"tf.math.log(x)"')
    assert upgraded.findings[0].what.startswith("cell 1: ")


def test_what_is_no_notebook_is_told_and_left() -> None:
    for before in (b"{", b"[]", b'{"worksheets": []}', b"\xff"):
        content, upgraded = upgrade_notebook(before, Options())
        assert content == before
        assert not upgraded.read


def test_a_folder_is_upgraded_beside_itself(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "old" / "new"
    (old / "sub").mkdir(parents=True)
    (old / "sub" / "a.py").write_bytes(OLD)
    (old / "sub" / "a.py").chmod(0o755)
    (old / "b.ipynb").write_bytes(notebook("import tensorflow as tf\ntf.log(x)"))
    (old / "data.txt").write_text("tf.log")
    (old / "broken.py").write_text("print 'tf.log'")
    (old / "link.py").symlink_to("sub/a.py")
    files = upgrade_tree(old, new)
    assert [file.source.name for file in files] == ["b.ipynb", "broken.py", "a.py"]
    assert [(file.changed, file.read) for file in files] == [
        (True, True), (False, False), (True, True),
    ]  # fmt: skip
    assert (new / "sub" / "a.py").read_bytes() == NEW
    assert (new / "sub" / "a.py").stat().st_mode & 0o777 == 0o755
    assert (new / "link.py").readlink() == Path("sub/a.py")
    assert (new / "data.txt").read_text() == "tf.log"
    assert (new / "broken.py").read_text() == "print 'tf.log'"
    assert (old / "sub" / "a.py").read_bytes() == OLD
    assert not (new / "new").exists()
    with pytest.raises(ValueError, match="exists, and is not overwritten"):
        upgrade_tree(old, new)


def test_a_folder_is_upgraded_in_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(OLD)
    (tmp_path / "link.py").symlink_to("a.py")
    (file,) = upgrade_tree(tmp_path, tmp_path)
    assert file.changed
    assert (tmp_path / "a.py").read_bytes() == NEW
    assert (tmp_path / "link.py").is_symlink()


def test_a_file_that_needs_nothing_is_not_written_in_place(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(NEW)
    before = file.stat()
    assert not upgrade_file(file, file).changed
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert file.stat().st_ino == before.st_ino


def test_the_command_writes_the_program_and_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_bytes(OLD + b"tf.contrib.foo(y)\n")
    assert main(["upgrade", "--infile", "old.py", "--outfile", "new.py"]) == 0
    assert Path("new.py").read_bytes() == NEW + b"tf.contrib.foo(y)\n"
    shown = capsys.readouterr().out
    assert "1 file: 1 changed, 0 as they were, 0 not readable" in shown
    assert "1 place for a person to look at" in shown
    assert "old.py:3:0: ERROR: tf.contrib.foo is used. Why: " in shown
    assert "tf.math.log" not in shown
    report = Path("report.txt").read_text()
    assert report.startswith("Upgrade from TensorFlow 1 to TensorFlow 2\n")
    assert "2:4: INFO: tf.log is tf.math.log now." in report
    flags = ["--inplace", "--reportfile", "r.txt", "--print_all", "--mode", "SAFETY"]
    assert main(["upgrade", "--infile", "old.py", *flags]) == 0
    assert Path("old.py").read_bytes().startswith(b"import tensorflow.compat.v1 as tf\n")
    assert "Everything that was done\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "expected --infile or --intree, one of the two"),
        (["--infile", "a.py"], "expected --outfile or --inplace, one of the two"),
        (["--infile", "a.py", "--outtree", "b"], "--outfile goes with --infile"),
        (["--intree", "a", "--outtree", "b", "--inplace"], "expected --outtree or --inplace"),
        (["--intree", "a", "--outtree", "b", "--copyotherfiles", "maybe"], "must be true or false"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["upgrade", *flags]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_file_of_another_kind_and_a_wrong_module_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert main(["upgrade", "--infile", str(tmp_path / "a.txt"), "--inplace"]) == 1
    assert "expected a .py or .ipynb file" in capsys.readouterr().err
    assert main(["upgrade", "--infile", "a.py", "--inplace", "--module", "1x"]) == 1
    assert "must be a dotted module name" in capsys.readouterr().err


def test_the_module_of_tensorflows_name_is_the_same_command(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(OLD)
    command = [sys.executable, "-m", "pinnace.tools.compatibility.tf_upgrade_v2"]
    done = subprocess.run(
        [*command, "--infile", "a.py", "--outfile", "b.py", "--no_import_rename"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.py").read_bytes() == NEW


WITHOUT = """
import sys
sys.modules["libcst"] = None
from pinnace.deploy.cli.main import main
sys.exit(main(["upgrade", "--infile", "a.py", "--inplace"]) != 1)
"""


def test_without_libcst_the_command_says_what_to_install() -> None:
    program = WITHOUT.replace("sys.exit(", "import contextlib, io\nerr = io.StringIO()\n"
                              "with contextlib.redirect_stderr(err):\n    code = (")  # fmt: skip
    told = run_fresh(program + "print(code, err.getvalue())")
    assert "needs the package libcst" in told
    assert "[upgrade]'" in told
