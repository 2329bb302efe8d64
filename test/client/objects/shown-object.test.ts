import { expect, test } from "vitest";
import { shownObject } from "../../../src/client/objects/shown-object.ts";

const secret = "s3cret-value";

test("what is secret in an object is not shown", () => {
  const shown = shownObject({
    kind: "OwnedAccessKey",
    metadata: {
      name: "ci",
      managedFields: [{}],
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": secret, kept: "yes" },
    },
    spec: {
      user: "alice",
      key: secret,
      data: { password: secret },
      oidcLogin: { idToken: secret },
      identity: { userId: "1", connectorData: secret },
    },
    status: { token: secret, expiresAt: "2026-01-01T00:00:00Z" },
  });
  expect(JSON.stringify(shown)).not.toContain(secret);
  expect(shown).toEqual({
    kind: "OwnedAccessKey",
    metadata: { name: "ci", annotations: { kept: "yes" } },
    spec: { user: "alice", identity: { userId: "1" } },
    status: { expiresAt: "2026-01-01T00:00:00Z" },
  });
});

test("anything else than an object is empty", () => {
  expect(shownObject("text")).toEqual({});
});
