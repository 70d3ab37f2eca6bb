"""Own questions that come inside a set's file become the importer's own; nothing that is there is overwritten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from interview.accounts.models import User
from interview.questions.content import Content, ContentRefused, content_from
from interview.questions.models import Question
from interview.questions.own_selectors import topic_ids, uids_with_hashes
from interview.questions.own_services import new_uid, question_write


def questions_bring(
    owner: User, document: dict[str, Any], known: set[str]
) -> tuple[dict[str, Question], list[str]]:
    """The questions of the file that its items name and that aren't here yet, by their id there; and what is wrong."""
    bodies = document.get("questions", {})
    wanted = dict.fromkeys(str(row.get("question")) for row in document["items"])
    topics, present = topic_ids(), uids_with_hashes(owner)
    found: dict[str, Question] = {}
    faults: list[str] = []
    for key in wanted:
        if key in known or key not in bodies:
            continue
        try:
            content = content_from(bodies[key] if isinstance(bodies[key], dict) else {}, topics=topics)
            found[key], _ = question_write(owner=owner, content=_apart(content, present))
        except ContentRefused as refusal:
            faults.append(f"The question “{key}” in the file can't be used: {refusal}.")
    return found, faults


def _apart(content: Content, present: dict[str, str]) -> Content:
    """Under an id of its own where the importer keeps another question under the same."""
    if content.uid in present and present[content.uid] != content.hash:
        return replace(content, uid=new_uid())
    return content
