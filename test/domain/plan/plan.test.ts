import { expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { requeueAt, statusWrites } from "../../../src/domain/plan/plan.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const metadata = observedMetadata();
const write = (
  status: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
) => statusWrites(resources.sharedSecrets, { metadata, status }, wanted);

test("writes no status that is up to date", () => {
  expect(write({ keys: 1, access: { roles: 2 } }, { access: { roles: 2 }, keys: 1 })).toEqual([]);
});

test("writes what differs at the observed resourceVersion and removes obsolete fields", () => {
  expect(write({ keys: 1, old: true }, { keys: 2 })).toEqual([
    {
      do: "patch",
      resource: resources.sharedSecrets,
      ref: metadata,
      subresource: "status",
      body: { metadata: { resourceVersion: "7" }, status: { keys: 2, old: null } },
      wanted: { status: { keys: 2 } },
    },
  ]);
});

test.for<[string, readonly (number | undefined)[], ReturnType<typeof requeueAt>]>([
  ["the earliest instant ahead", [30, undefined, 20], { kind: "requeue-at", at: 20 }],
  ["none that is over, or is now", [5, 10, 30], { kind: "requeue-at", at: 30 }],
  ["nothing else", [undefined, 10, 9], { kind: "done" }],
])("requeues at %s", ([, instants, result]) => {
  expect(requeueAt(10, instants)).toEqual(result);
});
