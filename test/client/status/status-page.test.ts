import { describe, expect, test } from "vitest";
import { answerPage, type PageRequest } from "../../../src/client/status/status-page.ts";
import { readStatus } from "../../../src/client/status/status-read.ts";
import type { StatusView } from "../../../src/client/status/status-source.ts";
import { newPageToken } from "../../../src/tokens/random-text.ts";
import { TestClock } from "../../support/test-clock.ts";
import { fakeStatusCluster } from "./fake-status-cluster.ts";
import { sampleReport } from "./status-sample.ts";

const host = "127.0.0.1:8123";
const token = newPageToken();
const view: StatusView = { report: sampleReport, readAt: 0, problem: undefined };

function ask(
  { method = "GET", target = "/", headers = {} }: Partial<PageRequest> = {},
  shown: StatusView = view,
) {
  let reads = 0;
  const deps = {
    host,
    token,
    title: "namespace team-a",
    intervalMs: 5000,
    view: async () => {
      reads += 1;
      return shown;
    },
  };
  return answerPage({ method, target, headers: { host, ...headers } }, deps).then((response) => ({
    ...response,
    reads,
  }));
}

const data = { target: "/api/status", headers: { authorization: `Bearer ${token}` } };
const paths = ["/", "/status.css", "/status.js", "/icon.svg", "/api/status"];

describe("the page answers", () => {
  test.each([
    ["/", "text/html; charset=utf-8"],
    ["/status.css", "text/css; charset=utf-8"],
    ["/status.js", "text/javascript; charset=utf-8"],
    ["/icon.svg", "image/svg+xml"],
  ])("GET %s without the token, and without reading a report", async (target, type) => {
    expect(await ask({ target })).toMatchObject({
      status: 200,
      reads: 0,
      headers: { "content-type": type },
    });
  });

  test("its own data request", async () => {
    const headers = { ...data.headers, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
    const { status, body } = await ask({ ...data, headers });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      title: "namespace team-a",
      readAt: 0,
      report: { sharedSecrets: [{ object: { namespace: "team-a", name: "database" } }, {}, {}] },
    });
  });

  test("with the last report and the problem while the API server is away", async () => {
    const { body } = await ask(data, { ...view, problem: "the API server does not answer" });
    expect(JSON.parse(body)).toMatchObject({
      problem: "the API server does not answer",
      report: { tokens: [{ object: { name: "laptop" } }] },
    });
  });
});

describe("the page refuses, without reading a report,", () => {
  test.each<[string, Partial<PageRequest>, number]>([
    ["another Host, as in DNS rebinding", { headers: { host: "evil.example:8123" } }, 421],
    ["another port in Host", { headers: { host: "127.0.0.1:80" } }, 421],
    ["localhost, which another user may resolve", { headers: { host: "localhost:8123" } }, 421],
    ["no Host", { headers: { host: undefined } }, 421],
    ["another Origin", { headers: { origin: "https://evil.example" } }, 403],
    ["a page without an Origin of its own", { headers: { origin: "null" } }, 403],
    ["another page by Sec-Fetch-Site", { headers: { "sec-fetch-site": "cross-site" } }, 403],
    ["another port of this machine", { headers: { "sec-fetch-site": "same-site" } }, 403],
  ])("%s", async (_what, { headers = {} }, status) => {
    for (const target of paths) {
      const response = await ask({ target, headers: { ...data.headers, ...headers } });
      expect(response).toMatchObject({ status, reads: 0 });
    }
  });

  test.each(["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"])(
    "the method %s",
    async (method) => {
      for (const target of paths) {
        const response = await ask({ ...data, target, method });
        expect(response).toMatchObject({ status: 405, reads: 0, headers: { allow: "GET" } });
      }
    },
  );

  test.each([
    ["no token", {}],
    ["another token", { authorization: `Bearer ${newPageToken()}` }],
    ["a part of the token", { authorization: `Bearer ${token.slice(0, -1)}` }],
    ["an empty token", { authorization: "Bearer " }],
    ["the token without its scheme", { authorization: token }],
    ["several headers", { authorization: [`Bearer ${token}`] }],
  ])("data with %s", async (_what, headers) => {
    expect(await ask({ target: "/api/status", headers })).toMatchObject({ status: 401, reads: 0 });
  });

  test.each([
    ...["/index.html", "/api", "/api/status/", "/../etc/passwd", "/constructor", "*"],
    ...[`/api/status?token=${token}`, `http://${host}/`],
  ])("the path %s", async (target) => {
    expect(await ask({ ...data, target })).toMatchObject({ status: 404, reads: 0 });
  });
});

describe("every response", () => {
  const requests: readonly Partial<PageRequest>[] = [
    ...paths.map((target) => ({ ...data, target })),
    ...[{ target: "/api/status" }, { target: "/missing" }, { method: "POST" }],
    { headers: { host: "evil.example" } },
  ];

  test("is neither cached, framed nor sniffed, and runs nothing inline", async () => {
    for (const request of requests) {
      const { headers } = await ask(request);
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": expect.stringMatching(/^default-src 'none'; script-src 'self';/),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
      });
      expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:|data:/);
      expect(Object.keys(headers)).not.toContain("access-control-allow-origin");
    }
  });

  test("has not the token", async () => {
    for (const request of requests) expect(JSON.stringify(await ask(request))).not.toContain(token);
  });
});

test("the page has nothing inline: no script, style or handler in its HTML", async () => {
  const { body } = await ask();
  expect(body.match(/<script[^>]*>[^<]*/g)).toEqual(['<script src="/status.js" defer>']);
  expect(body).not.toMatch(/<style|style=|\son\w+=|javascript:/i);
});

test("the script sets texts, never markup", async () => {
  const { body } = await ask({ target: "/status.js" });
  expect(body).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(/);
});

test("data has no value of a secret, of a token or of a key", async () => {
  const { cluster } = fakeStatusCluster();
  const selection = { namespace: undefined, endsWithin: 60 };
  const report = await readStatus(selection, {
    cluster,
    clock: new TestClock(),
    policies: async () => [],
  });
  const { body } = await ask(data, { ...view, report });
  expect(body).toContain('"namespace":"team-a","name":"db"');
  for (const value of ["Y2FuYXJ5LXZhbHVl", "canary-value", "canary-token", "canary-key"])
    expect(body).not.toContain(value);
});

test("control characters of a message are replaced", async () => {
  const [source] = sampleReport.sharedSecrets;
  const sharedSecrets = [{ ...source!, message: "a\u{202e}b\u{7}" }];
  const { body } = await ask(data, { ...view, report: { ...sampleReport, sharedSecrets } });
  expect(body).toContain('"a\u{fffd}b\u{fffd}"');
});
