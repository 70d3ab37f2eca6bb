"""The worker process: `python -m interview.serve.worker`. Celery with threads, one model loaded once.

The same as `celery -A interview.celery worker --pool=threads`, but a bad setting ends in one line.
"""

from __future__ import annotations

import os
import sys
import warnings

from django.core.exceptions import ImproperlyConfigured


def _insist_on_models(**_: object) -> None:
    """End the process where loading failed: Celery only logs what a signal's handler raises."""
    from interview.runs import worker

    if worker.current().models is None:
        sys.exit("The worker's models could not be loaded; the lines above say why.")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview.settings")
    try:
        from django.conf import settings

        threads, level = settings.WORKER_THREADS, settings.LOG_LEVEL
    except ImproperlyConfigured as error:
        sys.exit(f"Can't start: {error}")
    from celery import signals
    from celery.platforms import SecurityWarning

    from interview.celery import app

    signals.worker_init.connect(_insist_on_models, weak=False)  # after the one that loads them

    # It warns of running as root since pickled messages could run code; ours are JSON.
    warnings.simplefilter("ignore", SecurityWarning)

    options = [f"--concurrency={threads}", f"--loglevel={level}", f"--hostname=prefill-{os.getpid()}@%h"]
    # Each worker stands alone: the Run table is what they share.
    options += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    app.worker_main(["--quiet", "worker", "--pool=threads", *options])


if __name__ == "__main__":
    main()
