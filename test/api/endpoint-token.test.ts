import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { parseEndpointToken } from "../../src/api/endpoint-token.ts";
import { parseScopeLimit } from "../../src/api/scope.ts";
import { SecretText } from "../../src/api/secret-text.ts";

const metadata = {
  name: "t",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

describe("parseEndpointToken", () => {
  test.each<[string, object, object]>([
    ["accepts an empty spec", {}, { limit: "none" }],
    ["returns the ttl", { ttl: 60 }, { ttl: 60, limit: "none" }],
    [
      "returns the scope as JSON text",
      { scope: { projects: [{ project: "web" }] } },
      {
        scope: `{"projects":[{"project":"web"}]}`,
        limit: parseScopeLimit({ projects: [{ project: "web" }] }),
      },
    ],
    [
      "returns null as the text of an invalid scope",
      { scope: { projects: Array.from({ length: 1001 }, () => ({})) } },
      { scope: "null", limit: "unreadable" },
    ],
    ["keeps an empty scope", { scope: {} }, { scope: "{}", limit: parseScopeLimit({}) }],
  ])("%s", (_rule, spec, read) => {
    expect(parseEndpointToken({ metadata, spec }).spec).toEqual(read);
  });

  test("returns the token once, as a SecretText", () => {
    const token = parseEndpointToken({
      metadata,
      status: { token: "canary-token", keyID: "k", expiresAt: "e" },
    });
    expect(token).toMatchObject({ keyId: "k", expiresAt: "e" });
    expect(token.token).toBeInstanceOf(SecretText);
    expect(token.status["token"]).toBe(token.token);
    expect(
      `${inspect(token, { depth: 9, showHidden: true })}${JSON.stringify(token)}`,
    ).not.toContain("canary");
  });

  test("returns no token for an empty string, and keeps the empty string in the status", () => {
    const { token, status } = parseEndpointToken({ metadata, status: { token: "" } });
    expect([token, status["token"]]).toEqual([undefined, expect.any(SecretText)]);
  });
});
