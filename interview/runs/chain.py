"""The chain of traces: each link's hash covers the trace's hash and the link before, so that nothing can be slipped
in, taken out or changed without it showing.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from interview.runs.models import ChainEntry, Erasure, Trace

GENESIS = "0" * 64
LOCK = 0x70726566  # of the advisory lock under which links are added on PostgreSQL


def canonical_hash(value: Any) -> str:
    """sha256 of a value as canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def link_hash(sequence: int, previous: str, run: uuid.UUID, body_hash: str, created: datetime) -> str:
    """What a link's hash covers."""
    return canonical_hash([sequence, previous, str(run), body_hash, created.astimezone(UTC).isoformat()])


def chain_append(run: uuid.UUID, body_hash: str) -> ChainEntry:
    """Add a link, inside the transaction that writes the trace. Links are added one at a time."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    last = ChainEntry.objects.order_by("-sequence").first()
    sequence, previous = (last.sequence + 1, last.hash) if last else (1, GENESIS)
    created = timezone.now()
    return ChainEntry.objects.create(
        sequence=sequence,
        run=run,
        body_hash=body_hash,
        previous=previous,
        hash=link_hash(sequence, previous, run, body_hash, created),
        created=created,
    )


@dataclass
class Report:
    """What verifying found. `head` is the last link's hash: kept elsewhere, it proves that nothing was cut off."""

    links: int = 0
    traces: int = 0
    erased: dict[str, int] = field(default_factory=dict)
    head: str = GENESIS
    faults: list[str] = field(default_factory=list)


def chain_verify(known: str | None = None) -> Report:
    """Walk the chain from the first link and compare every trace that is still there with its hash.

    `known` is a head noted earlier: a chain without it was cut off or written anew.
    """
    report = Report()
    seen = known is None
    for entry, trace, erasure in _links():
        report.links += 1
        report.faults += [f"link {entry.sequence}: {fault}" for fault in _link_faults(report, entry)]
        report.head = entry.hash
        seen = seen or entry.hash == known
        if trace is not None:
            report.traces += 1
            report.faults += [f"link {entry.sequence}: {fault}" for fault in _trace_faults(entry, trace)]
        elif erasure is not None:
            report.erased[erasure.reason] = report.erased.get(erasure.reason, 0) + 1
        else:
            report.faults.append(f"link {entry.sequence}: the trace is gone without a reason")
    if not seen:
        report.faults.append(f"no link has the hash {known}: links were cut off or written anew")
    return report


def _links() -> Iterator[tuple[ChainEntry, Trace | None, Erasure | None]]:
    links = ChainEntry.objects.order_by("sequence").select_related("trace", "erasure")
    for entry in links.iterator(chunk_size=200):
        yield entry, getattr(entry, "trace", None), getattr(entry, "erasure", None)


def _link_faults(report: Report, entry: ChainEntry) -> Iterator[str]:
    if entry.sequence != report.links:
        yield f"{report.links} was expected here"
    if entry.previous != report.head:
        yield "it doesn't continue the link before"
    if entry.hash != link_hash(entry.sequence, entry.previous, entry.run, entry.body_hash, entry.created):
        yield "its hash doesn't cover what it says"


def _trace_faults(entry: ChainEntry, trace: Trace) -> Iterator[str]:
    if canonical_hash(trace.body) != entry.body_hash or trace.hash != entry.body_hash:
        yield "the trace was changed after it was written"
    if trace.run_id != entry.run:
        yield "the trace belongs to another run"
