"""Document search as a tool: the model may ask for passages, of what its user may read and nothing else.

What comes back is data. No text of it is read for calls, and what must come from the user can't come from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from interview.accounts.models import User
from interview.runs.kinds import JSON, Models
from interview.tools.registry import Tool, ToolRefused, register

if TYPE_CHECKING:
    from interview.documents.searching import Hit

MOST = 3
EXCERPT = 380  # characters of a passage; three of them stay under what a result may take
NOTHING = "the user has no documents that can be searched"


def search_documents(user: User, arguments: JSON, models: Models) -> JSON:
    """The passages nearest to a question. Raises ToolRefused where there is nothing to search."""
    from interview.documents.searching import search

    found = search(user, arguments["question"], {}, models.embedder, MOST)
    if not found.n_documents:
        raise ToolRefused(NOTHING)
    hits = [(hit, *excerpt(hit)) for hit in found.hits]
    return {
        "passages": [
            {"document": hit.name, "page": hit.page_label, "text": hit.text[start:end]}
            for hit, start, end in hits
        ],
        "places": [_place(hit, start, end) for hit, start, end in hits],
    }


def excerpt(hit: Hit) -> tuple[int, int]:
    """The part of a passage to show: whole sentences from the one that has most of the question's terms."""
    from engine.sentences import sentence_spans
    from interview.documents.terms import terms

    spans = sentence_spans(hit.text) or [(0, len(hit.text))]
    weights = dict(hit.terms)
    scores = [sum(weights.get(term, 0.0) for term in set(terms(hit.text[s:e]))) for s, e in spans]
    first = scores.index(max(scores))
    start, end = spans[first]
    for _, stop in spans[first + 1 :]:
        if stop - start <= EXCERPT:
            end = stop
    return start, min(end, start + EXCERPT)


def _place(hit: Hit, start: int, end: int) -> str:
    """The page with these words highlighted."""
    query = urlencode({"from": hit.start + start, "to": hit.start + end})
    return f"{reverse('documents:document', args=[hit.document])}?{query}"


register(
    Tool(
        name="search_documents",
        title="Document search",
        description="Finds passages in the user's documents that have to do with a question",
        parameters={
            "type": "object",
            "properties": {"question": {"type": "string", "minLength": 1, "maxLength": 200}},
            "required": ["question"],
            "additionalProperties": False,
        },
        look_up=search_documents,
    )
)
