"""`--grpc_socket_path` and `--grpc_channel_arguments`, with a server process."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.serving.command import parse_settings
from pinnace.serving.flags import UsageError
from support.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

grpc = pytest.importorskip("grpc")
PREDICT = "/tensorflow.serving.PredictionService/Predict"


@contextmanager
def served(tmp_path: Path, *flags: str) -> Iterator[str]:
    """The output of a server, once gRPC is served."""
    module = tf.Module()
    spec = tf.TensorSpec([None], tf.float32, name="x")
    module.f = tf.function(lambda x: {"y": x / 2 + 2}, input_signature=[spec])
    tf.saved_model.save(module, str(tmp_path / "m" / "1"), signatures=module.f)
    log = tmp_path / "log"
    command = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve", f"m={tmp_path / 'm'}"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--host=127.0.0.1", "--rest_api_port=0", *flags],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: "gRPC is served on" in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield log.read_text()
    finally:
        process.terminate()
        assert process.wait(60) == 0, log.read_text()


def ask(channel: grpc.Channel) -> list[float]:
    request = PredictRequest()
    request.model_spec.name = "m"
    request.inputs["x"].CopyFrom(encode_tensor(np.float32([1, 2, 5])))
    call = channel.unary_unary(PREDICT, response_deserializer=PredictResponse.FromString)
    response = call(request.SerializeToString(), timeout=60)
    found: list[float] = decode_tensor(response.outputs["y"]).tolist()
    return found


def test_a_unix_socket_serves_grpc(tmp_path: Path) -> None:
    path = tmp_path / "grpc.sock"
    for _ in range(2):  # the second finds the first one's socket
        with served(tmp_path, "--port=0", f"--grpc_socket_path={path}") as said:
            assert f"gRPC is served on unix:{path}" in said
            with grpc.insecure_channel(f"unix:{path}") as channel:
                assert ask(channel) == [2.5, 3.0, 4.5]


# The thread of gRPC's client that polls for states may look once more when the channel is closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_channel_arguments_reach_the_server(tmp_path: Path) -> None:
    path = tmp_path / "grpc.sock"
    flags = (
        "--grpc_channel_arguments=grpc.max_connection_age_ms=300,grpc.max_connection_age_grace_ms=1"
    )
    with (
        served(tmp_path, "--port=0", f"--grpc_socket_path={path}", flags),
        grpc.insecure_channel(f"unix:{path}") as channel,
    ):
        states: list[grpc.ChannelConnectivity] = []
        channel.subscribe(states.append)
        assert ask(channel) == [2.5, 3.0, 4.5]
        assert grpc.ChannelConnectivity.READY in states
        until(lambda: grpc.ChannelConnectivity.IDLE in states[1:])  # the server closed it
        assert ask(channel) == [2.5, 3.0, 4.5]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--grpc_channel_arguments=a", "must be NAME=VALUE"),
        ("--grpc_channel_arguments==1", "must be NAME=VALUE"),
        ("--use_alts_credentials", "credentials of Google's cloud are not supported"),
        ("--use_alts_credentials=true", "credentials of Google's cloud are not supported"),
    ],
)
def test_what_cannot_be_done_is_refused(flag: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_settings(["m=models", flag])


def test_a_socket_is_for_one_worker() -> None:
    with pytest.raises(UsageError, match="grpc_socket_path is for one worker"):
        parse_settings(["m=models", "--workers=2", "--grpc_socket_path=/run/x"])


def test_flags_of_tensorflow_serving_are_taken() -> None:
    flags = [
        "--num_tflite_interpreters_per_pool=2",
        "--skip_initialize_tpu",
        "--thread_pool_factory_config_file=x",
        "--use_alts_credentials=false",
        "--xla_gpu_compilation_enabled=false",
    ]
    settings, remarks = parse_settings(["m=models", *flags])
    assert len(remarks) == 4
    assert all("has no effect" in remark for remark in remarks)
    assert settings.grpc_channel_arguments == ()
    settings, _ = parse_settings(["m=models", "--grpc_channel_arguments=a.b=-1, c=x"])
    assert settings.grpc_channel_arguments == (("a.b", -1), ("c", "x"))


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse_settings(["--version"])
    assert end.value.code == 0
    assert re.fullmatch(r"pinnace \d+\.\d+\S*\n", capsys.readouterr().out)
