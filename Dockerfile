# syntax=docker/dockerfile:1
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json ./
COPY src ./src
RUN npm run build

FROM gcr.io/distroless/nodejs24-debian12:nonroot
COPY --from=build /src/dist/latchkey.mjs /app/latchkey.mjs
COPY LICENSE /app/LICENSE
USER 65532:65532
ENV NODE_ENV=production
EXPOSE 8080 8443
# Small young generations, and full collections when the old one has grown by half: each keeps a third of the resident
# memory away, and costs no processor time that could be measured (docs/performance.md).
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=4", "--heap-growing-percent=50", "/app/latchkey.mjs"]
CMD ["controller"]
