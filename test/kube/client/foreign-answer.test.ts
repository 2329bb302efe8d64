import { expect, test } from "vitest";
import { bodyForUser, bodyOf, statusError } from "../../../src/kube/client/response-body.ts";
import { isKubeError, type KubeErrorCode } from "../../../src/kube/client/kube-error.ts";
import type { ApiResponse } from "../../../src/kube/client/transport.ts";

const call = { method: "GET", path: "/apis/management.service/v1/ownedaccesskeys/one" } as const;

interface Row {
  readonly type?: string;
  readonly location?: string;
}

function answer(status: number, text: string, { type, location }: Row = {}): ApiResponse {
  return { status, text, origin: { host: "lb.example:6443", contentType: type, location } };
}

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

const html = { type: "text/html; charset=utf-8" };
const page = "<!DOCTYPE html><form action='https://login.example/?state=canary'>";

test.each<[what: string, code: KubeErrorCode, said: string, answer: ApiResponse]>([
  ["a page", "Network", "200 with an HTML page (text/html)", answer(200, page, html)],
  [
    "a page of an error",
    "ServerError",
    "502 with an HTML page (text/html)",
    answer(502, page, html),
  ],
  [
    "a page that is missing",
    "Network",
    "404 with an HTML page (text/html)",
    answer(404, page, html),
  ],
  ["a page that forbids", "Network", "403 with an HTML page (text/html)", answer(403, page, html)],
  [
    "a page without a type",
    "Network",
    "401 with an HTML page (no content type)",
    answer(401, ` ${page}`),
  ],
  [
    "a page of too many",
    "TooManyRequests",
    "429 with an HTML page (text/html)",
    answer(429, page, html),
  ],
  [
    "a redirect",
    "Network",
    "302 with a redirect to login.example (text/html)",
    answer(302, page, { ...html, location: "https://u:canary@login.example/canary?canary" }),
  ],
  [
    "a redirect to another path",
    "Network",
    "307 with a redirect to another path (no content type)",
    answer(307, "", { location: "/login?canary" }),
  ],
  [
    "a redirect with an object",
    "Network",
    "301 with a redirect without an address",
    answer(301, '{"kind":"Secret"}', {}),
  ],
  [
    "a redirect to a long host",
    "Network",
    "302 with a redirect elsewhere",
    answer(302, "", { location: `https://${"canary.".repeat(60)}example/` }),
  ],
  [
    "nothing",
    "Network",
    "200 with an empty body (application/json)",
    answer(200, "", { type: "application/json" }),
  ],
  [
    "nothing for an error",
    "ServerError",
    "503 with an empty body (no content type)",
    answer(503, "\n"),
  ],
  [
    "null",
    "Network",
    "200 with null (application/json)",
    answer(200, "null", { type: "application/json" }),
  ],
  ["null for an error", "Network", "404 with null", answer(404, "null")],
  [
    "an empty object",
    "Network",
    "200 with JSON that is not a Kubernetes object",
    answer(200, "{}"),
  ],
  ["a list", "Network", "200 with JSON that is not a Kubernetes object", answer(200, '["canary"]')],
  [
    "other JSON",
    "Network",
    "403 with JSON that is not a Kubernetes object",
    answer(403, '{"reason":"Forbidden","message":"canary"}'),
  ],
  [
    "an object for an error",
    "Network",
    "404 with JSON that is not a Kubernetes object",
    answer(404, '{"kind":"Error","message":"canary"}'),
  ],
  [
    "text",
    "Network",
    "200 with other text (text/plain)",
    answer(200, "canary", { type: "text/plain" }),
  ],
  [
    "a type that is a sentence",
    "Network",
    "200 with null (no content type)",
    answer(200, "null", { type: "canary, canary" }),
  ],
])("an answer that is %s is a %s error: %s", (_what, code, said, given) => {
  for (const read of [bodyOf, bodyForUser]) {
    const error = thrownBy(() => read(call, given));
    expect(error).toMatchObject({
      code,
      status: given.status,
      explanation: expect.stringMatching(/; check the address, and the proxy or load balancer/),
    });
    expect(String(error)).toContain(`lb.example:6443 answered ${said}`);
    expect(String(error)).not.toContain("canary");
  }
  expect(thrownBy(() => statusError(call, given))).toMatchObject({ code });
});

test.each<[status: number, code: KubeErrorCode]>([
  [404, "NotFound"],
  [429, "TooManyRequests"],
  [503, "ServerError"],
])("plain text with %d may be of the API server, and is %s", (status, code) => {
  const error = thrownBy(() => bodyOf(call, answer(status, "canary\n", { type: "text/plain" })));
  expect(isKubeError(error, code)).toBe(true);
  expect(String(error)).toContain(
    `lb.example:6443 answered ${status} with plain text (text/plain)`,
  );
  expect(String(error)).not.toContain("canary");
});

test("an object, a version and a Status are the API server's", () => {
  expect(bodyOf(call, answer(200, '{"kind":"X"}'))).toEqual({ kind: "X" });
  expect(bodyOf(call, answer(200, '{"gitVersion":"v1"}'))).toEqual({ gitVersion: "v1" });
  const status = '{"kind":"Status","reason":"NotFound","message":"it is not there"}';
  expect(thrownBy(() => bodyOf(call, answer(404, status)))).toMatchObject({
    code: "NotFound",
    explanation: "it is not there",
  });
});
