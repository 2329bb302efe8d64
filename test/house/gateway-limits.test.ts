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
const live = ({ all, user, key }: InFlightCounts): readonly string[] => [all, user, key].map(count);
const body = ({ all, user, key }: Required<ShareLimits>): readonly string[] =>
  [all, user, key].map(mib);
const pace = ({ silentMs, bytesPerMs }: Pace): string =>
  `${seconds(silentMs)} of silence; ${seconds(silentMs)} and ${(bytesPerMs * 1000) / 1024} KiB/s`;

test.each<[string, readonly string[]]>([
  ["connections", [count(connectionLimits.all)]],
  ["connections without an accepted credential", [count(connectionLimits.unauthenticated)]],
  ["ordinary requests in progress", live(inFlightLimits.answers)],
  ["watches, followed logs, proxied answers, `exec`", live(inFlightLimits.streams)],
  ["ordinary requests at the API server", [count(mostAnswers)]],
  ["the same at a connected cluster", [count(clusterAnswers)]],
  [`bodies that are read whole, up to ${smallBodyBytes / 1024} KiB`, body(bodyLimits.small)],
  ["larger bodies that are read whole", body(bodyLimits.large)],
  ["answers that their clients do not read", [count(frontLimits.unread)]],
  ["TLS handshakes in progress", [count(mostHandshakes)]],
  ["unknown credentials that wait", [count(mostWaiting)]],
  ["large answers of connected clusters", [count(mostLargeAnswers)]],
  ["TLS handshake", [seconds(frontLimits.handshakeMs)]],
  [
    "head of a request",
    [
      `${seconds(frontLimits.headMs)}; ${frontLimits.headBytes / 1024} KiB, ${frontLimits.fields} fields`,
    ],
  ],
  [
    "path and query",
    [
      `${count(readingBounds.requestTarget.bytes)} characters, ${count(readingBounds.requestTarget.values)} parameters`,
    ],
  ],
  ["sub-protocols of a WebSocket", [count(mostSubprotocols)]],
  ["body of a request", [`${pace(bodyPace)}; ${seconds(bodyPace.mostMs)}`]],
  ["body of a request for a backend", [`${seconds(streamPace.silentMs)} of silence`]],
  ["a body of Latchkey's kinds", [mib(readingBounds.bodyOfOwnKind.bytes)]],
  ["idle connection", [seconds(frontLimits.idleMs)]],
  ["HTTP/2 connection without a first request", [seconds(frontLimits.firstStreamMs)]],
  [
    "HTTP/2: requests in progress; PING and SETTINGS frames",
    [`${frontLimits.streams}; ${frontLimits.controlFrames} in ${seconds(frontLimits.controlMs)}`],
  ],
  ["HTTP/1.1: requests that wait for the answer to an earlier one", [count(frontLimits.pipelined)]],
  ["answer of the API server: until its head", [seconds(headTimeoutMs)]],
  ["ordinary answer that its client reads", [pace(answerPace)]],
  ["output of `exec` that its client reads after the end", [seconds(endedMs)]],
])("docs/gateway.md states the limit of %s", (what, cells) => {
  expect(rows.get(what)?.slice(0, cells.length)).toEqual(cells);
});

test("docs/gateway.md states how long a request waits, and what is kept", () => {
  for (const what of ["ordinary requests at the API server", "larger bodies that are read whole"])
    expect(rows.get(what)?.[4]).toContain(`waits ${seconds(longestWaitMs)}`);
  const documents = rows.get("discovery document of a connected cluster") ?? [];
  expect(documents[0]).toContain(mib(readingBounds.clusterDocument.bytes));
  expect(rows.get("connections")?.[3]).toContain(count(connectionLimits.reserved));
});
