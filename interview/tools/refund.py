"""The refund tool: checked for its user, confirmed by them, done once, read back from the database."""

from __future__ import annotations

from typing import Any

from django.db.models import Sum

from interview.accounts.models import User
from interview.tools.models import Order, Proposal, Refund
from interview.tools.registry import Tool, ToolRefused, register

SAMPLES = (("AB-1234", "Desk lamp", 4_990), ("AB-2345", "Keyboard", 8_900), ("AB-3456", "Notebook", 1_250))


def orders_of(user: User) -> list[Order]:
    """The user's demonstration orders; made on the first look."""
    for number, item, paid in SAMPLES:
        Order.objects.get_or_create(owner=user, number=number, defaults={"item": item, "paid_cents": paid})
    return list(Order.objects.filter(owner=user).prefetch_related("refunds"))


def refunded(order: Order) -> int:
    """Cents given back so far, read from the database."""
    return Refund.objects.filter(order=order).aggregate(total=Sum("amount_cents"))["total"] or 0


def effect(user: User, arguments: dict[str, Any]) -> str:
    """What the refund would do, in words. Raises ToolRefused for an order that isn't the user's or too much money."""
    order, amount = _checked(user, arguments)
    return f"Refund {amount / 100:.2f} EUR of {order.paid_cents / 100:.2f} EUR paid for order {order.number} ({order.item})"  # fmt: skip


def _checked(user: User, arguments: dict[str, Any]) -> tuple[Order, int]:
    number, amount = arguments["order"], arguments["amount_cents"]
    order = next((order for order in orders_of(user) if order.number == number), None)
    if order is None:
        raise ToolRefused(f"you have no order {number}")
    left = order.paid_cents - refunded(order)
    if amount > left:
        raise ToolRefused(f"{amount} cents are more than the {left} cents left to refund on {number}")
    return order, amount


def carry_out(proposal: Proposal) -> dict[str, Any]:
    """Give the money back, inside the transaction that locks the proposal, and read the ledger back.

    Raises ToolRefused where that is no longer allowed, or the ledger doesn't say afterwards what it has to say.
    """
    order, amount = _checked(proposal.owner, proposal.arguments)
    order = Order.objects.select_for_update().get(pk=order.pk)
    before = refunded(order)
    if before + amount > order.paid_cents:
        raise ToolRefused("somebody refunded this order meanwhile")
    Refund.objects.create(order=order, proposal=proposal, amount_cents=amount, note=proposal.words)
    after = refunded(Order.objects.get(pk=order.pk))
    if after != before + amount:
        raise ToolRefused(f"the ledger says {after} cents and should say {before + amount}: nothing was done")
    return {
        "order": order.number,
        "refunded_cents": amount,
        "refunded_in_all_cents": after,
        "read_back": True,
    }


register(
    Tool(
        name="refund",
        title="Refund (demonstration ledger)",
        description="Proposes to refund money for one of the user's orders; the user must confirm",
        parameters={
            "type": "object",
            "properties": {
                "order": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
                "amount_cents": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
            },
            "required": ["order", "amount_cents"],
            "additionalProperties": False,
        },
        effect=effect,
        carry_out=carry_out,
        from_user=("order",),
    )
)
