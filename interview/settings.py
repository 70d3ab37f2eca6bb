"""All settings, read once from the environment. A bad value stops the start and names the variable.

`.env.example` lists every variable; docs/operations.md explains the modes.
"""

from __future__ import annotations

from pathlib import Path

from interview import environment as env

BASE_DIR = Path(__file__).resolve().parent.parent
env.read_file(BASE_DIR / ".env")

VAR_DIR = env.folder("VAR_DIR", BASE_DIR / "var", make=True)

# --- Mode -------------------------------------------------------------------------------------
DATABASES = {"default": env.database("DATABASE_URL", VAR_DIR)}
EMBEDDED_VALKEY = not env.text("REDIS_URL", "")
REDIS_URL = env.redis_url("REDIS_URL", VAR_DIR)
EMBEDDED = EMBEDDED_VALKEY and not env.text("DATABASE_URL", "")
DEBUG = env.boolean("DEBUG", False)
HTTPS = env.boolean("HTTPS", not DEBUG)
SECRET_KEY = env.secret_key("SECRET_KEY", VAR_DIR, may_generate=EMBEDDED or DEBUG)
SECRET_KEY_FALLBACKS = env.secret_keys("SECRET_KEY_FALLBACKS")
HOST = env.address("HOST", "127.0.0.1")
PORT = env.integer("PORT", 8000, least=0, most=65535)
URL_HOST = f"[{HOST}]" if ":" in HOST else HOST
ALLOWED_HOSTS = env.host_names("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]", URL_HOST])
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS", [])
SITE_URL = env.site_url("SITE_URL", ALLOWED_HOSTS, https=HTTPS, local=f"{URL_HOST}:{PORT}")
# Whose X-Forwarded-* headers the web process believes (interview/serve/web.py).
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES", [])
DEMO = env.boolean("DEMO", False)
DEMO_PASSWORD = env.secret("DEMO_PASSWORD", least=10)

# --- Django -----------------------------------------------------------------------------------
INSTALLED_APPS = [
    "interview.accounts",
    "interview.runs",
    "interview.questions",
    "interview.calculators",
    "interview.practice",
    "interview.teaching",
    "interview.lti",
    "interview.webhooks",
    "interview.playground",
    "interview.documents",
    "interview.openai_api",
    "interview.tools",
    "interview.ui",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",
    "django_htmx",
    "template_partials",
    "django_structlog",
    "csp",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "interview.api_errors.ApiErrorMiddleware",
    "interview.accounts.middleware.BearerTokenMiddleware",
    "interview.accounts.middleware.TimeZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
]

ROOT_URLCONF = "interview.urls"
ASGI_APPLICATION = "interview.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "interview.ui.context.site",
            ],
        },
    }
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "interview.cache.ForgivingRedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "prefill",
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 2},
    }
}
# Sessions live in the database: a lost broker must never sign anybody out or lose a draft.
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 90
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500

# --- Static files -----------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = VAR_DIR / "media"
STORAGES = {
    "default": env.storage("DOCUMENT_STORAGE", MEDIA_ROOT),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "servestatic.storage.CompressedManifestStaticFilesStorage"
    },
}
SERVESTATIC_USE_FINDERS = DEBUG
SERVESTATIC_AUTOREFRESH = DEBUG

# --- Security ---------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
EMBED_ANCESTORS = env.origins("EMBED_ANCESTORS", [])
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "interview.ui.errors.csrf_failure"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz/"]
SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS

# --- E-mail -----------------------------------------------------------------------------------
vars().update(env.email("EMAIL_URL", "consolemail://"))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.mail_address("DEFAULT_FROM_EMAIL", "Prefill <prefill@localhost>")

# --- The queue (docs/runs.md) -----------------------------------------------------------------
RUN_LEASE_SECONDS = env.integer("RUN_LEASE_SECONDS", 20, least=5, most=600)
RUN_TIME_LIMIT_SECONDS = env.integer("RUN_TIME_LIMIT_SECONDS", 600, least=10, most=86_400)
RUN_QUEUE_LIMIT = env.integer("RUN_QUEUE_LIMIT", 8, least=1, most=10_000)
RUN_PARALLEL_LIMIT = env.integer("RUN_PARALLEL_LIMIT", 8, least=1, most=1_000)
RUN_TOKENS_PER_DAY = env.integer("RUN_TOKENS_PER_DAY", 1_000_000, least=0, most=2_000_000_000)
RUN_EVENTS_TTL_SECONDS = 3600
TRACE_RETENTION_DAYS = env.integer("TRACE_RETENTION_DAYS", 0, least=0, most=36_500)
TRACE_TEXT = env.choice("TRACE_TEXT", "keep", ["keep", "hash"])
PRICE_INPUT_USD = env.decimal("PRICE_INPUT_USD", 0.0, least=0, most=100_000)
PRICE_OUTPUT_USD = env.decimal("PRICE_OUTPUT_USD", 0.0, least=0, most=100_000)
RUN_REAPER_SECONDS = 2
WORKER_THREADS = env.integer("WORKER_THREADS", 16, least=1, most=256)

CELERY_BROKER_URL = env.celery_broker(REDIS_URL)
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = WORKER_THREADS
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_DEFAULT_QUEUE = "prefill"
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Above the time limit, or a live job would be delivered twice; the two restore options make a
    # killed worker's message come back soon after it, not 90 s later.
    "visibility_timeout": RUN_TIME_LIMIT_SECONDS + 60,
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    "socket_connect_timeout": 1,
    "socket_timeout": 10,
    "socket_keepalive": True,
    # A page that wakes a worker while the broker is away must not wait for it: the reaper wakes it later.
    "max_retries": 1,
    "interval_start": 0.1,
    "interval_step": 0.1,
    "interval_max": 0.2,
}

# --- Documents (docs/grounding.md) -------------------------------------------------------------
DOCUMENT_MAX_MB = env.integer("DOCUMENT_MAX_MB", 20, least=1, most=1000)
DOCUMENTS_PER_USER = env.integer("DOCUMENTS_PER_USER", 200, least=1, most=100_000)
DOCUMENTS_USER_MB = env.integer("DOCUMENTS_USER_MB", 500, least=1, most=1_000_000)
DOCUMENTS_PER_COLLECTION = env.integer("DOCUMENTS_PER_COLLECTION", 100, least=1, most=10_000)
DOCUMENT_PARSE_SECONDS = env.integer("DOCUMENT_PARSE_SECONDS", 60, least=1, most=3600)
DOCUMENT_PARSE_MEMORY_MB = env.integer("DOCUMENT_PARSE_MEMORY_MB", 512, least=128, most=65_536)
FILE_UPLOAD_HANDLERS = [
    "interview.documents.uploading.SizeLimit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# --- Learning platforms (docs/lti.md) ----------------------------------------------------------
LTI_HOSTS = env.host_names("LTI_HOSTS", [])

# --- Webhooks (docs/webhooks.md) -----------------------------------------------------------------
WEBHOOK_PRIVATE_HOSTS = env.host_names("WEBHOOK_PRIVATE_HOSTS", [])

# --- The engine -------------------------------------------------------------------------------
MODELS_DIR = env.folder("MODELS_DIR", VAR_DIR / "models")
ENGINE_URL = env.http_url("ENGINE_URL", "")
ENGINE_KEY = env.secret("ENGINE_KEY", least=8)
ENGINE_MODEL = env.model("ENGINE_MODEL", "smollm2-135m-instruct")
ENGINE_THREADS = env.integer("ENGINE_THREADS", 0, least=0, most=1024)
# Read by the engine itself (engine/kernel.py); here it is only checked.
ENGINE_KERNEL = env.choice("ENGINE_KERNEL", "auto", ["auto", "off"])
ENGINE_CONTEXT = env.integer("ENGINE_CONTEXT", 0, least=0, most=1_048_576)

# --- Logs -------------------------------------------------------------------------------------
LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR"])
LOG_FORMAT = env.choice("LOG_FORMAT", "console", ["console", "json"])
METRICS_TOKEN = env.secret("METRICS_TOKEN", least=16)
LOGGING_CONFIG = "interview.logs.configure"
LOGGING = {"level": LOG_LEVEL, "format": LOG_FORMAT}
SILENCED_SYSTEM_CHECKS: list[str] = []
