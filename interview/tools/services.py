"""Confirming and declining what a model proposed."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from django.utils import timezone

from interview.accounts.models import User
from interview.runs.models import Run
from interview.runs.services import run_create
from interview.tools.dispose import ANSWERED, REFUSED, Call
from interview.tools.models import DECLINED, DONE, FAILED, PROPOSED, Proposal
from interview.tools.registry import ToolRefused, find


def proposal_confirm(*, owner: User, proposal_id: uuid.UUID) -> Proposal:
    """Carry a proposal out, once: confirming again changes nothing and gives the same result. Raises Proposal.DoesNotExist.

    What the tool refuses is undone whole, and the proposal says why it failed.
    """
    with transaction.atomic():
        proposal = (
            Proposal.objects.select_for_update().select_related("owner").get(pk=proposal_id, owner=owner)
        )
        if proposal.state != PROPOSED:
            return proposal
        state, result = _carried_out(proposal)
        proposal.state, proposal.result, proposal.decided = state, result, timezone.now()
        proposal.save(update_fields=["state", "result", "decided"])
        return proposal


def _carried_out(proposal: Proposal) -> tuple[str, dict[str, Any]]:
    tool = find(proposal.tool)
    if tool is None or tool.carry_out is None:
        return FAILED, {"error": "this tool isn't there any more"}
    try:
        with transaction.atomic():
            return DONE, tool.carry_out(proposal)
    except ToolRefused as refusal:
        return FAILED, {"error": str(refusal)}


@transaction.atomic
def proposal_decline(*, owner: User, proposal_id: uuid.UUID) -> Proposal:
    """Decide against a proposal; one that was decided stays as it is. Raises Proposal.DoesNotExist."""
    proposal = Proposal.objects.select_for_update().get(pk=proposal_id, owner=owner)
    if proposal.state == PROPOSED:
        proposal.state, proposal.decided = DECLINED, timezone.now()
        proposal.result = {"error": "the user declined"}
        proposal.save(update_fields=["state", "result", "decided"])
    return proposal


def conversation_continue(proposal: Proposal) -> Run:
    """The run that goes on after a decision; asking again gives the same run. Raises QuotaExceeded."""
    run = proposal.run
    output = run.output or {}
    if "messages" not in output:
        return run  # its texts were erased: there is no conversation to go on with
    tool = find(proposal.tool)
    call = Call(
        proposal.tool,
        proposal.arguments,
        ANSWERED if proposal.state == DONE else REFUSED,
        result=proposal.result if proposal.state == DONE else None,
        words=proposal.words if proposal.state == DONE else (proposal.result or {}).get("error", ""),
        version=tool.version if tool else None,
    )
    earlier = [made["call"] for made in output.get("rounds", []) if made["call"]][:-1]
    return run_create(
        owner=proposal.owner,
        kind="tools",
        input={
            **run.input,
            "messages": [*output["messages"], {"role": "tool", "content": call.told()}],
            "earlier": [*run.input.get("earlier", []), *earlier, call.to_dict()],
        },
        idempotency_key=f"decided-{proposal.pk.hex}",
        origin={"continues": str(run.pk), "proposal": str(proposal.pk), "decision": proposal.state},
    )
