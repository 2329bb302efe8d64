import { expect, test } from "vitest";
import { cleanupFinalizer } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "../../../src/domain/plan/finalizer.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const withoutFinalizer = observedMetadata({ finalizers: ["theirs"] });
const withFinalizer = observedMetadata({ finalizers: ["theirs", cleanupFinalizer, "others"] });

test("hasFinalizer ignores the finalizers of other controllers", () => {
  expect([hasFinalizer(withFinalizer), hasFinalizer(withoutFinalizer)]).toEqual([true, false]);
});

test.for([
  [
    "addFinalizer appends Latchkey's finalizer",
    addFinalizer(resources.sharedSecrets, withoutFinalizer),
    ["theirs", cleanupFinalizer],
  ],
  [
    "removeFinalizer keeps the finalizers of other controllers",
    removeFinalizer(resources.sharedSecrets, withFinalizer),
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
