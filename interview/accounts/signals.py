"""What other rooms may hear about accounts."""

from __future__ import annotations

from django.dispatch import Signal

# Sent inside the transaction, before a guest's rows move to an account: guest=User, user=User.
guest_adopted = Signal()

# Sent inside the transaction, before everything an account or guest owns is deleted: user=User.
account_leaving = Signal()
