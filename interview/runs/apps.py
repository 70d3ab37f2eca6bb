from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RunsConfig(AppConfig):
    name = "interview.runs"
    label = "runs"

    def ready(self) -> None:
        from interview.accounts.signals import account_leaving
        from interview.runs import guards, retention

        post_migrate.connect(guards.install, sender=self, dispatch_uid="runs.guards")
        account_leaving.connect(retention.account_leaving, dispatch_uid="runs.retention")
