import { expect, test } from "vitest";
import { accessKeyCodec } from "../../src/authn/access-key-codec.ts";
import { observedMetadata } from "../support/observed-objects.ts";

test("accessKeyCodec decodes what it encoded, including uid and resourceVersion", () => {
  const value = {
    metadata: observedMetadata(),
    spec: {
      user: "alice",
      disabled: false,
      ttlAfterLastActivity: false,
      groups: [],
      scope: "none",
    },
    keyDigest: "d",
    status: {},
    conditions: [],
  } as const;
  const entry = { uid: value.metadata.uid, resourceVersion: value.metadata.resourceVersion, value };
  expect(accessKeyCodec.decode(accessKeyCodec.encode(entry), "one")).toEqual(entry);
});
