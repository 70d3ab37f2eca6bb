"""Rows of the teaching room, a module per idea."""

from interview.teaching.models.assignments import (
    AFTER_DUE,
    BEST,
    FIXED,
    FULL,
    LATEST,
    POINTS,
    RANDOM,
    AssignedQuestion,
    Assignment,
    Attachment,
    Extension,
)
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
from interview.teaching.models.records import (
    AccessEntry,
    Dispute,
    NoticeChoice,
    Notification,
    Override,
    Regrade,
)
from interview.teaching.models.sets import (
    LARGEST_POINTS,
    QuestionSet,
    SetItem,
)
from interview.teaching.models.work import (
    Answer,
    Submission,
)

__all__ = [
    "AFTER_DUE",
    "ASSISTANT",
    "BEST",
    "EDITORS",
    "FIXED",
    "FULL",
    "LARGEST_POINTS",
    "LATEST",
    "LEARNER",
    "OWNER",
    "POINTS",
    "RANDOM",
    "STAFF",
    "TEACHER",
    "AccessEntry",
    "Answer",
    "AssignedQuestion",
    "Assignment",
    "Attachment",
    "Classroom",
    "Dispute",
    "Extension",
    "JoinLink",
    "Membership",
    "NoticeChoice",
    "Notification",
    "Override",
    "QuestionSet",
    "Regrade",
    "RosterEntry",
    "SetItem",
    "Submission",
]
