# syntax=docker/dockerfile:1

FROM node:24-bookworm-slim AS console
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript ./clients/typescript
COPY console ./console
RUN npm ci --ignore-scripts --no-audit --no-fund && node node_modules/vite/bin/vite.js build console

# Contains only what production needs. Node runs TypeScript without a build step.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
# Queries run on libuv's threads. The default is four.
ENV NODE_ENV=production SOTTO_HOST=0.0.0.0 SOTTO_DATA_DIR=/data UV_THREADPOOL_SIZE=16
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY routes ./routes
COPY schemas ./schemas
COPY src ./src
COPY --from=console /app/console/dist ./console/dist
RUN install --directory --owner=node --group=node --mode=0700 /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SOTTO_PORT ?? 8080}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/server.ts"]
