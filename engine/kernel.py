"""engine/kernel.c, compiled once by this machine's C compiler. Where there is none, plain torch does the same work.

The compiled file lies in the user's cache folder under a hash of source, compiler and processor. `ENGINE_KERNEL=off` does without.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from ctypes import POINTER, Structure, c_float, c_int, c_int64, c_void_p
from functools import lru_cache
from pathlib import Path

import torch

from engine.arranged import arranges_bf16

log = logging.getLogger(__name__)

SOURCE = Path(__file__).with_name("kernel.c")
HEADERS = tuple(
    SOURCE.with_name(f"{name}.h") for name in ("team", "vectors", "product", "attention", "wide", "prompt")
)
FLAGS = (
    "-O3",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffinite-math-only",
    "-fno-signed-zeros",
    "-pthread",
    "-fPIC",
    "-shared",
)
SWITCH = "ENGINE_KERNEL"
# Rows that the products in whole numbers take: a decoding step never has more, so that a request's bits don't depend on its
# company. More are a piece of a prompt.
FEW_ROWS = 24
EVERY = 2**62  # more rows than there are


class CMatrix(Structure):
    """`Matrix` of kernel.c."""

    _fields_ = (
        ("bits", c_int64), ("n", c_int64), ("k", c_int64), ("panels", c_void_p), ("bias", c_void_p), ("rank", c_int64),
        ("a", c_void_p), ("b", c_void_p),
    )  # fmt: skip


class CLayer(Structure):
    """`Layer` of kernel.c."""

    _fields_ = (
        ("qkv", CMatrix), ("out", CMatrix), ("gate_up", CMatrix), ("down", CMatrix),
        ("attn_gain", c_void_p), ("mlp_gain", c_void_p), ("q_gain", c_void_p), ("k_gain", c_void_p),
    )  # fmt: skip


class CModel(Structure):
    """`Model` of kernel.c."""

    _fields_ = (
        ("n_layers", c_int64), ("hidden", c_int64), ("intermediate", c_int64), ("n_heads", c_int64),
        ("n_kv_heads", c_int64), ("head_dim", c_int64), ("threads", c_int64), ("few", c_int64), ("rank", c_int64), ("floor", c_float),
        ("head_floor", c_float), ("cos", c_void_p), ("sin", c_void_p), ("gain", c_void_p),
        ("layers", POINTER(CLayer)),
    )  # fmt: skip


class CBatch(Structure):
    """`Batch` of kernel.c."""

    _fields_ = (
        ("rows", c_int64), ("positions", POINTER(c_int64)), ("caches", POINTER(c_void_p)),
        ("strides", POINTER(c_int64)),
    )  # fmt: skip


@lru_cache(maxsize=1)
def compiled() -> ctypes.CDLL | None:
    """The library, or None: switched off, another kind of processor, no compiler, or one that failed (logged)."""
    if os.environ.get(SWITCH, "auto") == "off" or not _fits():
        return None
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        log.info("no C compiler: the engine runs on torch's kernels, about three times slower")
        return None
    try:
        return _declared(ctypes.CDLL(str(_built(compiler))))
    except (OSError, subprocess.SubprocessError, AttributeError) as error:
        log.warning("engine/kernel.c could not be compiled, torch's kernels are used instead: %s", error)
        return None


def takes(rows: int) -> bool:
    """True where the library computes so many rows at once: all but a piece of a prompt where oneDNN has faster products."""
    return rows <= FEW_ROWS or wide() or not arranges_bf16()


def wide() -> bool:
    """True where the library multiplies pieces of a prompt in bf16. With matrix tiles (AMX) oneDNN does it several times faster."""
    library = compiled()
    return library is not None and bool(library.kernel_wide()) and not torch.cpu._is_amx_tile_supported()


def _fits() -> bool:
    """True for x86-64 with AVX2 or more; the kernel is written for these."""
    return platform.machine().lower() in ("x86_64", "amd64") and torch.backends.cpu.get_cpu_capability() in (
        "AVX2",
        "AVX512",
    )


def _built(compiler: str) -> Path:
    """The compiled file, made if it isn't there yet. Two processes at once make it twice and agree."""
    folder = _folder()
    file = folder / f"kernel-{_key(compiler)}.so"
    if file.is_file():
        return file
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / file.name
        command = [*compiler.split(), *FLAGS, str(SOURCE), "-o", str(made), "-lm"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if found.returncode:
            raise OSError(found.stderr.strip()[-500:] or f"{compiler} ended with {found.returncode}")
        made.replace(file)
    return file


def _folder() -> Path:
    """The user's cache folder; a passing one where that can't be written."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prefill-engine"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="prefill-engine-"))


def _key(compiler: str) -> str:
    """What the compiled file depends on: source, compiler with its options, flags, processor."""
    version = subprocess.run(
        [*compiler.split(), "--version"], capture_output=True, text=True, timeout=30, check=True
    )
    texts = [file.read_text() for file in (SOURCE, *HEADERS)]
    parts = [*texts, " ".join((compiler, *FLAGS)), version.stdout, _processor()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _processor() -> str:
    """Its model and what torch finds it can do: a folder may be shared by different machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = [platform.processor()]
    told = [line for line in lines if line.startswith(("model", "flags", "cpu family", "stepping"))]
    return "\n".join([torch.backends.cpu.get_cpu_capability(), *sorted(set(told))])


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    library.kernel_product.argtypes = [POINTER(CMatrix), c_void_p, c_int64, c_int64, c_void_p, c_int64]
    library.kernel_product.restype = c_int
    library.kernel_wide.argtypes, library.kernel_wide.restype = [], c_int
    library.kernel_forward.argtypes = [POINTER(CModel), POINTER(CBatch), c_void_p]
    library.kernel_forward.restype = c_int
    return library
