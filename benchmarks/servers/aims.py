"""How much of an aim was reached, as the last cells of a row: what was wanted, and the verdict.

Aims that are times were set on one machine. On a slower one, where what does the same work for
others takes longer in the same run, they are as much longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servers.load import Case, Point

ECHO, BARE, FASTAPI = "uvicorn echo", "bare protocol", "fastapi"
_BARE_US = {"json": 22.9, "binary": 10.5}  # of processor time for a request
_ECHO_TRIP_MS = 0.047  # of a request at one connection
_FASTAPI_START_S = 0.33
_START_S, _START_MIB = 0.3, 90
# Metrics, limits and validation are on, and cost something: so much of an aim is enough.
_ENOUGH = 0.7
MISSED = "missed"
EXPLAINED = (
    "Aims that are times were set where a bare protocol, which has no limits, metrics or checks,",
    f"took {_BARE_US['json']} µs (JSON) and {_BARE_US['binary']} µs (binary), a trip to uvicorn's",
    f"echo and back {_ECHO_TRIP_MS} ms, and FastAPI with ONNX Runtime {_FASTAPI_START_S} s to",
    'start; where these take longer in the same run, aims are as much longer ("here"). Below',
    f"{_ENOUGH:.0%} of an aim, it is missed.",
)


def of_work(case: Case, ours: Point, bare: Point | None) -> tuple[str, str]:
    """The processor time of a request."""
    if not case.cpu_us:
        return "", ""
    slower = 1.0 if bare is None else bare.cpu_us / _BARE_US[case.form]
    aim, most = _stretched(f"≤ {case.cpu_us:g} µs CPU", case.cpu_us, slower, ".0f")
    return aim, _verdict(most / ours.cpu_us)


def of_delay(case: Case, ours: Point, echo: Point | None) -> tuple[str, str]:
    """How far the median lies above the model's own time."""
    slower = 1.0 if echo is None else 1e3 / echo.per_second / _ECHO_TRIP_MS
    aim, most = _stretched(f"p50 within {case.beyond_ms:g} ms", case.beyond_ms, slower, ".2f")
    return aim, _verdict(most / max(ours.beyond_ms, 1e-9))


def of_start(ours: Mapping[str, float], fastapi: Mapping[str, float] | None) -> tuple[str, str]:
    """Seconds to the first answer, and memory then."""
    slower = 1.0 if fastapi is None else fastapi["cold_s"] / _FASTAPI_START_S
    aim, most = _stretched(f"≤ {_START_MIB} MiB, ≤ {_START_S:g} s", _START_S, slower, ".2f")
    return aim, _verdict(min(most / ours["cold_s"], _START_MIB / ours["pss_mib"]))


def of_ratio(ratio: float, least: float) -> tuple[str, str]:
    """Our requests a second in those of a peer; without an aim where `least` is 0."""
    return (f"≥ {least:g}", _verdict(ratio / least)) if least else ("", "")


def _stretched(text: str, most: float, slower: float, form: str) -> tuple[str, float]:
    """An aim that is a time: what is shown of it, and what is asked for on this machine.

    Args:
        text: of the aim as it was set.
        most: its time.
        slower: how many times as long as then the peer takes.
        form: of the time that is asked for here.
    """
    if slower <= 1:
        return text, most
    return f"{text}; {most * slower:{form}} here", most * slower


def _verdict(reached: float) -> str:
    """What is said of the part of an aim that was reached; nothing where all of it was."""
    if reached >= 1:
        return ""
    return f"{reached:.0%} of it" if reached >= _ENOUGH else MISSED
