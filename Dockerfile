# Debian 13 has glibc 2.41. The binary of uWebSockets.js for Node 24 needs 2.38 or later. No digest: none was checked, and a
# tag gets security updates. To pin both images, replace the tags by what `docker buildx imagetools inspect` prints for them.
FROM node:24-trixie-slim AS build
WORKDIR /app
# Without compare/ and load/, npm leaves out these workspaces and what only they use.
COPY package.json package-lock.json .npmrc ./
# The packages of the chat service, which users of the library do not install, and the one for NATS.
COPY deploy/service deploy/service
COPY nats nats
RUN npm ci
COPY tsconfig.json tsconfig.build.json bundle.js ./
COPY src src
RUN npx tsc -p tsconfig.build.json && node bundle.js && npx tsc -p nats
# What runs: no development dependencies. npm has installed the binary of this platform alone.
RUN npm prune --omit=dev \
  && test -n "$(ls node_modules/@uwsjs)" \
  && rm -rf node_modules/@libsql/*-musl \
  && rm node_modules/gjallar-service node_modules/gjallar-nats \
  && mv nats node_modules/gjallar-nats \
  && mkdir data

# Node.js alone: the server needs no npm, corepack or Yarn.
FROM debian:trixie-slim
COPY --from=build /usr/local/bin/node /usr/local/bin/node
RUN useradd --uid 1000 --user-group --no-create-home --shell /usr/sbin/nologin node
ENV NODE_ENV=production DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build --chown=node:node /app/data /data
COPY package.json ./
COPY public public
USER node
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
# The OCI format has no health checks: a builder such as Buildah keeps this one with --format docker. deploy/ has checks of
# its own. A certificate is for the name that clients use, which is not this address.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s CMD ["node", "-e", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; fetch(`http${process.env.TLS_KEY ? 's' : ''}://127.0.0.1:${process.env.PORT || 3000}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
