"""What this room runs in the worker."""

from __future__ import annotations

from interview.documents.eval_services import evaluation_ended
from interview.documents.indexing import index, index_ended
from interview.documents.requests import checked_ask, checked_search
from interview.runs.kinds import JSON, Job, Kind, register


def search(job: Job) -> JSON:
    """Search in the worker, where the libraries for it are loaded."""
    from interview.documents.asking import run_search

    return run_search(job)


def ask(job: Job) -> JSON:
    """Answer from documents, or abstain."""
    from interview.documents.asking import run_ask

    return run_ask(job)


def evaluate(job: Job) -> JSON:
    """Put a question set to the model, grounded and not."""
    from interview.documents.evaluating import run_evaluation

    return run_evaluation(job)


# Documents have limits of their own and wait their turn outside the queue (services.documents_dispatch).
register(
    Kind(
        name="document",
        title="Read a document",
        execute=index,
        ended=index_ended,
        counts_against_quota=False,
        page="documents:document_list",
    )
)
register(
    Kind(
        name="search",
        title="Search documents",
        execute=search,
        check=checked_search,
        page="documents:search",
    )
)
register(
    Kind(
        name="ask",
        title="Ask documents",
        execute=ask,
        check=checked_ask,
        page="documents:ask",
        looks_inside=True,
    )
)
register(
    Kind(
        name="evaluate",
        title="Evaluate answers",
        execute=evaluate,
        ended=evaluation_ended,
        page="documents:evaluation_list",
        looks_inside=True,
    )
)
