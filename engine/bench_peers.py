"""What people would use instead, on the same file, threads and prompts: transformers and llama.cpp.

Each runs in a process of its own, which sleeps while another is measured: teams of OpenMP workers in one process get
into each other's way (see `engine.aside`), and that would be measured as the peer's slowness.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import torch

from engine.arranged import arranges_bf16
from engine.errors import ModelError
from engine.gguf_file import dequantise, read_gguf
from engine.gguf_weights import shape_of, unpermute
from engine.hf import hf_name


class Peer(Protocol):
    """Times the same work as `Own`; prompts as ids."""

    name: str

    def first_seconds(self, ids: list[int]) -> float: ...

    def decode_seconds(self, ids: list[int], n: int) -> float: ...

    def batch_seconds(self, prompts: list[list[int]], n: int) -> float: ...


class Transformers:
    """`generate` with the file's weights, eager, the way its own documentation shows.

    In bf16, as it comes; in fp32 where the CPU has no bf16 products and bf16 would take it ten times as long.
    """

    name = "transformers"

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def load(cls, weights: Path, threads: int, device: str) -> Transformers:
        """The same weights, dequantised."""
        torch.set_num_threads(threads)
        return cls(dense_model(weights).to(device))

    def _generate(self, prompts: list[list[int]], n: int) -> float:
        ids = torch.tensor(prompts, device=self.model.device)
        start = time.perf_counter()
        with torch.inference_mode():
            self.model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=n, min_new_tokens=n, do_sample=False
            )
        return time.perf_counter() - start

    def first_seconds(self, ids: list[int]) -> float:
        """`generate` of one token."""
        return self._generate([ids], 1)

    def decode_seconds(self, ids: list[int], n: int) -> float:
        """Seconds a token after the first: what n tokens take more than one."""
        return (self._generate([ids], n) - self._generate([ids], 1)) / (n - 1)

    def batch_seconds(self, prompts: list[list[int]], n: int) -> float:
        """One batch of equally long prompts, so that nothing is padded."""
        return self._generate(prompts, n)


def dense_model(path: Path) -> Any:
    """transformers' Llama with the dequantised weights of a GGUF file."""
    from transformers import LlamaConfig, LlamaForCausalLM

    gguf = read_gguf(path)
    shape = shape_of(gguf.metadata)
    config = LlamaConfig(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        num_key_value_heads=shape.n_kv_heads,
        rms_norm_eps=shape.rms_eps,
        max_position_embeddings=shape.context_length,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        tie_word_embeddings="output.weight" not in gguf.tensors,
        eos_token_id=None,
        pad_token_id=0,
    )
    state = {}
    for name, entry in gguf.tensors.items():
        weight = torch.from_numpy(dequantise(entry).copy())
        heads = {"attn_q": shape.n_heads, "attn_k": shape.n_kv_heads}.get(name.split(".")[-2], 0)
        state[hf_name(name)] = unpermute(weight, heads) if heads else weight
    model: Any = LlamaForCausalLM(config)
    model.load_state_dict(state, strict=False)
    model.tie_weights()
    return model.to(torch.bfloat16 if arranges_bf16() else torch.float32).eval()


class LlamaCpp:
    """llama.cpp through llama-cpp-python on the same GGUF file; requests one after another."""

    name = "llama.cpp"

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def load(cls, weights: Path, threads: int, device: str) -> LlamaCpp:
        """The same file and thread count; a context that holds the longest prompt."""
        from llama_cpp import Llama

        os.environ.setdefault("GGML_NO_BACKTRACE", "1")
        return cls(
            Llama(
                str(weights),
                n_ctx=4096,
                n_threads=threads,
                n_threads_batch=threads,
                n_batch=512,
                verbose=False,
            )
        )

    def _times(self, ids: list[int], n: int) -> list[float]:
        """Clock readings: the start, then one a token."""
        self.model.reset()
        times = [time.perf_counter()]
        for _ in self.model.generate(ids, temp=0.0, top_k=1):
            times.append(time.perf_counter())
            if len(times) > n:
                break
        return times

    def first_seconds(self, ids: list[int]) -> float:
        """Prompt evaluation and the first token."""
        start, first = self._times(ids, 1)
        return first - start

    def decode_seconds(self, ids: list[int], n: int) -> float:
        """Seconds a token after the first."""
        times = self._times(ids, n)
        return (times[-1] - times[1]) / (n - 1)

    def batch_seconds(self, prompts: list[list[int]], n: int) -> float:
        """One prompt after another: this binding has no batched generation."""
        return sum((times := self._times(ids, n))[-1] - times[0] for ids in prompts)


KINDS: dict[str, Any] = {"transformers": Transformers, "llama.cpp": LlamaCpp}
INSTALL = {
    "transformers": ("transformers", "transformers is not installed; pip install transformers"),
    "llama.cpp": (
        "llama_cpp",
        "llama-cpp-python is not installed; pip install 'prefill[peers]' (needs a C++ compiler)",
    ),
}


class Apart:
    """A peer in its own process: calls go through a pipe, the peer's own clock readings come back."""

    def __init__(self, name: str, weights: Path, threads: int, device: str) -> None:
        module, advice = INSTALL[name]
        if find_spec(module) is None:
            raise ModelError("peer_missing", advice)
        self.name = name
        spawn = multiprocessing.get_context("spawn")
        self._pipe, far = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(name, weights, threads, device, far), daemon=True)
        self._process.start()
        far.close()

    def first_seconds(self, ids: list[int]) -> float:
        """As the peer measures it."""
        return self._ask("first_seconds", ids)

    def decode_seconds(self, ids: list[int], n: int) -> float:
        """As the peer measures it."""
        return self._ask("decode_seconds", ids, n)

    def batch_seconds(self, prompts: list[list[int]], n: int) -> float:
        """As the peer measures it."""
        return self._ask("batch_seconds", prompts, n)

    def close(self) -> None:
        """Ends the process."""
        self._pipe.close()
        self._process.join(timeout=30)
        self._process.kill()

    def _ask(self, method: str, *values: Any) -> float:
        self._pipe.send((method, values))
        try:
            return float(self._pipe.recv())
        except EOFError as error:
            raise ModelError("peer_failed", f"{self.name} ended while it was measured") from error


def _serve(name: str, weights: Path, threads: int, device: str, pipe: Any) -> None:
    """The peer's process: answers until the other end of the pipe is closed."""
    peer = KINDS[name].load(weights, threads, device)
    while True:
        try:
            method, values = pipe.recv()
        except EOFError:
            return
        pipe.send(getattr(peer, method)(*values))
