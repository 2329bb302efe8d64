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

describe("a DirectClusterEndpointToken as it is read", () => {
  test.each<[string, object, object]>([
    ["may have an empty spec", {}, { limit: "none" }],
    ["has its ttl", { ttl: 60 }, { ttl: 60, limit: "none" }],
    [
      "has its scope as JSON text",
      { scope: { projects: [{ project: "web" }] } },
      {
        scope: `{"projects":[{"project":"web"}]}`,
        limit: parseScopeLimit({ projects: [{ project: "web" }] }),
      },
    ],
    [
      "has no text of a scope that cannot be read",
      { scope: { projects: Array.from({ length: 1001 }, () => ({})) } },
      { scope: "null", limit: "unreadable" },
    ],
    [
      "has a scope even when it is empty",
      { scope: {} },
      { scope: "{}", limit: parseScopeLimit({}) },
    ],
  ])("%s", (_rule, spec, read) => {
    expect(parseEndpointToken({ metadata, spec }).spec).toEqual(read);
  });

  test("holds the token once, in a coat", () => {
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

  test("has no token when it is empty, and an empty text to be erased", () => {
    const { token, status } = parseEndpointToken({ metadata, status: { token: "" } });
    expect([token, status["token"]]).toEqual([undefined, expect.any(SecretText)]);
  });
});
