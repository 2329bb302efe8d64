import { expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { statusWrites } from "../../../src/domain/plan/status-write.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const metadata = observedMetadata();
const write = (
  status: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
) => statusWrites(resources.sharedSecrets, { metadata, status }, wanted);

test("a status that stands as wanted is not written", () => {
  expect(write({ keys: 1, access: { roles: 2 } }, { access: { roles: 2 }, keys: 1 })).toEqual([]);
});

test("one write changes what differs, on the version that was seen, and takes out what is wanted no more", () => {
  expect(write({ keys: 1, old: true }, { keys: 2 })).toEqual([
    {
      do: "patch",
      resource: resources.sharedSecrets,
      ref: metadata,
      subresource: "status",
      body: { metadata: { resourceVersion: "7" }, status: { keys: 2, old: null } },
    },
  ]);
});
