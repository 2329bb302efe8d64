import { expect, test } from "vitest";
import { cleanupFinalizer } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "../../../src/domain/plan/finalizer.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const free = observedMetadata({ finalizers: ["theirs"] });
const held = observedMetadata({ finalizers: ["theirs", cleanupFinalizer, "others"] });

test("an object is held by Latchkey's finalizer, not by others'", () => {
  expect([hasFinalizer(held), hasFinalizer(free)]).toEqual([true, false]);
});

test.for([
  [
    "holding adds it behind those of others",
    addFinalizer(resources.sharedSecrets, free),
    ["theirs", cleanupFinalizer],
  ],
  [
    "releasing takes it out and leaves the others",
    removeFinalizer(resources.sharedSecrets, held),
    ["theirs", "others"],
  ],
] as const)("%s, on the version that was seen", ([, write, finalizers]) => {
  expect(write).toMatchObject({
    do: "patch",
    resource: resources.sharedSecrets,
    ref: { name: "one" },
    body: { metadata: { resourceVersion: "7", finalizers } },
  });
});
