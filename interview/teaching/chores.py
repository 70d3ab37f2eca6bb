"""What the room does by the clock, without anybody opening a page."""

from __future__ import annotations

from interview.runs.chores import register
from interview.teaching.services.notices import assignments_announce, digests_send
from interview.teaching.services.retention import retention_apply
from interview.teaching.services.work import attempts_settle

DAY = 24 * 3600

register("teaching-settle", 15, attempts_settle)
register("teaching-announce", 300, assignments_announce)
register("teaching-digests", DAY, digests_send)
register("teaching-retention", DAY, retention_apply)
