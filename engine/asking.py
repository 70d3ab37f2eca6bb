"""One question on its way: reads passages, lets the model answer in a style, has the claims judged."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine import ask_prompts as prompts
from engine.adapters import Adapter
from engine.answers import Citation, Claim, Considered, Gate, Style
from engine.errors import EngineError, InvalidRequest, ModelError
from engine.pieces import Pieces, in_pieces
from engine.reader import trimmed
from engine.reading import Reading, read
from engine.thresholds import Thresholds
from engine.types import Passage, Request, Result, TokenEvent
from engine.verify import cite, judged, split_claims

if TYPE_CHECKING:
    from engine.embeddings import Embedder
    from engine.llm import Engine

ADAPTER = "answerability"
Outcome = tuple[str, tuple[Claim, ...]]


class Cancelled(Exception):
    """The caller asked to stop."""


@dataclass(frozen=True, slots=True)
class Best:
    """The passage most likely to state the answer, how likely, and where the reader would point."""

    passage: Passage
    gate: tuple[float, float]
    reading: Reading | None


@dataclass(slots=True)
class Asking:
    """The state of one question. The services write into it; `ask` turns it into a result."""

    engine: Engine
    embedder: Embedder
    question: str
    style: Style
    tell: Callable[[str, dict[str, Any]], None]
    stopped: Callable[[], bool]
    thresholds: Thresholds
    rng: random.Random
    adapter: Adapter | None = None
    pieces: Pieces = field(default_factory=lambda: in_pieces(()))
    considered: list[Considered] = field(default_factory=list)
    stated: dict[str, float] = field(default_factory=dict)
    gates: list[Gate] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.adapter = reading_adapter(self.engine)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Records how long a step took."""
        start = time.perf_counter()
        yield
        self.timings[name] = 1000 * (time.perf_counter() - start)

    def gate(self, name: str, value: float, threshold: float) -> Gate:
        """Records a gate."""
        made = Gate.of(name, value, threshold)
        self.gates.append(made)
        self.tell("gate", asdict(made))
        return made

    def read(self, passages: Sequence[Passage]) -> Best:
        """Reads each passage for the question; the one most likely to state the answer wins."""
        found: list[Best] = []
        edge = self.thresholds.stated if self.adapter else self.thresholds.stated_alone
        for passage in passages:
            self._go_on()
            reading = read(self.engine, ADAPTER, self.question, passage.text) if self.adapter else None
            value = reading.stated if reading else self._says_yes(passage)
            self.stated[passage.id] = value
            found.append(Best(passage, (value, edge), reading))
        self.tell("passages", {"stated": self.pieces.stated(self.stated)})
        return max(found, key=lambda best: best.gate[0])

    def _says_yes(self, passage: Passage) -> float:
        """The model's own probability of yes against no, where no adapter reads for it."""
        handle = self.engine.submit(prompts.stated_request(self.question, passage))
        first = next(e for e in handle if isinstance(e, TokenEvent))
        self.results.append(_brief(handle.result()))
        odds = {"y": 0.0, "n": 0.0}
        for option in first.alternatives:
            letter = option.text.strip().lower()[:1]
            if letter in odds:
                odds[letter] += option.probability
        total = sum(odds.values())
        return odds["y"] / total if total else 0.0

    def answer(self, best: Best, passages: Sequence[Passage]) -> Outcome:
        """The claims in the style asked for, judged; and why there is no answer, if so."""
        if self.style == "quote":
            return self._quote(best)
        if self.style == "cited":
            return self._cited(best, passages)
        return self._free(passages)

    def _quote(self, best: Best) -> Outcome:
        """Decoding limited to words of the passage: what comes out stands in it."""
        citation = self._words(best)
        if citation is None:
            return "truncated", ()
        claim = Claim(citation.text, True, self.pieces.home(citation))
        self.tell("claim", asdict(claim))
        return "", (claim,)

    def _words(self, best: Best, *, told: bool = True) -> Citation | None:
        """The words of the passage that answer, as the model quotes them; None where they found no end."""
        request = prompts.quote_request(self.question, best.passage, ADAPTER if self.adapter else None)
        found = self._generate(request, told=told).parsed
        return self._nearest(best, found["text"]) if found else None

    def _nearest(self, best: Best, text: str) -> Citation:
        """Where the quote stands; of several places the one nearest to where the reader points."""
        whole, at, places = best.passage.text, -1, []
        while (at := whole.find(text, at + 1)) >= 0:
            places.append(at)
        wanted = best.reading.start if best.reading else 0
        start = min(places, key=lambda place: abs(place - wanted))
        start, end = trimmed(whole, start, start + len(text))
        return Citation(best.passage.id, start, end, whole[start:end])

    def _cited(self, best: Best, passages: Sequence[Passage]) -> Outcome:
        ordered = [best.passage, *(p for p in passages if p.id != best.passage.id)]
        mark, words = prompts.mint(self.rng), self._words(best, told=False)
        sentences = prompts.number(ordered, mark, words)
        request = prompts.cited_request(self.question, sentences, mark, words.text if words else "")
        reply = self._generate(request).parsed
        if reply is None:
            return "truncated", ()
        if not self.gate("model", float(reply["status"] == "answered" and bool(reply["claims"])), 1.0).passed:
            return "model_not_found", ()
        by_id = {s.id: s.citation for s in sentences}
        stated = [(claim["text"].strip(), by_id[claim["cites"]]) for claim in reply["claims"]]
        return "", self._judge(list(dict.fromkeys(stated)), passages)

    def _free(self, passages: Sequence[Passage]) -> Outcome:
        reply = self._generate(prompts.free_request(self.question, passages, prompts.mint(self.rng)))
        stated = [(claim, cite(claim, passages)) for claim in split_claims(reply.text)]
        return "", self._judge(stated, passages)

    def _judge(
        self, stated: Sequence[tuple[str, Citation | None]], passages: Sequence[Passage]
    ) -> tuple[Claim, ...]:
        texts = {p.id: p.text for p in passages}
        found = []
        for text, citation in stated:
            claim = judged(text, citation, texts, self.thresholds.share)
            claim = replace(claim, citation=self.pieces.home(claim.citation) if claim.citation else None)
            self.tell("claim", asdict(claim))
            found.append(claim)
        return tuple(found)

    def _generate(self, request: Request, *, told: bool = True) -> Result:
        """Runs a request, telling its text as it comes where it is to be told. Raises `Cancelled` or what the engine raised."""
        self._go_on()
        started = time.perf_counter()
        handle = self.engine.submit(request)
        for event in handle:
            if self.stopped():
                handle.cancel()
            if told and isinstance(event, TokenEvent) and event.text:
                self.timings.setdefault("first_token_ms", 1000 * (time.perf_counter() - started))
                self.tell("token", {"text": event.text})
        result = handle.result()
        self.results.append(_brief(result))
        if result.finish_reason == "cancelled":
            raise Cancelled
        if result.finish_reason == "error":
            error = result.error or {"code": "engine_error", "message": "the engine failed"}
            raise EngineError(error["code"], error["message"])
        return result

    def _go_on(self) -> None:
        if self.stopped():
            raise Cancelled


def reading_adapter(engine: Engine) -> Adapter | None:
    """The answerability adapter of the loaded model; None where none was trained for it."""
    try:
        return engine.adapter(ADAPTER)
    except InvalidRequest:
        return None
    except ModelError as error:
        if error.code == "adapter_mismatch":
            return None
        raise


def _brief(result: Result) -> dict[str, Any]:
    """What is kept of a generation: all but the tokens' own events."""
    full = result.to_dict()
    return {
        name: full[name]
        for name in ("text", "finish_reason", "usage", "timings", "rendered_prompt", "stats", "token_ids")
    }
