"""Tags about learning platforms: `{% load lti %}`."""

from __future__ import annotations

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def lti_on() -> bool:
    """Whether platforms may launch into this site."""
    return bool(settings.LTI_HOSTS)
