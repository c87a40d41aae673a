"""`make proxies`: request smuggling through nginx and HAProxy, and to the server alone.

    python -m proxies.run [--only TEXT] [--plain]

A proxy lets one model through and shares its connections. Attackers send bytes that it and the
server could parse as different numbers of requests. Nothing is smuggled if the server's own log has
no request for the forbidden model, and every next client, on the same connection to the server,
gets the response to its own request. Everything listens on 127.0.0.1 and ends by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from attack.world import SERVE, World, save_models, world
from proxies.attempts import ALLOWED, FORBIDDEN, attempts
from proxies.fronts import haproxy, nginx

_SILENCE_S = 0.1  # seconds after which an attacker disconnects
_PLAIN = f"import sys; sys.modules['pinnace.serving.fast'] = None; {SERVE}"


def sent(port: int, parts: list[bytes]) -> bytes:
    """The bytes that come back, until none come for a moment."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):
            for i, part in enumerate(parts):
                time.sleep(0.005 if i else 0)
                client.sendall(part)
        client.settimeout(_SILENCE_S)
        with contextlib.suppress(OSError):
            while data := client.recv(2**16):
                found += data
    return found


def asks(port: int, number: int) -> str:
    """The problem with the response that another client gets; empty if there is none."""
    body = b'{"instances": [%d.0]}' % number
    text = b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (
        ALLOWED,
        len(body),
        body,
    )
    wanted = b'{"predictions":[%b]}' % str(number / 2 + 2).encode()
    found = b""
    with (
        socket.create_connection(("127.0.0.1", port), 5) as client,
        contextlib.suppress(OSError),
    ):
        client.sendall(text)
        while not found.endswith(wanted) and (data := client.recv(2**16)):
            found += data
    is_right = found.startswith(b"HTTP/1.1 200 ") and found.endswith(wanted)
    return "" if is_right else f"asked {number}, got {found[-120:]!r}"


class Log:
    """The server's access log: the requests that it parsed.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def forbidden(self) -> list[str]:
        """Requests for the forbidden model since the last call."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._read += len(data)
        return [
            line.decode()
            for line in data.splitlines()
            if json.loads(line).get("model") == "victim"
            or (b"victim" in line and json.loads(line)["status"] == 200)
        ]

    def settled(self, seconds: float = 2.0) -> list[str]:
        """The same, after pending lines have been written."""
        found = self.forbidden()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            found += self.forbidden()
        return found


def tried(port: int, texts: dict[str, bytes], log: Log, *, is_direct: bool) -> list[str]:
    """Send every text, in one piece and in two; returns what was smuggled.

    Args:
        port: the port of a proxy, or of the server.
        texts: bytes to send, by name.
        log: the server's access log.
        is_direct: whether a response of the forbidden model was requested.
    """
    problems: list[str] = []
    statuses: Counter[str] = Counter()
    number = 0
    for name, text in texts.items():
        cut = text.find(b"\r\n\r\n") + 4
        for parts in ([text], [text[:cut], text[cut:]]):
            found = sent(port, parts)
            statuses.update(status.decode() for status in re.findall(rb"HTTP/1\.1 (\d+)", found))
            for _ in range(2):
                number += 2
                wrong = asks(port, number)
                if wrong:
                    problems.append(f"{name}: the next client {wrong}")
        if not is_direct:
            problems += [f"{name}: {line}" for line in log.forbidden()]
    if not is_direct:
        problems += [f"among the last: {line}" for line in log.settled()]
    counts = " ".join(f"{status}×{count}" for status, count in sorted(statuses.items()))
    sys.stdout.write(f"  {2 * len(texts)} attempts, {number} other clients; {counts}\n")
    return problems


def in_bodies(port: int, texts: dict[str, bytes], log: Log) -> list[str]:
    """Send the server alone bodies that contain a request: none is parsed as a second request."""
    kept = {
        name: text
        for name, text in texts.items()
        if (" length " in name or " chunks " in name or "with a body" in name)
        and ("Upgrade" in name or "upgrade" in name or "with a body" in name)
        and FORBIDDEN not in text.partition(b"\r\n\r\n")[0]
    }
    problems = []
    for name, text in kept.items():
        cut = text.find(b"\r\n\r\n") + 4
        for parts in ([text], [text[:cut], text[cut:]]):
            sent(port, parts)
            problems += [f"{name}: {line}" for line in log.forbidden()]
    problems += [f"among the last: {line}" for line in log.settled()]
    sys.stdout.write(f"  {len(kept)} bodies that look like requests\n")
    return problems


def attacked(one: World, folder: Path, log: Log, texts: dict[str, bytes]) -> list[str]:
    """Attack every front end of a server; returns what was smuggled."""
    problems: list[str] = []

    def report(name: str, found: list[str]) -> None:
        problems.extend(f"{name}: {problem}" for problem in found)
        sys.stdout.write(f"{'SMUGGLED' if found else 'ok':<9}{name}\n")
        sys.stdout.flush()

    report("bodies, to the server alone", in_bodies(one.http, texts, log))
    with haproxy(folder, one.http) as port:
        report("HAProxy", tried(port, texts, log, is_direct=False))
    for buffering in ("on", "off"):
        with nginx(folder, one.http, buffering) as port:
            name = f"nginx, proxy_request_buffering {buffering}"
            report(name, tried(port, texts, log, is_direct=False))
    report("the server alone", tried(one.http, texts, log, is_direct=True))
    if one.tracebacks():
        problems.append(f"the server's log has tracebacks:\n{one.log.read_text()[-3000:]}")
    return problems


def main() -> int:
    """Attack, and print what was smuggled.

    Returns:
        1 if anything was smuggled.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="attempts whose names have this in them")
    parser.add_argument("--plain", action="store_true", help="without the front on the connection")
    given = parser.parse_args()
    texts = {name: text for name, text in attempts().items() if given.only in name}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_models(folder)
        path = folder / "access.log"
        options: dict[str, object] = {"probes": False}
        if given.plain:
            options["program"] = ("-c", _PLAIN)
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        with world(folder, [f"--access_log={path}"], **options) as one:
            problems = attacked(one, folder, Log(path), texts)
    for problem in problems[:50]:
        sys.stdout.write(f"{problem}\n")
    sys.stdout.write(f"{len(problems)} problems in {time.monotonic() - begin:.0f} s\n")
    return 1 if problems or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
