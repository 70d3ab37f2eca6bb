# One image; its command chooses the process (web, worker or prepare). See docker-compose.yml.

FROM python:3.11-slim-bookworm AS packages
# Where pip finds packages, as for any pip: an index with torch's CPU build spares several GB of CUDA libraries.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_FIND_LINKS
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /srv/prefill
COPY pyproject.toml constraints.txt Makefile ./
COPY scripts/setup.py scripts/setup.py
RUN python scripts/setup.py install

FROM python:3.11-slim-bookworm
ENV PATH=/srv/prefill/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOST=0.0.0.0 \
    PORT=8000 \
    VAR_DIR=/var/lib/prefill \
    LOG_FORMAT=json
# The worker compiles engine/kernel.c for the processor it finds itself on.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /var/lib/prefill --create-home prefill
WORKDIR /srv/prefill
COPY --from=packages /srv/prefill/.venv .venv
COPY manage.py pyproject.toml ./
COPY engine engine
COPY interview interview
COPY templates templates
COPY static static
USER prefill
VOLUME /var/lib/prefill
EXPOSE 8000
CMD ["python", "-m", "interview.serve.web"]
