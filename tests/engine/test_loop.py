"""Invariants of the batching loop, on the tiny model in fp32."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from engine import EngineError, InvalidRequest, PromptTooLong, Request, Sampling, StartEvent, TokenEvent
from engine.decoder import Segment
from engine.handle import Handle
from engine.limits import Limits, piece
from engine.llm import Engine
from engine.speculation import PromptLookup
from engine.types import FinishEvent
from tests.engine.tiny import oracle, tiny_engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with tiny_engine(oracle(seed=11), chunk=16, max_batch=4) as made:
        yield made


def ask(prompt: str, **settings: object) -> Request:
    return Request(prompt=prompt, sampling=Sampling.from_dict({"max_tokens": 30, **settings}))


def wait_for(condition: Callable[[], bool]) -> None:
    """What the loop does right after a result takes it a moment."""
    deadline = time.monotonic() + 5
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
    assert condition()


def test_a_repeated_prompt_hits_and_changes_nothing(engine: Engine) -> None:
    prompt = "the same long beginning of every question, " * 3
    first = engine.generate(ask(prompt + "one", temperature=1.0, seed=3))
    again = engine.generate(ask(prompt + "one", temperature=1.0, seed=3))
    assert first.usage["cached_tokens"] == 0
    assert again.usage["cached_tokens"] == (len(prompt) + 3 - 1) // 16 * 16
    assert again.token_ids == first.token_ids
    other = engine.generate(ask(prompt + "two!", logprobs=3))
    assert other.usage["cached_tokens"] == len(prompt) // 16 * 16


def test_a_prefix_shared_by_running_requests_is_computed_once(engine: Engine) -> None:
    prompt = "a document that five people ask about at the same moment. " * 5
    handles = [engine.submit(ask(f"{prompt}{n}", max_tokens=5)) for n in range(5)]
    usages = [h.result(30).usage for h in handles]
    computed = sum(u["prompt_tokens"] - u["cached_tokens"] for u in usages)
    # The five share the work: each chunk of the document is computed by one, the rest of 16 tokens by each.
    assert computed <= len(prompt) + 5 * 17


def test_the_start_event_tells_what_was_cached(engine: Engine) -> None:
    prompt = "once more with feeling, and at some length too"
    engine.generate(ask(prompt, max_tokens=2))
    start = next(iter(engine.submit(ask(prompt, max_tokens=2))))
    assert isinstance(start, StartEvent)
    assert start.cached_tokens == (len(prompt) - 1) // 16 * 16


def test_a_hit_never_skips_penalties_or_the_request_s_own_sampler(engine: Engine) -> None:
    prompt = "penalties reach the first token after a hit as well"
    plain = engine.generate(ask(prompt, max_tokens=1)).token_ids[0]
    banned = engine.generate(ask(prompt, max_tokens=1, logit_bias={plain: -1000.0}))
    assert banned.usage["cached_tokens"] > 0
    assert banned.token_ids[0] != plain


def test_the_prefix_cache_gives_way_to_requests() -> None:
    model = oracle(seed=11)
    per_token = 2 * 3 * 2 * 16 * 4
    with tiny_engine(model, chunk=16, kv_bytes=100 * per_token, prefix_bytes=80 * per_token) as small:
        small.generate(ask("x" * 64, max_tokens=4))
        wait_for(lambda: small.stats()["prefix_bytes"] == 64 * per_token)
        assert small.generate(ask("y" * 60, max_tokens=30)).error is None
        assert small.stats()["prefix_bytes"] <= 80 * per_token


def test_penalties_reach_batched_requests(engine: Engine) -> None:
    prompts = [f"count with me {n} {n} {n}" for n in range(4)]
    settings = {"repetition_penalty": 1.8, "frequency_penalty": 0.5, "no_repeat_ngram": 2}
    alone = [engine.generate(ask(p, **settings)).token_ids for p in prompts]
    together = [engine.submit(ask(p, **settings)) for p in prompts]
    assert [h.result(30).token_ids for h in together] == alone
    assert alone != [engine.generate(ask(p)).token_ids for p in prompts]


def test_each_random_stream_is_its_own(engine: Engine) -> None:
    requests = [ask("draw something", temperature=1.5, seed=n) for n in range(8)]
    alone = [engine.generate(r).token_ids for r in requests]
    handles = [engine.submit(ask("draw something", temperature=1.5, seed=n)) for n in range(8)]
    assert [h.result(30).token_ids for h in handles] == alone
    assert len(set(alone)) > 1


def test_requests_join_and_leave_between_steps(engine: Engine) -> None:
    long = engine.submit(ask("a long one", max_tokens=200, logit_bias={256: -1000.0}))
    stream = iter(long)
    while not isinstance(event := next(stream), TokenEvent):
        assert isinstance(event, StartEvent)
    short = engine.generate(ask("a short one", max_tokens=3))
    assert short.stats["batch_size_max"] == 2
    result = long.result(30)
    assert len(result.token_ids) == 200
    assert result.stats["batch_size_max"] == 2


def test_a_long_prompt_stalls_nobody() -> None:
    with tiny_engine(oracle(seed=11), chunk=8, max_batch=4) as made:
        talker = made.submit(ask("talk", max_tokens=150, logit_bias={256: -1000.0}))
        stream = iter(talker)
        for event in stream:
            if isinstance(event, TokenEvent):
                break
        reader = made.submit(ask("z" * 400, max_tokens=2))
        # The prompt of 400 takes 50 chunks; the talker gets a token between any two of them.
        before = sum(1 for e in stream if isinstance(e, TokenEvent) and not reader._events.qsize() > 1)
        assert reader.result(30).error is None
        assert before >= 49


def test_one_that_fits_later_waits_and_one_that_never_fits_is_refused() -> None:
    per_token = 2 * 3 * 2 * 16 * 4
    with tiny_engine(oracle(seed=11), kv_bytes=100 * per_token, max_batch=4) as made:
        with pytest.raises(PromptTooLong, match=r"need \d+ bytes of KV memory; the engine has \d+"):
            made.submit(ask("x" * 90, max_tokens=30))
        handles = [made.submit(ask("q" * 40, max_tokens=30, logit_bias={256: -1000.0})) for _ in range(3)]
        results = [h.result(30) for h in handles]
    assert all(len(r.token_ids) == 30 for r in results)
    assert max(r.stats["batch_size_max"] for r in results) == 1


def test_a_failing_request_takes_no_other_down(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    good = engine.submit(ask("fine", max_tokens=60, logit_bias={256: -1000.0}))
    bad_request = ask("broken", max_tokens=60, temperature=1.0)
    from engine import sampling

    real = sampling.choose

    def choose(logits: torch.Tensor, s: Sampling, rng: object) -> int:
        if s is bad_request.sampling:
            raise ValueError("a sampler with a bug")
        return real(logits, s, rng)

    monkeypatch.setattr(sampling, "choose", choose)
    failed = engine.submit(bad_request).result(30)
    assert (failed.finish_reason, failed.error and failed.error["code"]) == ("error", "internal_error")
    assert len(good.result(30).token_ids) == 60
    assert engine.generate(ask("still alive", max_tokens=2)).error is None


def test_a_failing_step_ends_its_requests_and_the_loop_lives_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = engine.decoder.forward

    def broken(*_: object, **__: object) -> torch.Tensor:
        monkeypatch.setattr(engine.decoder, "forward", real)
        raise MemoryError("out of memory")

    monkeypatch.setattr(engine.decoder, "forward", broken)
    assert engine.generate(ask("doomed")).finish_reason == "error"
    assert engine.generate(ask("after", max_tokens=2)).error is None


def together(made: Engine, *requests: Request) -> list[Handle]:
    """Submitted while the loop is held, so that they start in the same step."""
    hold = made.loop.call(lambda: time.sleep(0.2))
    handles = [made.submit(request) for request in requests]
    hold.result()
    return handles


def endless(prompt: str, max_tokens: int = 20, speculate: int | None = 0) -> Request:
    return Request(
        prompt=prompt,
        sampling=Sampling(max_tokens=max_tokens, logit_bias={256: -1000.0}),
        speculate=speculate,
    )


def test_a_failing_draft_ends_its_own_request(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    real = PromptLookup.draft

    def draft(lookup: PromptLookup, room: int) -> list[int]:
        if lookup.longest == 5:
            raise ValueError("a lookup with a bug")
        return real(lookup, room)

    monkeypatch.setattr(PromptLookup, "draft", draft)
    bad, good = together(
        engine, endless("drafts go wrong here", speculate=5), endless("and not here", speculate=4)
    )
    assert (bad.result(30).error or {})["code"] == "internal_error"
    assert len(good.result(30).token_ids) == 20


def once(fault: Exception, real: Callable[..., Any]) -> Callable[..., Any]:
    """Fails the first time, then does what it should."""
    failed = False

    def call(*args: Any) -> Any:
        nonlocal failed
        if not failed:
            failed = True
            raise fault
        return real(*args)

    return call


@pytest.mark.parametrize(
    ("owner", "name"),
    [("prefix", "find"), ("arena", "take"), ("decoder", "forward"), ("decoder", "logits")],
)
def test_a_fault_ends_those_it_belongs_to(owner: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A group of one row at most: what happens in one's pass is no matter of the other's.
    with tiny_engine(oracle(seed=11), chunk=16, max_batch=4, max_rows=1) as made:
        part = getattr(made.loop, owner)
        first, second = together(made, endless("the first of two, and long enough"), endless("the second"))
        for handle in (first, second):
            next(e for e in handle if isinstance(e, TokenEvent))
        third = None
        monkeypatch.setattr(part, name, once(MemoryError("none left"), getattr(part, name)))
        if owner != "decoder":
            third = made.submit(endless("the third"))
        results = [handle.result(30) for handle in (first, second, third) if handle]
        codes = [result.error and result.error["code"] for result in results]
        assert codes.count("internal_error") == 1
        assert [len(r.token_ids) for r in results if r.error is None] == [20] * (len(results) - 1)
        assert third is None or codes[2] == "internal_error"
        assert made.generate(endless("after it")).error is None
        wait_for(lambda: made.stats()["kv_bytes_used"] == 0)


def test_no_memory_for_a_kept_prefix_costs_the_prefix_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with tiny_engine(oracle(seed=11), chunk=16, max_batch=4) as made:
        fault = once(MemoryError("none left"), made.decoder.new_cache)
        monkeypatch.setattr(made.decoder, "new_cache", fault)
        prompt = "long enough to be kept for the next one"
        assert made.generate(endless(prompt)).error is None
        wait_for(lambda: made.stats()["kv_bytes_used"] == 0)
        assert made.generate(endless(prompt)).usage["cached_tokens"] == 0
        wait_for(lambda: made.stats()["prefix_bytes"] > 0)
        assert made.generate(endless(prompt)).usage["cached_tokens"] == 32


@pytest.mark.parametrize("name", ["_drop_cancelled", "_admit", "_drop_finished"])
def test_a_fault_of_nobody_s_ends_what_runs_and_the_loop_goes_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tiny_engine(oracle(seed=11), max_batch=4) as made:
        running = made.submit(endless("never ending", 400))
        next(e for e in running if isinstance(e, TokenEvent))
        monkeypatch.setattr(made.loop, name, once(RuntimeError("unforeseen"), getattr(made.loop, name)))
        assert (running.result(30).error or {})["message"] == "RuntimeError: unforeseen"
        assert made.generate(endless("after it")).error is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_refuses_what_comes_after() -> None:
    made = tiny_engine(oracle(seed=11), max_batch=4)
    running = made.submit(endless("never ending", 400))

    def leave() -> None:
        raise SystemExit

    assert isinstance(made.loop.call(leave).exception(5), SystemExit)
    assert running.result(30).finish_reason == "cancelled"
    with pytest.raises(EngineError, match="closed"):
        made.submit(endless("too late"))


def test_a_result_that_cant_be_made_still_ends_its_request(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        raise RuntimeError("a parser with a bug")

    monkeypatch.setattr("engine.active.parse", parse)
    result = engine.generate(Request(prompt="pick", choices=("yes", "no")))
    assert (result.error or {})["message"] == "RuntimeError: a parser with a bug"
    assert result.text in ("yes", "no") and result.parsed is None
    assert result.usage["completion_tokens"] == len(result.token_ids) > 0


def test_the_batch_s_size_is_told_over_time() -> None:
    with tiny_engine(oracle(seed=11), chunk=64, max_batch=4) as made:
        long, short = together(
            made,
            endless("a prompt of some thirty letters 1", 10),
            endless("a prompt of some thirty letters 2", 4),
        )
        assert long.result(30).stats["batch_sizes"] == [[2, 3], [1, 6]]
        assert short.result(30).stats["batch_sizes"] == [[2, 3]]
        assert made.generate(endless("one token, no step", 1)).stats["batch_sizes"] == []


def test_a_mask_that_leaves_nothing_is_an_error(engine: Engine) -> None:
    twice = Request(prompt="q", choices=("aaaa",), sampling=Sampling(no_repeat_ngram=1))
    for request, written in ((twice, "a"), (ask("q", logit_bias=dict.fromkeys(range(259), -math.inf)), "")):
        result = engine.generate(request)
        assert (result.finish_reason, result.text) == ("error", written)
        assert (result.error or {})["code"] == "nothing_allowed"


@pytest.mark.parametrize(
    ("stop", "text", "valid"), [("x y", "x", False), (" y", "xx", True), ("never", "xx y", True)]
)
def test_a_text_cut_by_a_stop_string_is_matched_anew(
    engine: Engine, stop: str, text: str, valid: bool
) -> None:
    sampling = Sampling(stop=(stop,), logit_bias={32: 1000.0})
    result = engine.generate(Request(prompt="q", regex="xx( y)?", sampling=sampling))
    assert (result.text, result.parsed) == (text, text if valid else None)
    assert result.stats["constraint"] == {"kind": "regex", "valid": valid, "truncated": not valid}


def test_a_schema_that_can_only_be_checked_without_end_is_refused(engine: Engine) -> None:
    schema = {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}
    with pytest.raises(InvalidRequest, match="refers to itself without end"):
        engine.submit(Request(prompt="q", schema=schema))


def test_cancel_ends_within_one_step_and_frees_memory() -> None:
    with tiny_engine(oracle(seed=11), max_batch=2) as made:
        handle = made.submit(ask("never ending", max_tokens=400, logit_bias={256: -1000.0}))
        seen = 0
        for event in handle:
            seen += isinstance(event, TokenEvent)
            if seen == 3:
                handle.cancel()
            if isinstance(event, FinishEvent):
                assert event.result.finish_reason == "cancelled"
        assert seen <= 30
        wait_for(lambda: made.stats()["kv_bytes_used"] == 0)


def test_closing_ends_every_request_and_refuses_new_ones() -> None:
    made = tiny_engine(oracle(seed=11), max_batch=1)
    handles = [made.submit(ask("hold on", max_tokens=400, logit_bias={256: -1000.0})) for _ in range(3)]
    made.close()
    assert [h.result(5).finish_reason for h in handles] == ["cancelled"] * 3
    with pytest.raises(EngineError, match="closed"):
        made.submit(ask("too late"))


def test_many_threads_may_submit(engine: Engine) -> None:
    outcomes: list[tuple[int, ...]] = []

    def work(n: int) -> None:
        outcomes.append(engine.generate(ask(f"thread {n % 3}", max_tokens=8)).token_ids)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(outcomes) == 12
    assert len(set(outcomes)) == 3


def test_nobody_overtakes_a_request_that_waits_for_memory() -> None:
    per_token = 2 * 3 * 2 * 16 * 4
    with tiny_engine(oracle(seed=11), kv_bytes=120 * per_token, max_batch=4, prefix_bytes=0) as made:
        settings = {"logit_bias": {256: -1000.0}}
        handles = {
            "running": made.submit(ask("r" * 20, max_tokens=60, **settings)),
            "large": made.submit(ask("l" * 60, max_tokens=50, **settings)),
            "small": made.submit(ask("s" * 5, max_tokens=5, **settings)),
        }
        queued = {name: handle.result(30).timings["queue_ms"] or 0.0 for name, handle in handles.items()}
    # There was room for the small one at once; it waits all the same, or the large one might wait for ever.
    assert queued["small"] > 0.5 * queued["large"] > queued["running"]


@pytest.mark.parametrize(
    ("left", "room", "expected"),
    [(50, 512, 50), (512, 512, 512), (600, 512, 512), (300, 512, 300), (150, 512, 128), (2, 512, 2), (128, 128, 128)],
)  # fmt: skip
def test_a_prompt_is_cut_at_the_ends_of_chunks(left: int, room: int, expected: int) -> None:
    assert piece(left, room, 128) == expected


def test_short_prompts_are_computed_together() -> None:
    passes: list[list[int]] = []
    wanted = [ask(f"a prompt of some thirty letters {n}", max_tokens=4) for n in range(4)]
    with tiny_engine(oracle(seed=11), chunk=64, chunk_alone=512, max_batch=4) as made:
        alone = [made.generate(request).token_ids for request in wanted]
        forward = made.decoder.forward

        def counted(ids: torch.Tensor, segments: list[Segment]) -> torch.Tensor:
            passes.append([s.length for s in segments])
            return forward(ids, segments)

        made.decoder.forward = counted  # type: ignore[assignment, method-assign]
        hold = made.loop.call(lambda: time.sleep(0.2))
        handles = [made.submit(request) for request in wanted]
        hold.result()
        assert [h.result(30).token_ids for h in handles] == alone
    assert [33] * 4 in passes


def test_the_real_model_gives_the_same_bits_however_a_prompt_is_cut(models_dir: Path) -> None:
    text = "The ledger of the market names every stall, what it sold, and for how much. " * 30
    request = Request(prompt=text, sampling=Sampling(max_tokens=12, logprobs=5), speculate=0)
    seen = []
    with Engine.load(models_dir=models_dir, threads=2, limits=Limits(chunk_alone=128)) as first:
        for chunk_alone in (128, 512):
            with Engine(first.decoder, first.tokenizer, first.card, Limits(chunk_alone=chunk_alone)) as made:
                for _ in range(2):
                    events = [e for e in made.submit(request) if isinstance(e, TokenEvent)]
                    seen.append([(e.token_id, e.logprob) for e in events])
                assert made.loop.prefix.hits == 1
    assert all(row == seen[0] for row in seen)


def test_the_real_model_gives_the_same_bits_in_company(models_dir: Path) -> None:
    texts = ["The harbour", "Once upon a time", "Rain falls on", "1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3"]
    wanted = [
        Request(prompt=f"{text}{' and so on' * extra}", sampling=Sampling(max_tokens=10 + 3 * n, logprobs=1))
        for n, text in enumerate(texts)
        for extra in (0, 8, 16)
    ]

    def seen(handle: Handle) -> list[tuple[int, float | None]]:
        return [(e.token_id, e.logprob) for e in handle if isinstance(e, TokenEvent)]

    with Engine.load(models_dir=models_dir, threads=2, limits=Limits(prefix_bytes=0)) as made:
        alone = [seen(made.submit(request)) for request in wanted]
        hold = made.loop.call(lambda: time.sleep(0.2))
        handles = [made.submit(request) for request in wanted]
        hold.result()
        together = [seen(handle) for handle in handles]
        assert max(h.result().stats["batch_size_max"] for h in handles) > 8
    assert together == alone
