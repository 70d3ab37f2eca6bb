"""The one entry of the web server: `uvicorn interview.asgi:application`."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview.settings")
application = get_asgi_application()
