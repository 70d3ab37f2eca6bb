"""The block in which running sequences lie, and reading several of them by one call."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.attention import views_of
from engine.cache import STEP, Arena, KVCache
from engine.decoder import Decoder, Segment
from tests.engine.tiny import decoder_of, oracle


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return decoder_of(oracle(seed=5))


def arena_of(decoder: Decoder, n_tokens: int) -> Arena:
    made = decoder.new_arena(n_tokens * decoder.kv_bytes_per_token)
    assert made is not None
    return made


def placed(arena: Arena, capacity: int) -> KVCache:
    cache = arena.take(capacity)
    assert cache is not None
    return cache


def test_places_are_found_refused_and_found_again(decoder: Decoder) -> None:
    arena = arena_of(decoder, 4 * STEP)
    first, second = placed(arena, 50), placed(arena, STEP + 1)
    assert (first.start, second.start) == (0, STEP)
    assert arena.take(STEP + 1) is None
    last = placed(arena, STEP)
    assert last.start == 3 * STEP and arena.take(1) is None
    arena.give_back(second)
    assert arena.take(2 * STEP + 1) is None
    assert placed(arena, 2 * STEP).start == STEP
    assert first.n_bytes == 50 * decoder.kv_bytes_per_token


def test_the_whole_block_can_be_taken_by_one(decoder: Decoder) -> None:
    arena = arena_of(decoder, 100)
    assert arena.take(101) is None
    assert placed(arena, 100).capacity == 100


def grown(decoder: Decoder, caches: list[KVCache], lengths: list[int], steps: int) -> torch.Tensor:
    """Hidden states of some steps in which every sequence gets one token."""
    for seed, (cache, length) in enumerate(zip(caches, lengths, strict=True)):
        ids = torch.randint(0, 256, (length,), generator=torch.Generator().manual_seed(seed))
        decoder.forward(ids, [Segment(cache, length)])
    ids = torch.arange(len(caches))
    return torch.stack(
        [decoder.forward(ids + step, [Segment(c, 1) for c in caches]) for step in range(steps)]
    )


@pytest.mark.parametrize("lengths", [[30, 31, 7, 18], [3, 300, 5, 6], [20, 20]])
def test_sequences_read_together_give_what_each_gives(decoder: Decoder, lengths: list[int]) -> None:
    arena = arena_of(decoder, 2000)
    arena.data.fill_(7.0)  # what earlier sequences left behind must not be seen
    capacity = 320 if max(lengths) > 50 else 40
    together = grown(decoder, [placed(arena, capacity) for _ in lengths], lengths, 5)
    apart = grown(decoder, [decoder.new_cache(capacity) for _ in lengths], lengths, 5)
    assert float((together - apart).abs().max()) < 1e-4


def test_only_neighbours_of_like_length_are_read_together(decoder: Decoder) -> None:
    arena = arena_of(decoder, 3000)
    caches = [placed(arena, size) for size in (40, 40, 40, 400, 40)]
    for cache, length in zip(caches, (10, 12, 30, 390, 5), strict=True):
        cache.length = length

    def rows(segments: list[Segment]) -> list[int]:
        return [v.rows for v in views_of(segments, 2) if v.ends]

    assert rows([Segment(c, 1) for c in caches]) == [3]
    assert rows([Segment(caches[0], 1), Segment(caches[1], 2)]) == []
    assert rows([Segment(caches[0], 1), Segment(decoder.new_cache(9), 1)]) == []
    assert rows([Segment(c, 1) for c in reversed(caches[:3])]) == []


def test_a_stretch_never_leaves_the_block(decoder: Decoder) -> None:
    arena = arena_of(decoder, 2 * STEP + 10)
    caches = [placed(arena, STEP), placed(arena, STEP), placed(arena, 10)]
    caches[0].length, caches[1].length, caches[2].length = 60, 20, 5
    views = views_of([Segment(c, 1) for c in caches], 2)
    assert [v.rows for v in views] == [2, 1]


def test_an_empty_block_takes_no_memory(decoder: Decoder) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before = resident()
    arena = arena_of(decoder, 2**30 // decoder.kv_bytes_per_token)
    assert arena.data.nbytes > 2**29
    assert resident() - before < 2**26
