"""What every maker of an owned row writes into it, so that tests can find it in an export."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Model

from interview.accounts.models import User
from interview.questions.models import Question

Maker = Callable[[User, Question], Model]
MARK = "only its owner wrote this"
