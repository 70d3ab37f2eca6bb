"""What this room runs in the worker."""

from __future__ import annotations

from interview.documents.indexing import index, index_ended
from interview.runs.kinds import Kind, register

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
