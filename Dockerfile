# One image for the web server and for the worker; docker-compose.yml runs both.
FROM python:3.11-slim

# Where pip looks for packages, if not in its own place. Used while building only.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL

# The two steps of `make install`. The requirements come first: changed code does not fetch torch
# again.
WORKDIR /app
COPY requirements.txt .
RUN python -m pip install --no-cache-dir --disable-pip-version-check -r requirements.txt
COPY pyproject.toml MANIFEST.in README.md LICENSE ./
COPY model model
COPY uherding_backend uherding_backend
RUN python -m pip install --no-cache-dir --disable-pip-version-check --no-deps .

# Not root. A new named volume takes over this owner, so that the user can write to it; Label Studio
# tokens may be in the database, so that nobody else can read it.
RUN useradd --system --uid 10001 --no-create-home uherding \
    && install --directory --owner=uherding --mode=0700 /data
USER uherding
VOLUME /data

# Logs appear at once, not when a buffer is full.
ENV UHERDING_DATA_DIR=/data \
    PYTHONUNBUFFERED=1

EXPOSE 9090
# The image has no curl. /health needs no password.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9090/health', timeout=4)"]

# Without BASIC_AUTH_USER and BASIC_AUTH_PASS it listens inside the container only.
ENTRYPOINT ["uherding"]
CMD ["serve"]
