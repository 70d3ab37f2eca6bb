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
from interview.teaching.models.sets import LARGEST_POINTS, QuestionSet, SetItem

__all__ = [
    "ASSISTANT",
    "EDITORS",
    "LARGEST_POINTS",
    "LEARNER",
    "OWNER",
    "STAFF",
    "TEACHER",
    "Classroom",
    "JoinLink",
    "Membership",
    "QuestionSet",
    "RosterEntry",
    "SetItem",
]
