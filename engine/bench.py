"""`python -m engine bench`: speed of the engine, beside a peer on the same file, threads and prompts.

Runs alternate between engine and peer, so that a noisy machine disturbs both; the figures are medians of rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from engine import bench_own, bench_table, registry
from engine.bench_peers import KINDS, Apart, Peer
from engine.bench_prompts import ids_of
from engine.errors import EngineError, ModelError

PROMPTS = (50, 512, 2048)
PREFILL = 1024
STREAMS = (1, 4, 8, 16)
TOKENS = 64


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    found = argparse.ArgumentParser(prog="python -m engine bench", description=__doc__)
    found.add_argument("--model", default=os.environ.get("ENGINE_MODEL", registry.DEFAULT_MODEL))
    found.add_argument("--threads", type=int, default=torch.get_num_threads())
    found.add_argument("--device", default="auto")
    found.add_argument("--rounds", type=int, default=5, help="repetitions of each timing (default 5)")
    found.add_argument("--tokens", type=int, default=TOKENS, help=f"output tokens a run (default {TOKENS})")
    found.add_argument(
        "--against", action="append", choices=sorted(KINDS), default=[], help="may be repeated"
    )
    found.add_argument("--only", action="append", choices=sorted(GROUPS), default=[], help="may be repeated")
    found.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    found.add_argument(
        "--saved", type=Path, action="append", help="files of --json output: their table instead of measuring"
    )
    return found


def main(argv: Sequence[str]) -> int:
    """Measures and prints; 1 when a peer isn't installed."""
    options = parser().parse_args(argv)
    if options.saved:
        print(bench_table.markdown(bench_table.read(options.saved)))
        return 0
    models_dir = Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))
    try:
        found = measure(options, models_dir)
    except EngineError as error:
        print(json.dumps({"error": error.to_dict()}))
        return 1
    print(json.dumps(found) if options.json else table(found))
    return 0


def measure(options: argparse.Namespace, models_dir: Path) -> dict[str, Any]:
    """Everything asked for, as JSON-ready data."""
    wanted = options.only or list(GROUPS)
    with bench_own.Own.load(options.model, models_dir, options.threads, options.device) as own:
        device = str(own.engine.decoder.device)
        peers = [Apart(name, own.weights, options.threads, device) for name in options.against]
        found: dict[str, Any] = {"about": about(own, options), "measures": {}}
        for name in wanted:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            found["measures"] |= GROUPS[name](own, peers, options)
        for peer in peers:
            peer.close()
    return found


def about(own: bench_own.Own, options: argparse.Namespace) -> dict[str, Any]:
    """What was measured where."""
    card = own.engine.card
    return {
        "model": card.name,
        "sha256": card.sha256,
        "weight_format": card.weight_format,
        "device": str(own.engine.decoder.device),
        "threads": options.threads,
        "rounds": options.rounds,
        "torch": torch.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}",
        "load_average": os.getloadavg()[0],
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def alternate(rounds: int, runs: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The median of each timing, the runs taken in turn; one unmeasured turn first."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, run in runs.items():
            value = run()
            if turn:
                times[name].append(value)
    return {name: median(values) for name, values in times.items()}


def _entry(value: float, unit: str, others: dict[str, float], *, faster_is_less: bool) -> dict[str, Any]:
    """A figure, the peers' figures, and how many times better than each this engine is."""
    ratios = {n: (v / value if faster_is_less else value / v) for n, v in others.items()}
    return {"value": value, "unit": unit, **({"peers": others, "ratio": ratios} if others else {})}


def _compared(
    options: argparse.Namespace,
    peers: Sequence[Peer],
    own: Callable[[], float],
    peer: Callable[[Peer], float],
) -> tuple[float, dict[str, float]]:
    runs = {"own": own} | {each.name: partial(peer, each) for each in peers}
    found = alternate(options.rounds, runs)
    return found.pop("own"), found


def decode(own: bench_own.Own, peers: Sequence[Peer], options: argparse.Namespace) -> dict[str, Any]:
    """Tokens a second of one stream, after its first token."""
    text, n = own.prompt(50), options.tokens
    ids = ids_of(own.tokenizer, text)
    value, others = _compared(
        options, peers, lambda: own.decode_seconds(text, n), lambda p: p.decode_seconds(ids, n)
    )
    rates = {name: 1 / seconds for name, seconds in others.items()}
    return {"decode": _entry(1 / value, "tokens/s", rates, faster_is_less=False)} | bench_own.bandwidth(
        own, 1 / value
    )


def first_token(own: bench_own.Own, peers: Sequence[Peer], options: argparse.Namespace) -> dict[str, Any]:
    """Time to the first token by prompt length."""
    return {f"ttft_{size}": _ttft(own, peers, options, size) for size in PROMPTS}


def _ttft(
    own: bench_own.Own, peers: Sequence[Peer], options: argparse.Namespace, size: int
) -> dict[str, Any]:
    text = own.prompt(size)
    ids = ids_of(own.tokenizer, text)
    value, others = _compared(options, peers, lambda: own.first_seconds(text), lambda p: p.first_seconds(ids))
    in_ms = {name: 1000 * seconds for name, seconds in others.items()}
    return _entry(1000 * value, "ms", in_ms, faster_is_less=True)


def prefill(own: bench_own.Own, peers: Sequence[Peer], options: argparse.Namespace) -> dict[str, Any]:
    """Prompt tokens a second."""
    text = own.prompt(PREFILL)
    ids = ids_of(own.tokenizer, text)
    value, others = _compared(options, peers, lambda: own.first_seconds(text), lambda p: p.first_seconds(ids))
    rates = {name: PREFILL / seconds for name, seconds in others.items()}
    return {f"prefill_{PREFILL}": _entry(PREFILL / value, "tokens/s", rates, faster_is_less=False)}


def concurrent(own: bench_own.Own, peers: Sequence[Peer], options: argparse.Namespace) -> dict[str, Any]:
    """Total tokens a second of several requests at once, prompts included."""
    return {f"total_{streams}": _total(own, peers, options, streams) for streams in STREAMS}


def _total(
    own: bench_own.Own, peers: Sequence[Peer], options: argparse.Namespace, streams: int
) -> dict[str, Any]:
    texts = [own.prompt(50, variant) for variant in range(streams)]
    ids = [ids_of(own.tokenizer, text) for text in texts]
    total = streams * options.tokens
    value, others = _compared(
        options,
        peers,
        lambda: own.batch_seconds(texts, options.tokens),
        lambda p: p.batch_seconds(ids, options.tokens),
    )
    rates = {name: total / seconds for name, seconds in others.items()}
    return _entry(total / value, "tokens/s", rates, faster_is_less=False)


def alone(run: Callable[[bench_own.Own, int], dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A measure that has no peer."""
    return lambda own, peers, options: run(own, options.rounds)


GROUPS: dict[str, Callable[[bench_own.Own, Sequence[Peer], argparse.Namespace], dict[str, Any]]] = {
    "decode": decode,
    "first-token": first_token,
    "prefill": prefill,
    "concurrent": concurrent,
    "constraint": alone(bench_own.constraint),
    "prefix": alone(bench_own.prefix),
    "speculation": alone(bench_own.speculation),
    "quality": alone(bench_own.quality),
    "load": alone(bench_own.load),
}


def table(found: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [f"{key}: {value}" for key, value in found["about"].items()] + [""]
    for name, entry in found["measures"].items():
        peers = "".join(
            f"   {peer} {value:.4g}, ratio {entry['ratio'][peer]:.2f}"
            for peer, value in entry.get("peers", {}).items()
        )
        lines.append(f"{name:<24} {entry['value']:>10.4g} {entry['unit']}{peers}")
    return "\n".join(lines)


__all__ = ["ModelError", "main", "measure", "table"]
