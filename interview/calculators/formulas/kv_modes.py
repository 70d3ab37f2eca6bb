"""How many tokens each layer really stores: what the model needs, what llama.cpp allocates, what vLLM pages.

Sources: llama.cpp `llama-kv-cache-iswa.cpp` (window plus one batch, padded to 256, per stream or unified);
vLLM `kv_cache_interface.py` (full pages; sliding: window - 1 + batch, plus one page).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from interview.calculators.formulas.kv_geometry import LayerGroup

MODES = (
    ("needed", "needed"),
    ("llama.cpp", "llama.cpp"),
    ("vllm", "vLLM"),
)
PAD = 256


@dataclass(frozen=True, slots=True)
class Runtime:
    """The knobs of a runtime that change how much is stored."""

    mode: str = "needed"
    shared_prefix: int = 0
    ubatch: int = 512
    unified: bool = False
    swa_full: bool = False
    block: int = 16
    batched_tokens: int = 8192
    hybrid_manager: bool = True
    mamba_cache_mode: str = "none"
    state_value_bytes: int = 4

    def with_block(self, block: int) -> Runtime:
        """The same with another block size."""
        return replace(self, block=block)


def stored(
    group: LayerGroup, tokens: int, sequences: int, runtime: Runtime
) -> tuple[str, dict[str, int], int]:
    """(expression, its names, token slots) one layer of `group` keeps for all sequences together."""
    if runtime.mode == "llama.cpp":
        return _llama_cpp(group, tokens, sequences, runtime)
    if runtime.mode == "vllm":
        return _vllm(group, tokens, sequences, runtime)
    return _needed(group, tokens, sequences, runtime)


def _needed(
    group: LayerGroup, tokens: int, sequences: int, runtime: Runtime
) -> tuple[str, dict[str, int], int]:
    kept = min(group.window, tokens) if group.window else tokens
    code, names = (
        ("min(window, tokens)", {"window": group.window, "tokens": tokens})
        if group.window
        else ("tokens", {"tokens": tokens})
    )
    shared = max(0, runtime.shared_prefix - (tokens - kept))
    return _with_shared(code, {k: v for k, v in names.items() if v is not None}, kept, shared, sequences)


def _with_shared(
    code: str, names: dict[str, int], kept: int, shared: int, sequences: int
) -> tuple[str, dict[str, int], int]:
    """Each sequence keeps `kept`, of which `shared` are stored once for all."""
    names = {**names, "sequences": sequences}
    if not shared or sequences == 1:
        return f"sequences * {_bracket(code)}", names, sequences * kept
    names["shared"] = shared
    return f"shared + sequences * ({code} - shared)", names, shared + sequences * (kept - shared)


def _bracket(code: str) -> str:
    return f"({code})" if " + " in code or " - " in code else code


def _llama_cpp(
    group: LayerGroup, tokens: int, sequences: int, runtime: Runtime
) -> tuple[str, dict[str, int], int]:
    streams, slots = (1, sequences) if runtime.unified else (sequences, 1)
    names = {"tokens": tokens, "pad": PAD, "streams": streams, "slots": slots}
    cells = _padded(tokens * slots)
    code = "streams * pad * ceil(tokens * slots / pad)"
    if group.window is None or runtime.swa_full:
        return code, names, streams * cells
    limited = _padded(group.window * slots + runtime.ubatch)
    names = {**names, "window": group.window, "ubatch": runtime.ubatch}
    if limited < cells:
        return "streams * pad * ceil((window * slots + ubatch) / pad)", names, streams * limited
    return code, names, streams * cells


def _padded(cells: int) -> int:
    return -(-cells // PAD) * PAD


def _vllm(
    group: LayerGroup, tokens: int, sequences: int, runtime: Runtime
) -> tuple[str, dict[str, int], int]:
    page = runtime.block * group.page_blocks
    names, held = {"block": runtime.block, "tokens": tokens}, "block"
    if group.page_blocks > 1:
        names, held = {**names, "page_blocks": group.page_blocks}, "(page_blocks * block)"
    if group.window is None or not runtime.hybrid_manager:
        shared = min(runtime.shared_prefix, tokens) // page * page
        code = f"{held} * ceil(tokens / {held})"
        return _with_shared(code, names, -(-tokens // page) * page, shared, sequences)
    return _vllm_window(group, tokens, sequences, runtime)


def _vllm_window(
    group: LayerGroup, tokens: int, sequences: int, runtime: Runtime
) -> tuple[str, dict[str, int], int]:
    assert group.window is not None
    extra = 0 if group.chunked else 1
    reach = min(group.window - extra + runtime.batched_tokens, tokens)
    page = runtime.block * group.page_blocks
    pages = -(-reach // page) + extra
    names = {
        "block": runtime.block,
        "window": group.window,
        "batch": runtime.batched_tokens,
        "tokens": tokens,
    }
    held = "block"
    if group.page_blocks > 1:
        names, held = {**names, "page_blocks": group.page_blocks}, "(page_blocks * block)"
    look = "window + batch" if group.chunked else "window - 1 + batch"
    count = f"ceil(min({look}, tokens) / {held})"
    count = count if group.chunked else f"({count} + 1)"
    return _with_shared(f"{held} * {count}", names, pages * page, 0, sequences)
