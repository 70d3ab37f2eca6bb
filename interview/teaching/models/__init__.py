"""Rows of the teaching room, a module per idea."""

from interview.teaching.models.classes import (
    ASSISTANT,
    EDITORS,
    LEARNER,
    OWNER,
    STAFF,
    TEACHER,
    Classroom,
    JoinLink,
    Membership,
    RosterEntry,
)

__all__ = [
    "ASSISTANT",
    "EDITORS",
    "LEARNER",
    "OWNER",
    "STAFF",
    "TEACHER",
    "Classroom",
    "JoinLink",
    "Membership",
    "RosterEntry",
]
