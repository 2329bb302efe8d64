import { expect, test } from "vitest";
import { cleanupFinalizer } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "../../../src/domain/plan/finalizer.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const free = observedMetadata({ finalizers: ["theirs"] });
const held = observedMetadata({ finalizers: ["theirs", cleanupFinalizer, "others"] });

test("hasFinalizer ignores the finalizers of other controllers", () => {
  expect([hasFinalizer(held), hasFinalizer(free)]).toEqual([true, false]);
});

test.for([
  [
    "addFinalizer appends Latchkey's finalizer",
    addFinalizer(resources.sharedSecrets, free),
    ["theirs", cleanupFinalizer],
  ],
  [
    "removeFinalizer keeps the finalizers of other controllers",
    removeFinalizer(resources.sharedSecrets, held),
    ["theirs", "others"],
  ],
] as const)("%s, at the observed resourceVersion", ([, write, finalizers]) => {
  expect(write).toMatchObject({
    do: "patch",
    resource: resources.sharedSecrets,
    ref: { name: "one" },
    body: { metadata: { resourceVersion: "7", finalizers } },
  });
});
