# syntax=docker/dockerfile:1

# No stage compiles native code: images for other architectures differ only in the packages' own binaries.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS tools
WORKDIR /sotto
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript ./clients/typescript
COPY console ./console
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM tools AS console
# Some of the service's code runs in the browser as well: verifiers of the ledger, texts of bins, series over time.
COPY examples/verify_export.py ./examples/
COPY src ./src
RUN node node_modules/vite/bin/vite.js build console

FROM tools AS guide
COPY guide ./guide
COPY bench/README.md ./bench/
COPY clients/r/README.md ./clients/r/
COPY deploy/README.md ./deploy/
COPY examples/README.md examples/clinic.md examples/comparison.md ./examples/
COPY release/README.md ./release/
COPY test/attacks.md ./test/
COPY test/reliability/README.md ./test/reliability/
COPY CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
COPY docs ./docs
# The proofs are beside the code.
COPY src ./src
RUN node node_modules/vitepress/bin/vitepress.js build guide

# What production needs, and a list of it. Node runs TypeScript without a build step.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /sotto
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && npm pkg delete bin devDependencies workspaces \
  && npm sbom --sbom-format cyclonedx > sbom.cdx.json \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete

FROM node:24-bookworm-slim
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Sotto" \
  org.opencontainers.image.description="A REST service that answers statistical queries over registered datasets with differential privacy" \
  org.opencontainers.image.version=$VERSION \
  org.opencontainers.image.revision=$REVISION
# Queries run on libuv's threads. The default is four.
ENV NODE_ENV=production SOTTO_HOST=0.0.0.0 SOTTO_DATA_DIR=/data UV_THREADPOOL_SIZE=16
WORKDIR /sotto
COPY --from=dependencies /sotto/node_modules ./node_modules
COPY --from=dependencies /sotto/package.json /sotto/sbom.cdx.json ./
COPY clients/typescript/src ./clients/typescript/src
COPY routes ./routes
COPY schemas ./schemas
COPY src ./src
COPY --from=console /sotto/console/dist ./console/dist
COPY --from=guide /sotto/guide/dist ./guide/dist
RUN install --directory --owner=node --group=node --mode=0700 /data \
  && ln --symbolic ../../src/commands/sotto.ts node_modules/.bin/sotto \
  && ln --symbolic /sotto/src/commands/sotto.ts /usr/local/bin/sotto
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SOTTO_PORT ?? 8080}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/server.ts"]
