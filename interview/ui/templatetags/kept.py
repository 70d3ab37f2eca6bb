"""`{% kept … %}`: a part of a page that says the same for the same values, rendered once a process."""

from __future__ import annotations

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString

register = template.Library()

# Each kept part is some kilobytes; a key that takes many values isn't worth keeping.
MOST = 200


class KeptNode(template.Node):
    """Holds what its part came to, by the values it was given."""

    def __init__(self, nodelist: NodeList, values: list[FilterExpression]) -> None:
        self.nodelist, self.values = nodelist, values
        self._held: dict[tuple[object, ...], SafeString] = {}

    def render(self, context: Context) -> SafeString:
        """What was rendered for these values before, or now."""
        key = tuple(value.resolve(context) for value in self.values)
        held = self._held.get(key)
        if held is None:
            if len(self._held) >= MOST:
                self._held.clear()
            held = self._held[key] = self.nodelist.render(context)
        return held


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """`{% kept room user.is_authenticated %}…{% endkept %}`: the values name all that the part depends on."""
    values = [parser.compile_filter(bit) for bit in token.split_contents()[1:]]
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode(nodelist, values)
