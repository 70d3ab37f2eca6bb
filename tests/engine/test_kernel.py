"""The compiled kernel computes what the weights say, whatever the number of rows and threads, and can be done without."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from torch import Tensor

from engine import kernel
from engine.cache import Arena
from engine.decoder import Decoder, Probe, Segment
from engine.gguf_weights import load_gguf
from engine.hf import from_state
from engine.kernel import compiled
from engine.llm import Engine
from engine.lora import Updates, key, sizes, updates_of
from engine.observe import Observe
from engine.panels import Panels, pack4, pack8
from engine.types import Request, Sampling, TokenEvent
from tests.engine.test_gguf_formats import converted
from tests.engine.tiny import oracle

SIZES = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "hidden_size": 128}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def matrix(
    bits: int, n: int, k: int, bias: Tensor | None = None, *, exact: bool = True
) -> tuple[Panels, Tensor]:
    """A random matrix in panels and as fp64."""
    rng = torch.Generator().manual_seed(bits)
    scale = (torch.rand(n, k // 32, generator=rng) / 50).half().float()
    low, high = (0, 16) if bits == 4 else (-128, 128)
    q = torch.randint(low, high, (n, k), generator=rng)
    minimum = -(8 * scale).half().float() if bits == 4 else torch.zeros_like(scale)
    packed = pack4(q, scale, minimum) if bits == 4 else pack8(q, scale)
    weight = q.view(n, -1, 32).double() * scale[..., None].double() + minimum[..., None].double()
    return Panels(packed, n, bias, exact=exact), weight.view(n, k)


def test_this_machine_has_the_kernel() -> None:
    """All below would be skipped without it, so its absence on a machine that tests is a failure."""
    assert compiled() is not None


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("n", [32, 96, 70])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 24, 130])
def test_a_product_is_what_the_stored_numbers_give(bits: int, n: int, rows: int) -> None:
    bias = drawn(n, seed=2)
    own, weight = matrix(bits, n, 64, bias)
    x = drawn(rows, 64, seed=rows) * torch.logspace(-3, 3, rows)[:, None]
    exact = x.double() @ weight.T + bias.double()
    found = own(x)
    assert found.shape == (rows, n)
    # A value is rounded to half of 1/32767 of the largest in its group.
    allowed = (x.abs().amax(-1, keepdim=True).double() / 32767) @ weight.abs().sum(-1)[None] + 1e-5
    assert bool(((found.double() - exact).abs() <= allowed).all())


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("n", "rows"), [(32, 25), (70, 37), (96, 130), (576, 300)])
def test_a_piece_of_a_prompt_is_multiplied_in_bf16_or_better(bits: int, n: int, rows: int) -> None:
    bias = drawn(n, seed=2)
    own, weight = matrix(bits, n, 64, bias, exact=False)
    x = drawn(rows, 64, seed=rows)
    exact = x.double() @ weight.T + bias.double()
    # Both factors are rounded to 8 bits; sums are fp32.
    allowed = 2**-8 * (x.abs().double() @ weight.abs().T) * 1.01 + 1e-5
    assert bool(((own(x).double() - exact).abs() <= allowed).all())


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("exact", [True, False])
def test_a_row_has_the_same_bits_in_any_company_and_with_any_threads(bits: int, exact: bool) -> None:
    own, _ = matrix(bits, 320, 96, exact=exact)
    x = drawn(300, 96)
    whole = own(x)
    few = [(0, 1), (3, 8), (10, 33), (69, 70)] if exact else []
    for first, last in [(0, 25), (40, 299), (251, 290), *few]:
        assert torch.equal(own(x[first:last]), whole[first:last])
    for count in (1, 2, 3, 5):
        torch.set_num_threads(count)
        assert torch.equal(own(x), whole)


def test_several_callers_at_once() -> None:
    """One has the helpers, the others work alone; all get the same."""
    own, _ = matrix(4, 960, 576)
    x = drawn(16, 576)
    expected = own(x)
    wrong: list[int] = []

    def often() -> None:
        wrong.extend(i for i in range(50) if not torch.equal(own(x), expected))

    callers = [threading.Thread(target=often) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_a_helper_of_a_larger_team_takes_no_task_of_a_smaller_one() -> None:
    """It would write where that team has no room for it (by chance: with the address sanitizer within some thousand rounds)."""
    own, _ = matrix(4, 320, 96, exact=False)
    x = drawn(40, 96)
    expected = own(x)
    for _ in range(300):
        for count in (16, 1, 2, 1, 2):
            torch.set_num_threads(count)
            assert torch.equal(own(x), expected)


def test_a_forked_process_has_helpers_of_its_own() -> None:
    code = (
        "import os, torch; from tests.engine.test_kernel import drawn, matrix\n"
        "torch.set_num_threads(3); own, _ = matrix(4, 960, 576); x = drawn(16, 576); expected = own(x)\n"
        "if child := os.fork():\n"
        "    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "right = torch.equal(own(x), expected) and len(os.listdir('/proc/self/task')) == 3\n"
        "os._exit(0 if right else 1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_zeros_stay_zeros() -> None:
    own, _ = matrix(4, 64, 64)
    assert torch.equal(own(torch.zeros(3, 64)), torch.zeros(3, 64))


def tiny(family: str, weight_format: Any) -> Decoder:
    model = oracle(family, **SIZES)
    return from_state(model.config.to_dict(), model.state_dict(), weight_format, "cpu")


def watched(decoder: Decoder, ids: Tensor, segments: list[Segment]) -> Tensor:
    """The same pass in torch, as a probe has it done."""
    return decoder._watched(decoder.embedding[ids].float(), segments, Probe())


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("weight_format", ["int4", "int8"])
@pytest.mark.parametrize("rows", [20, 90])
def test_the_pass_in_one_call_agrees_with_the_pass_in_torch(
    family: str, weight_format: str, rows: int
) -> None:
    """Grouped heads, biases and norms of heads included; they differ in the order of their sums, and with many rows in
    where they round to bf16 (the compiled pass is the nearer one to exact products)."""
    least = 0.9999 if rows <= kernel.FEW_ROWS else 0.99
    decoder = tiny(family, weight_format)
    assert decoder.fused is not None
    ids = torch.randint(0, 256, (rows,), generator=torch.Generator().manual_seed(3))
    mine, other = decoder.new_cache(96), decoder.new_cache(96)
    found = decoder.forward(ids, [Segment(mine, rows)])
    expected = watched(decoder, ids, [Segment(other, rows)])
    assert mine.length == rows
    similar = torch.cosine_similarity(found, expected, dim=-1)
    assert float(similar.min()) > least, similar
    stored = torch.cosine_similarity(
        mine.data[0, :20].float().flatten(1), other.data[0, :20].float().flatten(1)
    )
    assert float(stored.min()) > least


def updates_for(decoder: Decoder, rank: int, seed: int) -> Updates:
    """Updates of every matrix from the second layer on, large enough to matter."""
    tensors = {
        key(layer, name, part): drawn(*size, seed=seed + layer) / size[1] ** 0.5
        for layer in range(1, decoder.shape.n_layers)
        for name, (rows, columns) in sizes(decoder.shape).items()
        for part, size in (("a", (rank, columns)), ("b", (rows, rank)))
    }
    return updates_of(tensors, decoder.shape, 0.5, torch.bfloat16)


@pytest.mark.parametrize("family", ["llama", "qwen2"])
@pytest.mark.parametrize("rows", [20, 90])
def test_an_adapter_s_rows_take_the_compiled_pass_too(family: str, rows: int) -> None:
    decoder = tiny(family, "int4")
    updates = updates_for(decoder, 8, 5)
    ids = torch.randint(0, 256, (rows,), generator=torch.Generator().manual_seed(3))
    found = decoder.forward(ids, [Segment(decoder.new_cache(96), rows, updates)])
    expected = watched(decoder, ids, [Segment(decoder.new_cache(96), rows, updates)])
    plain = decoder.forward(ids, [Segment(decoder.new_cache(96), rows)])
    similar = torch.cosine_similarity(found, expected, dim=-1)
    assert float(similar.min()) > (0.9999 if rows <= kernel.FEW_ROWS else 0.99), similar
    assert float(torch.cosine_similarity(found, plain, dim=-1).mean()) < 0.98


def test_adapters_of_a_batch_keep_to_their_own_rows() -> None:
    """To the bit what each gives alone, a rank of three and the plain model among them."""
    decoder = tiny("llama", "int4")
    kinds = [updates_for(decoder, 8, 5), None, updates_for(decoder, 3, 9), None]
    ids = torch.randint(0, 256, (4, 30), generator=torch.Generator().manual_seed(6))
    for size in (5, 30):
        rows = list(ids[:, :size])
        alone = [
            decoder.forward(own, [Segment(decoder.new_cache(64), size, kind)])
            for own, kind in zip(rows, kinds, strict=True)
        ]
        segments = [Segment(decoder.new_cache(64), size, kind) for kind in kinds]
        assert torch.equal(decoder.forward(torch.cat(rows), segments), torch.cat(alone))
        assert [s.cache.length for s in segments] == [size] * 4


@pytest.mark.parametrize("prompt", ["The capital of France is", "Water boils in a vessel. " * 22])
def test_what_is_observed_is_what_is_generated(engine: Engine, prompt: str) -> None:
    """To the last bit, with attention maps and without: the pages show the odds that a token was drawn from."""
    ids = tuple(engine.tokenizer.encode_text(prompt))
    request = Request(prompt=prompt, sampling=Sampling(temperature=0, max_tokens=1, logprobs=5))
    told = next(e for e in engine.submit(request) if isinstance(e, TokenEvent))
    assert told.alternatives
    drawn_from = {a.token_id: a.probability for a in told.alternatives}
    for maps in ((), ((3, None),)):
        seen = engine.observe(Observe(token_ids=ids, attention=maps, norms=bool(maps), top=5)).logits[0].top
        assert {a.token_id: a.probability for a in seen} == drawn_from


def test_fp32_is_left_to_torch() -> None:
    assert tiny("llama", "fp32").fused is None


def test_a_qwen2_file_s_biases_are_added_in_the_one_call(tmp_path: Path) -> None:
    """Packed anew and from its cache, close to the pass in torch, and the same bits with any number of threads."""
    path = converted(oracle("qwen2", **SIZES), tmp_path / "tiny.gguf", gguf.GGMLQuantizationType.Q4_1)
    ids = torch.randint(0, 256, (20,), generator=torch.Generator().manual_seed(3))
    seen = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        decoder = load_gguf(path, "0" * 64, "int4")
        assert decoder.fused is not None
        seen.append(decoder.forward(ids, [Segment(decoder.new_cache(64), 20)]))
        expected = watched(decoder, ids, [Segment(decoder.new_cache(64), 20)])
        assert float(torch.cosine_similarity(seen[-1], expected, dim=-1).min()) > 0.9999
    assert torch.equal(seen[0], seen[1]) and torch.equal(seen[0], seen[2])


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_the_same_bits_however_a_prompt_is_cut_and_with_whom(family: str) -> None:
    decoder = tiny(family, "int4")
    arena = Arena(decoder.shape, 600, decoder.dtype, decoder.device)
    ids = torch.randint(0, 256, (24,), generator=torch.Generator().manual_seed(4))
    alone = decoder.forward(ids, [Segment(decoder.new_cache(40), 24)])
    first, second = arena.take(40), arena.take(100)
    assert first is not None and second is not None
    parts = [decoder.forward(ids[:5], [Segment(first, 5)])]
    decoder.forward(ids[:9], [Segment(second, 9)])
    for at in range(5, 20):
        both = torch.cat([ids[at : at + 1], ids[9:12]])
        parts.append(decoder.forward(both, [Segment(first, 1), Segment(second, 3)])[:1])
    parts.append(decoder.forward(ids[20:], [Segment(first, 4)]))
    assert torch.equal(torch.cat(parts), alone)


@pytest.mark.parametrize("heads", [{}, {"num_attention_heads": 2, "head_dim": 96}])
def test_a_long_prompt_gives_the_same_bits_cut_or_whole_and_with_whom(heads: dict[str, int]) -> None:
    model = oracle("llama", **{**SIZES, **heads}, max_position_embeddings=512)
    decoder = from_state(model.config.to_dict(), model.state_dict(), "int4", "cpu")
    ids = torch.randint(0, 256, (330,), generator=torch.Generator().manual_seed(4))
    alone = decoder.forward(ids, [Segment(decoder.new_cache(330), 330)])
    cache, other = decoder.new_cache(330), decoder.new_cache(60)
    parts = [decoder.forward(ids[:128], [Segment(cache, 128)])]
    both = torch.cat([ids[10:70], ids[128:256]])
    parts.append(decoder.forward(both, [Segment(other, 60), Segment(cache, 128)])[60:])
    torch.set_num_threads(3)
    parts.append(decoder.forward(ids[256:], [Segment(cache, 74)]))
    assert torch.equal(torch.cat(parts), alone)


def test_a_full_cache_is_an_error_and_not_somebody_elses_memory() -> None:
    decoder = tiny("llama", "int4")
    cache = decoder.new_cache(16)
    decoder.forward(torch.zeros(16, dtype=torch.long), [Segment(cache, 16)])
    with pytest.raises(IndexError, match="1 more tokens"):
        decoder.forward(torch.zeros(1, dtype=torch.long), [Segment(cache, 1)])


def test_a_place_beyond_the_context_is_an_error_too() -> None:
    decoder = tiny("llama", "int4")
    n = decoder.shape.context_length
    with pytest.raises(IndexError, match="don't fit"):
        decoder.forward(torch.zeros(n + 1, dtype=torch.long), [Segment(decoder.new_cache(n + 1), n + 1)])


def test_the_real_model_says_the_same_with_and_without(engine: Engine, models_dir: Path) -> None:
    """A process without the kernel agrees with this one: on nearly every choice, and closely on all of them."""
    code = (
        "import sys, torch; from pathlib import Path; from engine.decoder import Segment; from engine.loading import load\n"
        "d, t, _ = load('smollm2-135m-instruct', Path(sys.argv[1]), 'cpu', None, 2**28)\n"
        "assert d.fused is None\n"
        "ids = torch.tensor(t.encode_text(sys.argv[2]))\n"
        "torch.save(d.logits(d.forward(ids, [Segment(d.new_cache(64), len(ids))])), sys.argv[3])"
    )
    text = "A steam engine turns heat into motion. Water boils in a vessel, and the steam pushes a piston."
    file = models_dir / f".logits-{os.getpid()}.pt"
    try:
        subprocess.run(
            [sys.executable, "-c", code, str(models_dir), text, str(file)],
            check=True,
            env={**os.environ, kernel.SWITCH: "off"},
        )
        other = torch.load(file)
    finally:
        file.unlink(missing_ok=True)
    ids = torch.tensor(engine.tokenizer.encode_text(text))
    decoder = engine.decoder
    assert isinstance(decoder, Decoder) and decoder.fused is not None
    found = decoder.logits(decoder.forward(ids, [Segment(decoder.new_cache(64), len(ids))]))
    apart = torch.nn.functional.kl_div(
        found.log_softmax(-1), other.log_softmax(-1), log_target=True, reduction="batchmean"
    )
    assert float(apart) < 0.005
    assert float((found.argmax(-1) == other.argmax(-1)).float().mean()) > 0.9


class TestBuilding:
    @pytest.fixture(autouse=True)
    def fresh(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        compiled.cache_clear()
        yield
        compiled.cache_clear()

    def test_it_is_built_once(self, tmp_path: Path) -> None:
        assert compiled() is not None
        (file,) = (tmp_path / "prefill-engine").iterdir()
        made = file.stat().st_mtime_ns
        compiled.cache_clear()
        assert compiled() is not None
        assert [f.stat().st_mtime_ns for f in (tmp_path / "prefill-engine").iterdir()] == [made]

    def test_a_compiler_with_other_options_builds_its_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without AVX-512 a prompt's pieces are in whole numbers, and a row as near to what torch computes."""
        for options, many in (
            ("", torch.backends.cpu.get_cpu_capability() == "AVX512"),
            (" -mno-avx512f", False),
        ):
            monkeypatch.setenv("CC", f"gcc{options}")
            compiled.cache_clear()
            library = compiled()
            assert library is not None
            assert many or not library.kernel_wide()
            decoder = tiny("llama", "int4")
            ids = torch.arange(40)
            found = decoder.forward(ids, [Segment(decoder.new_cache(40), 40)])
            expected = watched(decoder, ids, [Segment(decoder.new_cache(40), 40)])
            assert float(torch.cosine_similarity(found, expected, dim=-1).min()) > 0.99
        assert len(list((tmp_path / "prefill-engine").iterdir())) == 2

    def test_a_compiler_that_fails_costs_nothing(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("CC", "false")
        assert compiled() is None
        assert "torch's kernels are used instead" in caplog.text
        assert tiny("llama", "int4").fused is None

    def test_no_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.setenv("PATH", "/nonexistent")
        assert compiled() is None

    def test_it_can_be_switched_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(kernel.SWITCH, "off")
        assert compiled() is None

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        assert compiled() is not None
