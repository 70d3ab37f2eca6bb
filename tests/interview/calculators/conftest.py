"""Hypothesis without a time limit an example: a busy machine is no failure; speed has tests of its own."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
