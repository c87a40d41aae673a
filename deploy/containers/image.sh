#!/usr/bin/env bash
# `make image`: build the images without a registry and without Docker, run them, ask them, stop them.
#
#   deploy/containers/image.sh [--run] WHEEL MODEL [slim|onnx]...
#
# Debian's mmdebstrap makes the two base images, buildah builds the Dockerfile from wheels alone, twice,
# with one image ID, and runc runs the OCI image as a user without a name, on a root that is only
# read, in a network that is a loopback interface and nothing else. `onnx` is `slim` with the extra.
# It needs root; buildah, iproute2, mmdebstrap and runc of Debian are installed where they are
# missing. The images stay in build/images, and the bases, too: remove base-*.tar for newer
# packages of Debian. With --run they are not built again, only run.
set -euo pipefail
only_run=
[ "${1-}" != --run ] || { only_run=yes && shift; }
wheel=$(realpath "$1") model=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- slim onnx
here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v "${PYTHON:-python3}")
out=$(pwd)/build/images
user=1000

for target in "$@"; do
  case $target in slim | onnx) ;; *)
    echo "image.sh: '$target' is neither slim nor onnx" >&2
    exit 2
    ;;
  esac
done
if [ "$(id -u)" != 0 ]; then
  echo "make image needs root, for chroot and mounts. Try: sudo make image" >&2
  exit 1
fi
missing=()
for tool in buildah ip:iproute2 mmdebstrap runc; do
  command -v "${tool%:*}" >/dev/null || missing+=("${tool#*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  { apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 || {
    echo "make image needs ${missing[*]}, and could not install them." >&2
    echo "Try: sudo apt install ${missing[*]}" >&2
    exit 1
  }
fi

scratch=$(mktemp -d)
container=pinnace-$$
network=/run/netns/$container
# Nothing may take for ever: each step has seconds after which it is killed, more on a busy machine.
patience=${PATIENCE:-900}
run() { timeout --kill-after=10 "$patience" runc --root "$scratch/runc" "$@"; }
store() {
  timeout --kill-after=10 "$patience" buildah --root "$scratch/store" --runroot "$scratch/store-run" \
    --storage-driver "$driver" "$@"
}
# Layers are mounted one over the other where the kernel and the disk can, else copied.
driver=overlay
store info >/dev/null 2>&1 || driver=vfs
cleanup() {
  run delete --force "$container" >/dev/null 2>&1 || true
  ip netns delete "$container" 2>/dev/null || true
  store umount --all >/dev/null 2>&1 || true
  rm -rf --one-file-system "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
export BUILDAH_ISOLATION=chroot
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

mkdir -p "$out" "$scratch/context"
base() { # NAME ARGUMENTS: a base image of Debian 12
  local name=$1 tar part
  shift
  # Another list of packages makes another base.
  tar=$out/base-$name-$(printf '%s' "$*" | cksum | cut -d ' ' -f 1).tar part=$out/part-$name.tar
  if [ ! -e "$tar" ]; then
    echo "== base image to $name, by mmdebstrap"
    rm -f "$part" "$out/base-$name"*.tar
    SOURCE_DATE_EPOCH=0 timeout --kill-after=10 "$patience" \
      mmdebstrap --quiet --variant=extract "$@" bookworm "$part"
    mv "$part" "$tar"
  fi
  mkdir "$scratch/$name"
  ln "$tar" "$scratch/$name/root.tar" 2>/dev/null || cp "$tar" "$scratch/$name/root.tar"
  printf 'FROM scratch\nADD root.tar /\n' >"$scratch/$name/Dockerfile"
  store bud --quiet --timestamp 0 -t "localhost/pinnace-$name" "$scratch/$name" >/dev/null
}
prepare() { # the bases, and the wheels that are installed
  # Files alone, without what packages run when they are installed: where images run, there is no
  # shell and no package manager.
  base build --include=dash,coreutils,findutils,python3,python3-venv,python3-pip
  base run --include=python3,libstdc++6,libgcc-s1,ca-certificates,netbase

  echo "== wheels for Debian's Python"
  local machine extras=grpc
  machine=$(uname -m)
  case " $* " in *" onnx "*) extras=grpc,onnx ;; esac
  timeout --kill-after=10 "$patience" "$python" -m pip download --quiet --disable-pip-version-check \
    --dest "$scratch/context" --only-binary :all: \
    --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none \
    --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" \
    --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" --platform any \
    "pinnace[$extras] @ file://$wheel"
  cp "$wheel" "$scratch/context/"
}

check() { # asks the server, on the loopback interface of its network
  timeout --kill-after=10 "$patience" nsenter --net="$network" "$python" - "$patience" <<'P'
import json
import sys
import time
import urllib.request

HERE = "http://127.0.0.1:8501"


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(HERE + path, data), timeout=60) as reply:
        return reply.read()


begun = time.monotonic()
while True:
    try:
        ask("/readyz")
        break
    except OSError:
        if time.monotonic() - begun > float(sys.argv[1]) / 3:
            raise
        time.sleep(0.02)
signature = json.loads(ask("/v1/models/model/metadata"))["metadata"]["signature_def"]
inputs = signature["signature_def"]["serving_default"]["inputs"]
row = {}
for name, tensor in inputs.items():
    value = 0.0
    for axis in reversed(tensor["tensor_shape"]["dim"][1:]):
        value = [value] * max(int(axis["size"]), 1)
    row[name] = value
row = row if len(row) > 1 else next(iter(row.values()))
(answer,) = json.loads(ask("/v1/models/model:predict", {"instances": [row]}))["predictions"]
print("answer:", json.dumps(answer)[:100])
gauges = [line for line in ask("/metrics").decode().splitlines() if "requests_in_flight{" in line]
assert gauges == [
    'pinnace:serving:requests_in_flight{model_name=""} 0.0',
    'pinnace:serving:requests_in_flight{model_name="model"} 0.0',
], gauges
P
}

inside() { # PYTHON: run by the container's interpreter, beside the server
  run exec "$container" /opt/pinnace/bin/python -c "$1"
}

build() { # TARGET FILE: the image, its ID in the file
  local extras=grpc
  [ "$1" != onnx ] || extras=grpc,onnx
  store bud --quiet --timestamp 0 --format oci --target slim --iidfile "$2" \
    --build-arg BUILD_IMAGE=localhost/pinnace-build --build-arg RUN_IMAGE=localhost/pinnace-run \
    --build-arg PIP_NO_INDEX=1 --build-arg EXTRAS="$extras" -f "$here/Dockerfile" \
    -t "localhost/pinnace:$1" "$scratch/context" 2>&1 >/dev/null |
    { grep -v HEALTHCHECK || true; } >&2
}

built() { # TARGET FILE: the archive, of two builds that give one image; its seconds and its ID
  local begun took
  echo "== $1: build, twice"
  begun=$(milliseconds)
  build "$1" "$scratch/first"
  took=$((($(milliseconds) - begun) / 1000))
  build "$1" "$scratch/second"
  if ! cmp -s "$scratch/first" "$scratch/second"; then
    echo "$1: two builds differ: $(cat "$scratch/first") and $(cat "$scratch/second")" >&2
    exit 1
  fi
  rm -f "$2"
  store push --quiet "localhost/pinnace:$1" "oci-archive:$2:pinnace:$1"
  echo "$took s, $(cut -c 8-19 <"$scratch/first")" >"$out/built-$1"
}

[ -n "$only_run" ] || prepare "$@"
report=()
for target in "$@"; do
  file=$out/pinnace-$target.tar
  [ -n "$only_run" ] || built "$target" "$file"
  from=$(store from --quiet "oci-archive:$file")
  root=$(store mount "$from")

  echo "== $target: run, by runc as user $user"
  served=$model
  if [ "$target" = onnx ]; then
    mkdir -p "$scratch/exported/1"
    newest=$(find "$model" -mindepth 1 -maxdepth 1 -name '[0-9]*' | sort -V | tail -n 1)
    "$(dirname "$python")/pinnace" export "$newest" "$scratch/exported/1/model.onnx" >/dev/null
    chmod -R a+rX "$scratch/exported"
    served=$scratch/exported
  fi
  bundle=$scratch/bundle-$target
  mkdir "$bundle"
  (cd "$bundle" && runc spec)
  ip netns add "$container"
  ip -n "$container" link set lo up
  store inspect "$from" >"$scratch/image"
  "$python" -c '
import json
import sys
from pathlib import Path

file, image, root, network, model, user = sys.argv[1:]
image = json.loads(Path(image).read_text())["OCIv1"]["config"]
spec = json.loads(Path(file).read_text())
process = spec["process"]
process |= {"terminal": False, "env": image["Env"], "cwd": "/", "noNewPrivileges": True}
process["args"] = image["Entrypoint"] + image["Cmd"]
process["user"] = {"uid": int(user), "gid": int(user)}
process["capabilities"] = {}
spec["root"] = {"path": root, "readonly": True}
# The server asks for its limits, and there are none; hybrid hierarchies cannot be mounted.
spec["mounts"] = [one for one in spec["mounts"] if one["type"] != "cgroup"]
spec["mounts"] += [
    {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=1777"]},
]
if model:
    options = ["rbind", "ro"]
    bind = {"destination": "/models/model", "type": "bind", "source": model, "options": options}
    spec["mounts"].append(bind)
spaces = [one for one in spec["linux"]["namespaces"] if one["type"] not in ("network", "cgroup")]
spec["linux"]["namespaces"] = [*spaces, {"type": "network", "path": network}]
Path(file).write_text(json.dumps(spec))
' "$bundle/config.json" "$scratch/image" "$root" "$network" "$served" "$user"
  begun=$(milliseconds)
  run run --bundle "$bundle" "$container" >"$scratch/log" 2>&1 &
  runner=$!
  check || {
    cat "$scratch/log" >&2
    exit 1
  }
  answered=$(($(milliseconds) - begun))
  inside "
import os
assert os.getuid() == $user, os.getuid()
for folder in ('/', '/opt/pinnace', '/models/model', '/var/cache/pinnace'):
    try:
        open(folder + '/x', 'w')
    except OSError:
        continue
    raise SystemExit(folder + ' can be written')
assert not os.path.exists('/bin/sh'), 'there is a shell'
"
  inside "
import importlib.util as find
found = [one for one in ('llvmlite', 'onnxruntime') if find.find_spec(one)]
assert found == {'slim': [], 'onnx': ['onnxruntime']}['$target'], found
"
  inside "
from pinnace.engine.ahead import reading
from pinnace.engine.codegen import kernels
assert kernels.are_there(), reading.notes()
"
  inside "
import grpc
with grpc.insecure_channel('127.0.0.1:8500') as channel:
    reply = channel.unary_unary('/grpc.health.v1.Health/Check')(b'', timeout=60)
assert reply == bytes([8, 1]), reply  # SERVING
"
  # The OCI format has no place for it: Docker's does. It must be right all the same.
  "$python" - "$here/Dockerfile" >"$scratch/health" <<'P'
import json
import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text()
print("\n".join(json.loads(re.search(r"^HEALTHCHECK .*\\\n +CMD (\[.*\])$", text, re.MULTILINE)[1])))
P
  mapfile -t health <"$scratch/health"
  run exec "$container" "${health[@]}"
  # Where KServe looks for it.
  run exec "$container" /usr/bin/tensorflow_model_server --version
  begun=$(milliseconds)
  run kill "$container" TERM
  code=0
  wait $runner || code=$?
  ended=$(($(milliseconds) - begun))
  if [ "$code" != 0 ] || grep -q Traceback "$scratch/log"; then
    echo "$target: exit code $code after SIGTERM" >&2
    cat "$scratch/log" >&2
    exit 1
  fi
  report+=("$(printf '%-8s %7s %11s %13s %8s  %s' "$target" "$(du -sm "$root" | cut -f 1)" \
    "$(du -m "$file" | cut -f 1)" "$answered" "$ended" "$(cat "$out/built-$target")")")
  run delete --force "$container" >/dev/null 2>&1 || true
  ip netns delete "$container"
  store rm "$from" >/dev/null
done
echo
printf '%-8s %7s %11s %13s %8s  %s\n' image MiB "MiB, packed" "ms to answer" "ms, end" "built in, ID"
printf '%s\n' "${report[@]}"
