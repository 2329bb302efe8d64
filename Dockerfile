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
EXPOSE 8080
# Small young generations keep the resident memory under load at about half.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=4", "/app/latchkey.mjs"]
CMD ["controller"]
