from pathlib import Path

import pytest

from pinnace.serving.command import main, parse_settings
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.flags import UsageError


@pytest.mark.parametrize(
    "argv",
    [
        ["--model", "digits=models/digits", "--rest_api_port", "9000", "--enable_batching"],
        ["--model=digits=models/digits", "--rest-api-port=9000", "--enable-batching=true"],
        ["digits=models/digits", "--rest-api-port", "9000", "--enable_batching=1"],
        ["--model_name=digits", "--model_base_path=models/digits", "--rest_api_port=9000"],
        ["--rest_api_port", "9000", "--model-base-path", "models/digits", "--model-name", "digits"],
        ["--rest_api_port=9000", "models/digits"],
        ["--enable_batching", "models/digits", "--rest_api_port=9000"],
        ["models/digits/", "--rest_api_port=9000"],
    ],
)
def test_both_spellings_say_the_same(argv: list[str]) -> None:
    settings, _ = parse_settings(argv)
    (model,) = settings.models
    assert (model.name, model.base_path.rstrip("/")) == ("digits", "models/digits")
    assert settings.rest_api_port == 9000


def test_flags_of_tensorflow_serving_have_their_units() -> None:
    settings, remarks = parse_settings(
        [
            "--model_base_path=/m",
            "--rest_api_timeout_in_ms=1500",
            "--file_system_poll_wait_seconds=0",
            "--max_num_load_retries=2",
            "--load_retry_interval_micros=500000",
            "--model_config_file=/c",
            "--model_config_file_poll_wait_seconds=3",
            "--rest_api_enable_cors_support=true",
            "--allow_version_labels_for_unavailable_models",
            "--metrics-path=",
            "--host=127.0.0.1",
        ]
    )
    assert remarks == []
    assert settings.max_run_bytes > 2**20  # by default a share of the machine's memory
    assert settings == Settings(
        models=(ModelConfig("default", "/m"),),
        max_run_bytes=settings.max_run_bytes,
        request_timeout_s=1.5,
        file_system_poll_s=0,
        max_load_retries=2,
        load_retry_s=0.5,
        model_config_file="/c",
        model_config_file_poll_s=3,
        cors=True,
        allow_labels_for_unavailable_versions=True,
        metrics_path="",
        host="127.0.0.1",
    )


def test_flags_of_operations_have_their_units() -> None:
    settings, remarks = parse_settings(
        [
            "m=/m",
            "--workers=4",
            "--max-run-ms=250",
            "--max-run-bytes=1000",
            "--max-concurrent-requests=7",
            "--max-inflight-bytes=0",
            "--model-max-body-bytes=m=10",
            "--model-max-body-bytes",
            "a=b=20",
            "--gzip",
            "--otel",
            "--api-keys-file=/k",
            "--health-without-key=false",
            "--tls-cert=/c",
            "--tls-key=/t",
            "--access-log=-",
            "--record=/r",
            "--record-fraction=0.5",
        ]
    )
    assert remarks == []
    assert settings == Settings(
        models=(ModelConfig("m", "/m"),),
        workers=4,
        max_run_s=0.25,
        max_run_bytes=1000,
        max_concurrent_requests=7,
        max_inflight_bytes=0,
        max_body_bytes_of=(("m", 10), ("a=b", 20)),
        gzip=True,
        otel=True,
        api_keys_file="/k",
        health_without_key=False,
        tls_cert="/c",
        tls_key="/t",
        access_log="-",
        record="/r",
        record_fraction=0.5,
    )


def test_a_flag_without_effect_says_so() -> None:
    _, remarks = parse_settings(
        [
            "m=/m",
            "--grpc_max_threads=8",
            "--tensorflow-session-parallelism",
            "4",
        ]
    )
    assert remarks == [
        "--grpc_max_threads has no effect: gRPC's own defaults are used",
        "--tensorflow_session_parallelism has no effect: there is no TensorFlow session here",
    ]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "no model to serve: give --model NAME=PATH"),
        (["--model"], "--model: expected one argument"),
        (["--model", "=x"], "--model must be NAME=PATH, got '=x'"),
        (["--model", "x="], "--model must be NAME=PATH, got 'x='"),
        (["--model", "a=1", "--model", "a=2"], "'a' is given twice: for '1' and for '2'"),
        (["--model", "a:b=1"], "Model name 'a:b': must not contain '/' or ':'"),
        (["--model_name", "x"], "--model_name needs --model_base_path"),
        (["m=x", "--rest_api_port", "http"], "--rest_api_port: must be an integer, got 'http'"),
        (["m=x", "--rest_api_port", "70000"], "rest_api_port must be from 0 to 65535, got 70000"),
        (["m=x", "--rest_api_timeout_in_ms=0"], "--rest_api_timeout_in_ms: must be above 0, got 0"),
        (["m=x", "--enable_profiler=maybe"], None),
        (["m=x", "--cors=maybe"], "--cors: must be true or false, got 'maybe'"),
        (["m=x", "--rest_api"], "unrecognized arguments: --rest_api"),
        (["m=x", "--max_run_ms=-1"], "--max_run_ms: must not be negative, got -1"),
        (["m=x", "--workers=0"], "--workers: must be above 0, got 0"),
        (["m=x", "--version_weights=m=1"], "--version_weights must be NAME=VERSION_OR_LABEL:"),
        (["m=x", "--shadow=m@1"], "--shadow must be NAME=VERSION@FRACTION"),
        (["m=x", "--record_fraction=2"], "record_fraction must be from 0 to 1, got 2.0"),
        (["m=x", "--model_max_body_bytes=5"], "must be NAME=N, got '5'"),
        (["m=x", "--tls_cert=x"], "tls_cert and tls_key belong together: give both"),
        (["m=x", "--metrics-path=x"], "metrics_path must begin with '/', got x"),
    ],
)
def test_a_wrong_command_line_is_two_lines_and_exit_code_2(
    argv: list[str], message: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if message is None:  # a flag without effect accepts any value
        parse_settings(argv)
        return
    with pytest.raises(UsageError):
        parse_settings(argv)
    assert main(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0].startswith("pinnace serve: ")
    assert message in lines[0]
    assert lines[1:] == ["  Try: pinnace serve --help"]


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for flag in ("--model ", "--model_base_path", "--rest_api_port", "--port", "--max_body_bytes"):
        assert flag in text
    assert "pinnace serve --model digits=models/digits" in text


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["m={folder}/none"],
            "model 'm': {folder}/none: cannot be read: No such file or directory",
        ),
        (
            ["m={folder}"],
            "model 'm': no version under {folder}: there must be {folder}/<number>/saved_",
        ),
        (
            ["--model_config_file={folder}/c"],
            "{folder}/c: cannot be read: No such file or directory",
        ),
        (["m={folder}", "--host=192.0.2.1"], "port 0 on 192.0.2.1 cannot be used: "),
        (["m={folder}", "--host=no.such.host.invalid"], "host 'no.such.host.invalid': "),
    ],
)
def test_what_cannot_be_served_is_one_line_and_exit_code_1(
    argv: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(folder=tmp_path) for word in argv]
    assert main(["--host=127.0.0.1", "--rest_api_port=0", *words]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("pinnace serve: " + message.format(folder=tmp_path))
    assert printed.err.count("\n") == 1
