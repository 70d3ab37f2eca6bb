"""A finished search or answer as its page tells it: passages with their words marked, claims tied to their sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from interview.documents.terms import terms
from interview.documents.viewing import cited_url
from interview.runs.models import Run

AROUND = 160  # characters shown before and after a quote
GATES = {
    "retrieval": ("Retrieval", "Is any passage about this at all?"),
    "stated": ("Stated", "Does the reader find that a passage states the answer?"),
    "model": ("The model", "Did the model itself say that it is not there?"),
    "support": ("Support", "Does a claim survive the check against its quote?"),
}
REASONS = {
    "no_passages": "There was no passage to look at.",
    "off_topic": "No passage is near enough to the question.",
    "not_stated": "Passages are near, but none states the answer.",
    "model_not_found": "The model read the passages and says the answer is not there.",
    "unsupported": "What the model said is not supported by what it cited.",
    "truncated": "The answer did not end within its room.",
    "cancelled": "It was stopped.",
}


@dataclass(frozen=True)
class Source:
    """A cited place."""

    number: int
    name: str
    page: str
    before: str
    text: str
    after: str
    url: str


@dataclass(frozen=True)
class ClaimView:
    """A claim of the answer with its source, or why it is struck through."""

    text: str
    supported: bool
    why: str
    source: Source | None


@dataclass(frozen=True)
class GateView:
    """A gate with its number."""

    title: str
    about: str
    value: float
    threshold: float
    passed: bool
    stopped: bool  # the free style goes on past a gate that didn't pass


@dataclass(frozen=True)
class PassageView:
    """A passage with its scores, its words of the question and where it stands."""

    number: int
    name: str
    page: str
    heading: str
    text: str
    url: str
    scores: dict[str, Any]
    stated: float | None = None
    cited: bool = False


@dataclass
class Told:
    """Everything a page of results shows."""

    answered: bool = False
    reason: str = ""
    claims: list[ClaimView] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    gates: list[GateView] = field(default_factory=list)
    passages: list[PassageView] = field(default_factory=list)
    decided_by: str = ""


def told(run: Run) -> Told | None:
    """What a finished run found; None while there is nothing to tell."""
    output = run.output
    if not output or "hits" not in output:
        return None
    view = Told(passages=_passages(output, asked(run.input.get("question", ""))))
    if run.kind == "ask":
        sources: dict[tuple[str, int, int], Source] = {}
        view.claims = [_claim(claim, output, sources) for claim in output["claims"]]
        view.sources = list(sources.values())
        view.answered = output["status"] == "answered"
        view.reason = REASONS.get(output["reason"], output["reason"])
        view.gates = [_gate(gate, output["decided_by"]) for gate in output["gates"]]
        view.decided_by = next((gate.title for gate in view.gates if gate.stopped), "")
    return view


def asked(question: str) -> dict[str, str]:
    """Term -> the question's own word, as it is shown."""
    bare = (word.strip(".,;:!?\"'()[]“”‘’") for word in question.lower().split())
    return {term: word for word in bare for term in terms(word)}


def _passages(output: dict[str, Any], words: dict[str, str]) -> list[PassageView]:
    by_place = {(s["document"], s["start"]): name for name, s in output.get("sources", {}).items()}
    stated = {passage["passage"]: passage["stated"] for passage in output.get("passages", [])}
    cited = {citation["passage"] for citation in output.get("citations", [])}
    found = []
    for number, hit in enumerate(output["hits"], 1):
        name = by_place.get((hit["document"], hit["start"]), "")
        found.append(
            PassageView(
                number=number,
                name=hit["name"],
                page=hit["page_label"],
                heading=hit["heading"],
                text=hit["text"],
                url=cited_url(hit["document"], hit["start"], hit["end"]),
                scores={**hit, "terms": [(words.get(term, term), part) for term, part in hit["terms"]]},
                stated=stated.get(name),
                cited=name in cited,
            )
        )
    return found


def _claim(
    claim: dict[str, Any], output: dict[str, Any], sources: dict[tuple[str, int, int], Source]
) -> ClaimView:
    citation = claim["citation"]
    source = None
    if citation and (place := output["sources"].get(citation["passage"])):
        start = place["start"] + citation["start"]
        end = place["start"] + citation["end"]
        key = (place["document"], start, end)
        if key not in sources:
            page = next((h["page_label"] for h in output["hits"] if h["document"] == place["document"] and h["start"] == place["start"]), "")  # fmt: skip
            around = quoted(place["text"], citation["start"], citation["end"])
            url = cited_url(place["document"], start, end)
            sources[key] = Source(len(sources) + 1, place["name"], page, *around, url)
        source = sources[key]
    return ClaimView(claim["text"], claim["supported"], claim.get("why", ""), source)


def quoted(text: str, start: int, end: int) -> tuple[str, str, str]:
    """A quote with the words round it, for reading; the ends are cut at spaces."""
    before, after = text[:start], text[end:]
    if len(before) > AROUND:
        before = "…" + before[-AROUND:].partition(" ")[2]
    if len(after) > AROUND:
        after = after[:AROUND].rpartition(" ")[0] + " …"
    return before, text[start:end], after


def _gate(gate: dict[str, Any], decided_by: str) -> GateView:
    title, about = GATES.get(gate["name"], (gate["name"], ""))
    stopped = gate["name"] == decided_by
    return GateView(title, about, gate["value"], gate["threshold"], gate["passed"], stopped)
