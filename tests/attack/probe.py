"""Calls a model continuously, in a separate process, and records when and how long each call took.

python -m attack.probe PORT MODEL FILE [CA]
"""

from __future__ import annotations

import http.client
import json
import ssl
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROW = struct.Struct("<dd")
_PAUSE_S = 0.004


@dataclass(frozen=True)
class Seen:
    """The probe's latencies in an interval, in milliseconds.

    Attributes:
        count: number of answers.
        median: median of the latencies.
        p99: their 99th percentile.
        longest: the maximum.
    """

    count: int
    median: float
    p99: float
    longest: float


def seen(file: Path, begin: float, end: float) -> Seen:
    """The probe's records between two times of `time.monotonic`."""
    data = file.read_bytes()
    rows = ROW.iter_unpack(data[: len(data) // ROW.size * ROW.size])
    times = sorted(1e3 * took for at, took in rows if at + took >= begin and at <= end)
    if not times:
        return Seen(0, float("inf"), float("inf"), float("inf"))
    return Seen(
        len(times),
        times[len(times) // 2],
        times[min(int(len(times) * 0.99), len(times) - 1)],
        times[-1],
    )


def main(port: int, model: str, file: Path, authority: str = "") -> None:
    """Send requests until the process is ended."""
    body = json.dumps({"instances": [2.0]})
    with file.open("wb", buffering=0) as notes:
        connection: http.client.HTTPConnection | None = None
        while True:
            begin = time.monotonic()
            try:
                if connection is None:
                    if authority:
                        context = ssl.create_default_context(cafile=authority)
                        connection = http.client.HTTPSConnection(
                            "localhost", port, timeout=20, context=context
                        )
                    else:
                        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                connection.request("POST", f"/v1/models/{model}:predict", body)
                reply = connection.getresponse()
                good = json.loads(reply.read()) == {"predictions": [3.0]}
            except (OSError, ValueError, http.client.HTTPException):
                good, connection = False, None
            took = time.monotonic() - begin if good else 20.0
            notes.write(ROW.pack(begin, took))
            time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
