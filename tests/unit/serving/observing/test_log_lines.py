"""Text of clients, models and errors cannot forge lines of the server's log."""

import functools
import io
import json
import logging
import re
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.visible_text import Printing, printed, visible, visible_json
from pinnace.serving.observing.log_lines import JsonLines, TextLines
from support.waiting import until

SERVE = "import sys; from pinnace.serving.command import main; sys.exit(main(sys.argv[1:]))"
FAKE = "2026-01-01 00:00:00,000 ERROR model 'm' is broken"


@functools.cache
def unseen_characters() -> set[str]:
    """All control and format characters, but those that join letters."""
    characters = map(chr, range(0x110000))
    unseen = {one for one in characters if unicodedata.category(one) in {"Cc", "Cf", "Zl", "Zp"}}
    return unseen - {"\u200c", "\u200d"}


def test_every_character_that_is_not_seen_is_written_out() -> None:
    text = "a".join(sorted(unseen_characters()))
    assert not unseen_characters() & set(visible(text)) - set("\n\t")
    assert visible("\x1b\u009b\u202e\U000e0041") == "\\x1b\\x9b\\u202e\\U000e0041"
    for text in ("Zürich, 東京", "👩\u200d🔬", "\u0645\u06cc\u200c\u062e\u0648\u0627"):
        assert visible(text) == text


@given(st.text())
def test_json_reads_back_as_it_was(text: str) -> None:
    text = text.encode("utf-8", "replace").decode() + "\u009b\u202e\x7f"
    written = visible_json(json.dumps({"a": text}, ensure_ascii=False).encode() + b"\n")
    assert json.loads(written) == {"a": text}
    assert not (unseen_characters() - {"\n"}) & set(written.decode())
    assert written.count(b"\n") == 1


@pytest.mark.parametrize("form", [TextLines(has_pid=False), TextLines(has_pid=True), JsonLines()])
def test_a_text_in_a_line_begins_none(form: logging.Formatter) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(form)
    log = logging.getLogger("pinnace.test.lines")
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    log.info("model '%s'", f"m\n{FAKE}\r\n{FAKE}\u2028{FAKE}\x85{FAKE}\x1b[2K")
    log.error("it failed", exc_info=ValueError(f"a fault\n{FAKE}"))
    log.removeHandler(handler)
    lines = stream.getvalue().rstrip("\n").split("\n")
    assert not any(line.startswith(FAKE) for line in lines)
    if isinstance(form, JsonLines):
        assert [json.loads(line)["level"] for line in lines] == ["INFO", "ERROR"]
        assert "a fault" in json.loads(lines[1])["traceback"]
        assert json.loads(lines[0])["message"].count(FAKE) == 4
    else:
        begun = [line for line in lines if not line.startswith("    ")]
        assert len(begun) == 2, lines
        assert not re.search("[\x85\u2028\r\x1b]", stream.getvalue())


def test_what_a_model_prints_has_a_mark_where_it_is_served() -> None:
    assert printed("a\nb\n") == "a\nb\n"
    Printing.mark = "print: "
    try:
        assert printed(f"a\n{FAKE}\n") == f"print: a\nprint: {FAKE}\n"
        assert printed("") == ""
    finally:
        Printing.mark = ""


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_log_of_a_server(tmp_path: Path, form: str) -> None:
    """A server process: prints of clients' texts and the model, access log, and shutdown."""

    class Talks(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "x")])
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            tf.print(x, output_stream=sys.stderr)
            return {"y": tf.strings.length(x)}

    talks = Talks()
    tf.saved_model.save(talks, str(tmp_path / "m" / "1"), signatures=talks.__call__)
    access = tmp_path / "access.log"
    with (tmp_path / "err").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", SERVE, "--model", f"m={tmp_path / 'm'}", "--port=0"),
                *("--rest_api_port=0", f"--access_log={access}", f"--log_format={form}"),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    try:
        url = next(line for line in process.stdout if line.startswith("Serving on")).split()[2]
        answer = httpx.post(f"{url}/v1/models/m:predict", json={"instances": [f"a\n{FAKE}\u009b"]})
        assert answer.status_code == 200
        hidden = "%C2%9B%E2%80%AE%0A%7F"
        assert httpx.post(f"{url}/v1/models/x{hidden}:predict", json={}).status_code == 404
        assert httpx.get(f"{url}/nowhere{hidden}").status_code == 404
        metrics = httpx.get(f"{url}/monitoring/prometheus/metrics").text
        if sys.platform == "linux":
            for name in ("resident_memory_bytes", "cpu_seconds_total", "open_fds", "start_time"):
                assert f"\nprocess_{name}" in metrics
        until(lambda: access.read_bytes().count(b"\n") >= 4)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        process.kill()
        process.communicate()
    written = access.read_text()
    assert not (unseen_characters() - {"\n"}) & set(written)
    paths = [
        json.loads(line).get("path") or json.loads(line)["model"] for line in written.splitlines()
    ]
    assert "x\x9b\u202e\n\x7f" in paths
    assert access.stat().st_mode & 0o007 == 0
    lines = (tmp_path / "err").read_text().splitlines()
    assert not any(line.startswith(FAKE) for line in lines)
    assert any(line.startswith("print: ") for line in lines)
    own = [line for line in lines if not line.startswith("print: ")]
    if form == "json":
        said = [json.loads(line)["message"] for line in own]
        assert {json.loads(line)["pid"] for line in own} == {process.pid}
    else:
        said = own
    text = "\n".join(said)
    assert text.index("SIGTERM came") < text.index("the server ends") < text.index("has ended")
