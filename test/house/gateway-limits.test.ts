import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readingBounds } from "../../src/api/reading-bounds.ts";
import { mostSubprotocols } from "../../src/domain/gateway/bearer.ts";
import { answerPace, bodyPace, type Pace, streamPace } from "../../src/domain/gateway/body-pace.ts";
import { type InFlightCounts, inFlightLimits } from "../../src/domain/gateway/in-flight-limits.ts";
import { bodyLimits, smallBodyBytes } from "../../src/gateway/own-body.ts";
import { clusterAnswers, mostLargeAnswers } from "../../src/gateway/connect-cluster.ts";
import { headTimeoutMs } from "../../src/gateway/forward-upgrade.ts";
import { mostAnswers } from "../../src/gateway/gateway-process.ts";
import { endedMs } from "../../src/gateway/upgrade-answer.ts";
import { mostWaiting } from "../../src/gateway/token-authenticator.ts";
import { longestWaitMs } from "../../src/kube/forward/forwarder.ts";
import { connectionLimits } from "../../src/runtime/connection-pool.ts";
import type { ShareLimits } from "../../src/runtime/fair-shares.ts";
import { frontLimits } from "../../src/runtime/server-options.ts";
import { mostHandshakes } from "../../src/runtime/server.ts";

const page = readFileSync(new URL("../../docs/gateway.md", import.meta.url), "utf8");
const [, section = ""] = page.split("\n### Limits of a replica\n");
/** The cells of each row, by the text of its first one. */
const rows = new Map(
  [...(section.split("\n## ")[0] ?? "").matchAll(/^\| (.+?) *\|(.*)\|$/gm)].map(
    ([, what = "", rest = ""]) => [what, rest.split("|").map((cell) => cell.trim())] as const,
  ),
);

const mib = (bytes: number): string => `${bytes / 1_048_576} MiB`;
const count = (value: number): string => value.toLocaleString("en-US");
const seconds = (ms: number): string => `${ms / 1000} s`;
const live = ({ all, user, key }: InFlightCounts): string =>
  `${count(all)}; ${count(user)} of a user; ${count(key)} of a key`;
const body = ({ all, user, key }: Required<ShareLimits>): string =>
  `${mib(all)}, ${mib(user)} of a user, ${mib(key)} of a key`;
const pace = ({ silentMs, bytesPerMs }: Pace): string =>
  `${seconds(silentMs)} of silence, ${seconds(silentMs)} + ${(bytesPerMs * 1000) / 1024} KiB/s`;

test.each<[string, string]>([
  [
    "connections; without an accepted credential",
    `${count(connectionLimits.all)}, ${count(connectionLimits.reserved)} kept for those without; ${count(connectionLimits.unauthenticated)}`,
  ],
  ["ordinary requests in progress", live(inFlightLimits.answers)],
  ["watches, followed logs, proxied answers, `exec`", live(inFlightLimits.streams)],
  [
    "ordinary requests at the API server; at a connected cluster",
    `${count(mostAnswers)}; ${count(clusterAnswers)}`,
  ],
  [
    `bodies that are read whole: up to ${smallBodyBytes / 1024} KiB; larger`,
    `${body(bodyLimits.small)}; ${body(bodyLimits.large)}`,
  ],
  [
    "a body of Latchkey's kinds; a question about own rights",
    `${mib(readingBounds.bodyOfOwnKind.bytes)}; ${readingBounds.selfReview.bytes / 1024} KiB`,
  ],
  [
    "body of a request; for a backend",
    `${pace(bodyPace)}, ${seconds(bodyPace.mostMs)}; ${seconds(streamPace.silentMs)} of silence`,
  ],
  [
    "head of a request",
    `${seconds(frontLimits.headMs)}; ${frontLimits.headBytes / 1024} KiB, ${frontLimits.fields} fields`,
  ],
  [
    "path and query",
    `${count(readingBounds.requestTarget.bytes)} characters, ${count(readingBounds.requestTarget.values)} parameters`,
  ],
  ["sub-protocols of a WebSocket", count(mostSubprotocols)],
  [
    "answer that its client reads; `exec` after its end",
    `${pace(answerPace)}; ${seconds(endedMs)}`,
  ],
  [
    "TLS handshake; HTTP/2 without a request; idle",
    [frontLimits.handshakeMs, frontLimits.firstStreamMs, frontLimits.idleMs]
      .map(seconds)
      .join("; "),
  ],
  [
    "HTTP/2: requests; PING and SETTINGS frames; HTTP/1.1: pipelined",
    `${frontLimits.streams}; ${frontLimits.controlFrames} in ${seconds(frontLimits.controlMs)}; ${count(frontLimits.pipelined)}`,
  ],
  [
    "handshakes; unknown credentials; answers not read",
    [mostHandshakes, mostWaiting, frontLimits.unread].map(count).join("; "),
  ],
])("docs/gateway.md states the limit of %s", (what, limit) => {
  expect(rows.get(what)?.[0]).toBe(limit);
});

test("docs/gateway.md states how long a request waits, and what is read of a cluster", () => {
  for (const what of [
    "ordinary requests at the API server; at a connected cluster",
    `bodies that are read whole: up to ${smallBodyBytes / 1024} KiB; larger`,
  ])
    expect(rows.get(what)?.[1]).toContain(`waits ${seconds(longestWaitMs)}`);
  expect(rows.get("answer of the API server: head; between two parts")?.[0]).toMatch(
    new RegExp(`^${seconds(headTimeoutMs)};`),
  );
  const ofClusters = rows.get("connected clusters: large answers; discovery document")?.[0] ?? "";
  expect(ofClusters).toMatch(new RegExp(`^${mostLargeAnswers},`));
  expect(ofClusters).toContain(mib(readingBounds.clusterDocument.bytes));
});
