"""The engine's own side of the benchmark, and the measures that need no peer."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

import torch

from engine import registry
from engine.bench_prompts import PROSE, QUOTED, SCHEMA, ids_of, prompt_of
from engine.decoder import Decoder, Segment
from engine.gguf_weights import load_gguf
from engine.limits import Limits
from engine.llm import Engine
from engine.tokenizer import ModelTokenizer
from engine.types import FinishEvent, Request, Sampling, TokenEvent

Measures = dict[str, Any]
QUALITY_TOKENS = 512
FORMS: tuple[registry.Format, ...] = ("fp32", "int8", "int4")


class Own:
    """The engine without its prefix cache, so that a repeated prompt is computed again."""

    name = "own"

    def __init__(self, engine: Engine, model: str, models_dir: Path, threads: int) -> None:
        self.engine, self.model, self.models_dir, self.threads = engine, model, models_dir, threads
        self.tokenizer: ModelTokenizer = engine.tokenizer

    @classmethod
    def load(cls, model: str, models_dir: Path, threads: int, device: str) -> Own:
        """The model in its default format for the device."""
        engine = Engine.load(model, models_dir, threads, device, limits=Limits(prefix_bytes=0))
        return cls(engine, model, models_dir, threads)

    def __enter__(self) -> Own:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()

    @property
    def weights(self) -> Path:
        """The model's file."""
        return self.models_dir / self.model / self.engine.card.file

    def prompt(self, size: int, variant: int = 0) -> str:
        """A prompt of exactly `size` tokens."""
        return prompt_of(self.tokenizer, size, variant)

    def request(self, text: str, n: int, **settings: Any) -> Request:
        """A greedy request that never ends early: every end-of-text id is forbidden."""
        forbidden = dict.fromkeys(self.tokenizer.eos_ids, -torch.inf)
        sampling = Sampling(max_tokens=n, logit_bias={} if "schema" in settings else forbidden)
        return Request(prompt=text, sampling=sampling, **{"speculate": 0, **settings})

    def first_seconds(self, text: str) -> float:
        """From submission to the first token in the caller's hands."""
        start = time.perf_counter()
        for event in self.engine.submit(self.request(text, 1)):
            if isinstance(event, TokenEvent):
                return time.perf_counter() - start
        raise RuntimeError("no token came")

    def decode_seconds(self, text: str, n: int, **settings: Any) -> float:
        """Seconds a token after the first, as the caller receives them."""
        times = []
        for event in self.engine.submit(self.request(text, n, **settings)):
            if isinstance(event, TokenEvent):
                times.append(time.perf_counter())
        return (times[-1] - times[0]) / (len(times) - 1)

    def batch_seconds(self, texts: list[str], n: int) -> float:
        """From the first submission until the last of all is finished."""
        start = time.perf_counter()
        handles = [self.engine.submit(self.request(text, n)) for text in texts]
        for handle in handles:
            handle.result()
        return time.perf_counter() - start


def _entry(value: float, unit: str) -> Measures:
    return {"value": value, "unit": unit}


def weight_bytes(decoder: Decoder) -> int:
    """Bytes of weights that one decoding step reads."""
    layers = sum(
        linear.n_bytes
        for layer in decoder.layers
        for linear in (layer.qkv, layer.out, layer.gate_up, layer.down)
    )
    return layers + decoder.head.n_bytes


def bandwidth(own: Own, tokens_per_s: float) -> Measures:
    """What decoding reads a second, beside what this machine can read: the limit of any decoder on this file."""
    found = {"weights_read": _entry(weight_bytes(own.engine.decoder) / 1e6, "MB/token")}
    block = torch.ones(128 * 2**20, device=own.engine.decoder.device)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        block.sum().item()
        times.append(time.perf_counter() - start)
    reachable = block.nbytes / min(times)
    used = weight_bytes(own.engine.decoder) * tokens_per_s
    return found | {
        "memory_bandwidth": _entry(reachable / 1e9, "GB/s"),
        "bandwidth_used": _entry(100 * used / reachable, "%"),
    }


def constraint(own: Own, rounds: int) -> Measures:
    """More time a token under a JSON schema than free, in alternation."""
    text = f"{PROSE}\nThe facts as JSON:\n"
    free, bound = [], []
    for turn in range(rounds + 1):
        a = own.decode_seconds(text, 64)
        b = own.decode_seconds(text, 64, schema=SCHEMA)
        if turn:
            free.append(a)
            bound.append(b)
    extra = [100 * (b / a - 1) for a, b in zip(free, bound, strict=True)]
    return {
        "constraint_free": _entry(1000 * median(free), "ms/token"),
        "constraint_json": _entry(1000 * median(bound), "ms/token"),
        "constraint_extra": _entry(median(extra), "%"),
    }


def prefix(own: Own, rounds: int) -> Measures:
    """Time to first token of a 1,024-token prompt that another request has just had."""
    cold: list[float] = []
    warm: list[float] = []
    with_cache = Engine(own.engine.decoder, own.tokenizer, own.engine.card, Limits())
    own.engine.close()  # one thread owns the decoder at a time
    for turn in range(rounds):
        text = prompt_of(own.tokenizer, 1024, 100 + turn)
        for times in (cold, warm):
            result = with_cache.generate(own.request(text, 1))
            times.append(result.timings["ttft_ms"] or 0.0)
    with_cache.close()
    own.engine = Engine(own.engine.decoder, own.tokenizer, own.engine.card, Limits(prefix_bytes=0))
    return {
        "prefix_cold": _entry(median(cold), "ms to first token"),
        "prefix_hit": _entry(median(warm), "ms to first token"),
        "prefix_gain": _entry(median(cold) / median(warm), "times"),
    }


def speculation(own: Own, rounds: int) -> Measures:
    """A prompt whose answer repeats it, with and without drafts, in alternation."""
    text = f"Text: {QUOTED}\nThe same text again: {QUOTED}\nAnd once more: The committee met"
    with_drafts, without, counts = [], [], {}
    for turn in range(rounds + 1):
        a = own.decode_seconds(text, 64)
        handle = own.engine.submit(own.request(text, 64, speculate=None))
        times = []
        for event in handle:
            if isinstance(event, TokenEvent):
                times.append(time.perf_counter())
            elif isinstance(event, FinishEvent):
                counts = event.result.stats["speculation"]
        if turn:
            without.append(a)
            with_drafts.append((times[-1] - times[0]) / (len(times) - 1))
    return {
        "speculation_off": _entry(1 / median(without), "tokens/s"),
        "speculation_on": _entry(1 / median(with_drafts), "tokens/s"),
        "speculation_gain": _entry(median(without) / median(with_drafts), "times"),
        "speculation_accepted": _entry(100 * counts["accepted"] / max(counts["proposed"], 1), "%"),
    }


def _log_probabilities(decoder: Decoder, ids: list[int]) -> torch.Tensor:
    hidden = decoder.forward(torch.tensor(ids), [Segment(decoder.new_cache(len(ids)), len(ids))])
    return decoder.logits(hidden).log_softmax(-1)


def quality(own: Own, rounds: int) -> Measures:
    """KL divergence (nats a token) and top-1 agreement of each format with bf16 over one text of prose."""
    if own.weights.suffix != ".gguf":
        return {}
    ids = ids_of(own.tokenizer, own.prompt(QUALITY_TOKENS))
    sha = own.engine.card.sha256
    with torch.inference_mode():
        truth = _log_probabilities(load_gguf(own.weights, sha, "bf16"), ids)
        found = {}
        for form in FORMS:
            other = _log_probabilities(load_gguf(own.weights, sha, form), ids)
            kl = (truth.exp() * (truth - other)).sum(-1).mean()
            agree = (truth.argmax(-1) == other.argmax(-1)).float().mean()
            found[f"kl_{form}"] = _entry(float(kl), "nats/token against bf16")
            found[f"top1_{form}"] = _entry(100 * float(agree), "% agree with bf16")
    return found


LOAD = """
import json, sys, time
from pathlib import Path
start = time.perf_counter()
from engine.llm import Engine
from engine.types import Request, Sampling
imported = time.perf_counter()
with Engine.load(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])) as engine:
    loaded = time.perf_counter()
    engine.generate(Request(prompt="Once", sampling=Sampling(max_tokens=8)))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({"import": imported - start, "load": loaded - imported,
                  "rss": int(status["VmRSS"].split()[0]) * 1024}))
"""


def load(own: Own, rounds: int) -> Measures:
    """Load time in a fresh process, converted before and not, and that process's memory."""
    spec = registry.spec_of(own.model)
    with tempfile.TemporaryDirectory() as folder:
        cold_dir = Path(folder) / own.model
        cold_dir.mkdir()
        for name in spec.files:
            (cold_dir / name).symlink_to((own.models_dir / own.model / name).resolve())
        cold = _load(own, Path(folder))
        warm = [_load(own, Path(folder)) for _ in range(min(rounds, 3))]
    return {
        "load_cold": _entry(cold["load"], "s, converting the file"),
        "load_warm": _entry(median(w["load"] for w in warm), "s"),
        "import": _entry(median(w["import"] for w in warm), "s, importing torch and the engine"),
        "memory": _entry(max(w["rss"] for w in warm) / 1e6, "MB resident"),
    }


def _load(own: Own, models_dir: Path) -> dict[str, float]:
    command = [sys.executable, "-c", LOAD, own.model, str(models_dir), str(own.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
