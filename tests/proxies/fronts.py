"""nginx and HAProxy before a server: they let one model through, and share connections."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attack.world import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

# From nginx's documentation for connections that may be upgraded; and one that is kept for all
# clients.
_NGINX = """
daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log errors.log warn;
events {{ worker_connections 256; }}
http {{
  access_log off; client_max_body_size 1m; proxy_read_timeout 3s; client_body_timeout 3s;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream models {{ server 127.0.0.1:{server}; keepalive 1; }}
  server {{
    listen 127.0.0.1:{port};
    location /v1/models/good {{
      proxy_pass http://models; proxy_http_version 1.1; proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
      proxy_request_buffering {buffering};
    }}
    location / {{ return 403; }}
  }}
}}
"""
_HAPROXY = """
global
  maxconn 256
defaults
  mode http
  timeout connect 3s
  timeout client 3s
  timeout server 3s
frontend clients
  bind 127.0.0.1:{port}
  http-request deny unless {{ path_beg /v1/models/good }}
  default_backend models
backend models
  http-reuse always
  server one 127.0.0.1:{server} maxconn 1 pool-max-conn 1
"""


def _program(name: str) -> tuple[str, dict[str, str]]:
    """A proxy's program, as unpacked by `make proxies` or from the system, and its environment."""
    folder = Path(os.environ.get("PINNACE_PROXIES", ""))
    unpacked = folder / "usr" / "sbin" / name
    if os.environ.get("PINNACE_PROXIES") and unpacked.exists():
        libraries = ":".join(str(found) for found in (folder / "usr" / "lib").glob("*-linux-*"))
        return str(unpacked), {**os.environ, "LD_LIBRARY_PATH": libraries}
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise SystemExit(f"{name} is not there; try: apt install nginx haproxy")
    return found, dict(os.environ)


@contextlib.contextmanager
def _running(
    command: list[str], environment: dict[str, str], port: int, log: Path
) -> Iterator[int]:
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        end = time.monotonic() + 20
        while True:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if time.monotonic() > end or process.poll() is not None:
                raise SystemExit(f"{command[0]} does not begin:\n{log.read_text()[-2000:]}")
            time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def nginx(folder: Path, server: int, buffering: str) -> Iterator[int]:
    """Run nginx; yields its port.

    Args:
        folder: for its files.
        server: port of the server behind it.
        buffering: `on` to read a whole body before the request is forwarded, or `off`.
    """
    program, environment = _program("nginx")
    home = folder / f"nginx_{buffering}"
    home.mkdir()
    port = free_port()
    (home / "nginx.conf").write_text(_NGINX.format(port=port, server=server, buffering=buffering))
    command = [program, "-p", str(home), "-c", str(home / "nginx.conf"), "-e", "errors.log"]
    with _running(command, environment, port, home / "log"):
        yield port


@contextlib.contextmanager
def haproxy(folder: Path, server: int) -> Iterator[int]:
    """Run HAProxy; yields its port.

    Args:
        folder: for its files.
        server: port of the server behind it.
    """
    program, environment = _program("haproxy")
    home = folder / "haproxy"
    home.mkdir()
    port = free_port()
    (home / "haproxy.cfg").write_text(_HAPROXY.format(port=port, server=server))
    with _running(
        [program, "-f", str(home / "haproxy.cfg"), "-db"], environment, port, home / "log"
    ):
        yield port
