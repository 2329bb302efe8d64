import { expect, test } from "vitest";
import { parseSecret } from "../../src/api/secret.ts";

const metadata = {
  namespace: "ns",
  name: "a",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

test("a Secret without a type is Opaque, may change and holds nothing", () => {
  expect(parseSecret({ metadata })).toMatchObject({
    type: "Opaque",
    immutable: false,
    data: {},
    ownerReferences: [],
  });
});

test("a Secret is read whole, its data under cover", () => {
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
