import { expect, test } from "vitest";
import { parseSecret } from "../../src/api/secret.ts";

const metadata = {
  namespace: "ns",
  name: "a",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

test("parseSecret returns a mutable Opaque Secret without data if nothing else is set", () => {
  expect(parseSecret({ metadata })).toMatchObject({
    type: "Opaque",
    immutable: false,
    data: {},
    ownerReferences: [],
  });
});

test("parseSecret returns every field, and the data as SecretTexts", () => {
  const secret = parseSecret({
    metadata,
    type: "kubernetes.io/tls",
    immutable: true,
    data: { "tls.key": "Y2FuYXJ5" },
  });
  expect(secret).toMatchObject({ type: "kubernetes.io/tls", immutable: true });
  expect(JSON.stringify(secret)).toContain("[secret]");
  expect(JSON.stringify(secret)).not.toContain("Y2FuYXJ5");
});
