"""Triton's extensions over gRPC: parameters, configuration, statistics, streams, repository."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.proto import inference_service_pb2 as v2

pytest.importorskip("grpc")
from unit.serving.grpc.test_services import INFERENCE, Ask, serving, status_of


def request(
    values: Sequence[float], signature: str = "", model: str = "m", **more: Any
) -> v2.ModelInferRequest:
    message = v2.ModelInferRequest(model_name=model, **more)
    message.inputs.add(name="x", datatype="FP32", shape=[len(values)])
    message.raw_input_contents.append(np.float32(values).tobytes())
    if signature:
        message.parameters["signature_name"].string_param = signature
    return message


def test_classes_are_named_in_place_of_values(tmp_path: Path) -> None:
    async def work(ask: Ask) -> None:
        asked = request([3, 1, 2])
        asked.outputs.add(name="y").parameters["classification"].int64_param = 2
        for _ in range(3):  # the fast path learns a form, which must include the parameter
            found = await ask(INFERENCE + "ModelInfer", asked, v2.ModelInferResponse)
            (tensor,) = found.outputs
            assert (tensor.datatype, list(tensor.shape)) == ("BYTES", [2])
            expected = b"".join(
                len(text).to_bytes(4, "little") + text for text in (b"3.500000:0", b"3.000000:2")
            )
            assert found.raw_output_contents == [expected]
        asked.outputs[0].ClearField("parameters")
        found = await ask(INFERENCE + "ModelInfer", asked, v2.ModelInferResponse)
        assert found.raw_output_contents == [np.float32([3.5, 2.5, 3]).tobytes()]

    serving(tmp_path, work)


def test_parameters_that_have_no_effect_are_refused_by_name(tmp_path: Path) -> None:
    cases = []
    for name, field, value in (
        ("sequence_id", "int64_param", 5),
        ("sequence_id", "string_param", "a"),
        ("priority", "uint64_param", 1),
        ("timeout", "int64_param", 1000),
    ):
        message = request([1])
        setattr(message.parameters[name], field, value)
        cases.append((name, message))
    for name in ("shared_memory_region", "shared_memory_byte_size", "shared_memory_offset"):
        for where in ("inputs", "outputs"):
            message = request([1])
            message.outputs.add(name="y")
            getattr(message, where)[0].parameters[name].int64_param = 4
            cases.append((name, message))

    async def work(ask: Ask) -> None:
        for name, message in cases:
            for _ in range(2):
                code, said = await status_of(
                    ask(INFERENCE + "ModelInfer", message, v2.ModelInferResponse)
                )
                assert code == "UNIMPLEMENTED", name
                assert f"parameter '{name}'" in said
        quiet = request([1])
        quiet.parameters["priority"].uint64_param = 0
        quiet.parameters["sequence_start"].bool_param = False
        quiet.parameters["my_own"].string_param = "x"
        found = await ask(INFERENCE + "ModelInfer", quiet, v2.ModelInferResponse)
        assert found.raw_output_contents == [np.float32([2.5]).tobytes()]
        for field in ("int64_param", "bool_param"):
            wrong = request([1])
            setattr(wrong.parameters["signature_name"], field, 1)
            code, _ = await status_of(ask(INFERENCE + "ModelInfer", wrong, v2.ModelInferResponse))
            assert code == "INVALID_ARGUMENT"

    serving(tmp_path, work)


def test_a_load_that_would_override_the_model_is_refused(tmp_path: Path) -> None:
    load, unload = INFERENCE + "RepositoryModelLoad", INFERENCE + "RepositoryModelUnload"

    async def work(ask: Ask) -> None:
        for name, code in (
            ("config", "UNIMPLEMENTED"),
            ("file:1/model.onnx", "UNIMPLEMENTED"),
            ("other", "INVALID_ARGUMENT"),
        ):
            message = v2.RepositoryModelLoadRequest(model_name="m")
            message.parameters[name].string_param = "not json"
            found, said = await status_of(ask(load, message, v2.RepositoryModelLoadResponse))
            assert found == code
            assert f"'{name}'" in said
        elsewhere = v2.RepositoryModelLoadRequest(model_name="m", repository_name="r")
        found, _ = await status_of(ask(load, elsewhere, v2.RepositoryModelLoadResponse))
        assert found == "INVALID_ARGUMENT"
        message = v2.RepositoryModelUnloadRequest(model_name="m")
        message.parameters["unload_dependents"].int64_param = 1
        found, _ = await status_of(ask(unload, message, v2.RepositoryModelUnloadResponse))
        assert found == "INVALID_ARGUMENT"
        message.parameters["unload_dependents"].bool_param = True
        await ask(unload, message, v2.RepositoryModelUnloadResponse)
        ready = v2.ModelReadyRequest(name="m")
        assert not (await ask(INFERENCE + "ModelReady", ready, v2.ModelReadyResponse)).ready
        await ask(
            load, v2.RepositoryModelLoadRequest(model_name="m"), v2.RepositoryModelLoadResponse
        )
        assert (await ask(INFERENCE + "ModelReady", ready, v2.ModelReadyResponse)).ready

    serving(tmp_path, work)


def test_a_configuration_tells_batches_from_rows(tmp_path: Path) -> None:
    async def work(ask: Ask) -> None:
        asked = v2.ModelConfigRequest(name="m")
        config = (await ask(INFERENCE + "ModelConfig", asked, v2.ModelConfigResponse)).config
        assert (config.name, config.backend) == ("m", "pinnace")
        assert config.max_batch_size > 0
        (tensor,) = config.input
        assert (tensor.name, tensor.data_type, list(tensor.dims)) == ("x", v2.TYPE_FP32, [])
        assert config.output[0].name == "y"
        code, said = await status_of(
            ask(INFERENCE + "ModelConfig", v2.ModelConfigRequest(name="n"), v2.ModelConfigResponse)
        )
        assert (code, said.split(":")[0]) == ("NOT_FOUND", "Request for unknown model")

    serving(tmp_path, work)


def test_statistics_count_what_was_answered(tmp_path: Path) -> None:
    async def read(ask: Ask, name: str = "", version: str = "") -> list[v2.ModelStatistics]:
        asked = v2.ModelStatisticsRequest(name=name, version=version)
        found = await ask(INFERENCE + "ModelStatistics", asked, v2.ModelStatisticsResponse)
        return list(found.model_stats)

    async def work(ask: Ask) -> None:
        (before,) = await read(ask)
        assert (before.name, before.version, before.inference_count) == ("m", "7", 0)
        for values in ([1], [1, 2, 3], [4, 5, 6]):
            await ask(INFERENCE + "ModelInfer", request(values), v2.ModelInferResponse)
        failing = request([1], "value_error")
        await status_of(ask(INFERENCE + "ModelInfer", failing, v2.ModelInferResponse))
        (found,) = await read(ask, "m", "7")
        assert found.execution_count == 3
        assert found.inference_count >= 3
        stats = found.inference_stats
        assert (stats.success.count, stats.fail.count) == (3, 1)
        parts = (stats.queue, stats.compute_input, stats.compute_infer, stats.compute_output)
        assert all(part.count == 3 for part in parts)
        assert 0 < stats.compute_infer.ns <= sum(part.ns for part in parts) <= stats.success.ns
        assert sum(row.compute_infer.count for row in found.batch_stats) == 3
        assert found.last_inference > 1.6e12
        assert [row.name for row in await read(ask, "m")] == ["m"]
        for name, version in (("n", ""), ("m", "3")):
            asked = v2.ModelStatisticsRequest(name=name, version=version)
            code, _ = await status_of(
                ask(INFERENCE + "ModelStatistics", asked, v2.ModelStatisticsResponse)
            )
            assert code == "NOT_FOUND"

    serving(tmp_path, work)
