# The image of one Kataribe service. Every package is pinned by hash; the running container has no build tool.
FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements-build.lock requirements-runtime.lock ./
# Packages first: this layer stays as long as the lock does, whatever changes in the source.
RUN python -m venv /opt/kataribe \
 && /opt/kataribe/bin/pip install --require-hashes -r requirements-runtime.lock \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --require-hashes -r requirements-build.lock
COPY . .
RUN /opt/build/bin/hatchling build -t wheel -d /dist \
 && /opt/kataribe/bin/pip install --no-deps --no-index /dist/*.whl \
 && /opt/kataribe/bin/pip check \
 && /opt/kataribe/bin/pip uninstall --yes pip

FROM python:3.13-slim
# A fixed uid, so that the owner of a volume's files stays the same from image to image.
RUN groupadd --gid 10001 kataribe \
 && useradd --uid 10001 --gid kataribe --no-create-home --home-dir /data --shell /usr/sbin/nologin kataribe \
 && install --directory --owner kataribe --group kataribe /data
COPY --from=build /opt/kataribe /opt/kataribe
ENV PATH=/opt/kataribe/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 \
    GRAPHITI_TELEMETRY_ENABLED=false \
    KATARIBE_DATA_DIR=/data \
    KATARIBE_PORT=8010
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8010
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=6 \
  CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['KATARIBE_PORT'] + '/healthz', timeout=3)"]
# It listens for whoever reaches the container, and therefore only starts with a key: docker run --env KATARIBE_API_KEY=…
ENTRYPOINT ["kataribe"]
CMD ["serve", "--host", "0.0.0.0"]
