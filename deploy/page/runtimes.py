"""The npm packages that run a page's model: their folders, and the files that a page needs."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InternalError, NotFoundError


@dataclass(frozen=True, slots=True)
class Files:
    """The files of an npm package that a page uses.

    Attributes:
        package: the package's name.
        names: path in the package -> name in the page's folder.
        imports: module that the first file imports by name -> its name in the page's folder.
    """

    package: str
    names: Mapping[str, str]
    imports: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runtime:
    """A library that runs the model of a page.

    Attributes:
        name: the name in messages.
        folder: the folder for its files, in the page's folder.
        module: the file of `files/` that becomes `runtime.js` of the page.
        files: the files of the packages that it needs.
        extra: the files of packages that it uses if they are installed.
        lacking: element types that it has no tensors of; None if `only` lists those it has.
        only: the element types that it has tensors of.
        remedy: the advice for other element types.
    """

    name: str
    folder: str
    module: str
    files: tuple[Files, ...]
    extra: tuple[Files, ...] = ()
    lacking: tuple[DType, ...] = ()
    only: tuple[DType, ...] | None = None
    remedy: str = "cast it to float32 in the signature"

    def has(self, dtype: DType) -> bool:
        """Whether it has tensors of this element type."""
        return dtype not in self.lacking if self.only is None else dtype in self.only


ONNX = Runtime(
    "onnxruntime-web",
    "ort",
    "onnx.js",
    # The module, and the WebAssembly build that it loads.
    (
        Files(
            "onnxruntime-web",
            {
                f"dist/{name}": name
                for name in (
                    "ort.wasm.min.mjs",
                    "ort-wasm-simd-threaded.mjs",
                    "ort-wasm-simd-threaded.wasm",
                )
            },
        ),
    ),
    lacking=(dtypes.bfloat16, dtypes.complex64, dtypes.complex128),
)
LITE = Runtime(
    "LiteRT.js",
    "litert",
    "lite.js",
    (
        # The second build is for browsers without relaxed SIMD.
        Files(
            "@litertjs/core",
            {"dist/index.js": "litert.js"}
            | {
                f"wasm/litert_wasm_{kind}.{ending}": f"litert_wasm_{kind}.{ending}"
                for kind in ("internal", "compat_internal")
                for ending in ("js", "wasm")
            },
            {"@litertjs/wasm-utils": "./wasm-utils.js"},
        ),
        Files("@litertjs/wasm-utils", {"dist/bundle.js": "wasm-utils.js"}),
    ),
    only=(dtypes.float32, dtypes.int32, dtypes.uint8),
    remedy="cast it to float32 or int32 in the signature; quantised ones may be uint8 "
    "(input_type, output_type)",
)
TFJS = Runtime(
    "TensorFlow.js",
    "tfjs",
    "tfjs.js",
    (Files("@tensorflow/tfjs", {"dist/tf.es2017.min.js": "tf.es2017.min.js"}),),
    (
        Files(
            "@tensorflow/tfjs-backend-wasm",
            {
                f"dist/{name}": name
                for name in (
                    "tf-backend-wasm.es2017.min.js",
                    "tfjs-backend-wasm.wasm",
                    "tfjs-backend-wasm-simd.wasm",
                )
            },
        ),
    ),
    only=(dtypes.float32, dtypes.int32, dtypes.bool, dtypes.string),
    remedy="give its real part and its imaginary part in the signature",
)


@dataclass(frozen=True, slots=True)
class Found:
    """A runtime whose packages are installed.

    Attributes:
        runtime: the runtime.
        packages: package -> its folder.
    """

    runtime: Runtime
    packages: Mapping[str, Path]

    @property
    def version(self) -> str:
        """The version of the first package; "" if its package.json has none."""
        place = self.packages[self.runtime.files[0].package] / "package.json"
        if not place.is_file():
            return ""
        return str(json.loads(place.read_text(encoding="utf-8")).get("version", ""))

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files for the page's folder by name, and the packages' licences."""
        for one in (*self.runtime.files, *self.runtime.extra):
            place = self.packages.get(one.package)
            if place is None:
                continue
            for inner, name in one.names.items():
                content = (place / inner).read_bytes()
                yield name, _with_imports(content, one, name)
            for notice in ("LICENSE", "ThirdPartyNotices.txt", "package.json"):
                if (place / notice).is_file():
                    prefix = "" if one is self.runtime.files[0] else f"{place.name}-"
                    yield f"{prefix}{notice}", (place / notice).read_bytes()


def find_runtime(runtime: Runtime, given: str | os.PathLike[str] | None) -> Found:
    """Find a runtime's packages.

    Args:
        runtime: the runtime.
        given: a package, the `node_modules` folder, or the folder that contains it; None searches
            for `node_modules` in the current folder and those above it.

    Raises:
        NotFoundError: a required package is not installed.
    """
    starts = [Path(given)] if given is not None else [Path.cwd(), *Path.cwd().parents]
    first = runtime.files[0]
    for start in starts:
        for folder in _places(start, first.package):
            if not _has(folder, first):
                continue
            # Other packages are siblings; a scoped name is one folder deeper.
            modules = folder.parents[first.package.count("/")]
            packages = {first.package: folder}
            packages |= {
                one.package: modules / one.package
                for one in (*runtime.files[1:], *runtime.extra)
                if _has(modules / one.package, one)
            }
            if all(one.package in packages for one in runtime.files):
                return Found(runtime, packages)
    where = "here or above" if given is None else f"in {os.fspath(given)!r}"
    wanted = ", ".join(name for one in runtime.files for name in one.names)
    told = " ".join(one.package for one in (*runtime.files, *runtime.extra))
    raise NotFoundError(
        f"export: {first.package} was not found {where}; a page needs its files {wanted}"
        f"\n  Try: npm install {told}, or say where node_modules is"
    )


def _places(start: Path, package: str) -> Iterator[Path]:
    yield start
    yield start.parent  # its `dist` folder was given
    yield start / package
    yield start / "node_modules" / package


def _has(folder: Path, files: Files) -> bool:
    return all((folder / name).is_file() for name in files.names)


def _with_imports(content: bytes, files: Files, name: str) -> bytes:
    """The module with its imports renamed to the names in the page's folder.

    Raises:
        InternalError: the module imports them in another form.
    """
    if not files.imports or name != next(iter(files.names.values())):
        return content
    text = content.decode()
    for package, place in files.imports.items():
        text, count = re.subn(rf'from\s*"{re.escape(package)}"', f'from "{place}"', text)
        if count != 1:
            raise InternalError(
                f"export: {name} of {files.package} imports {package} {count} times; this version "
                "is not supported"
            )
    return text.encode()
