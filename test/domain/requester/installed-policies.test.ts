import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import {
  policiesInstalledAt,
  observeRequester,
  type PolicyStores,
} from "../../../src/domain/requester/installed-policies.ts";
import { Store } from "../../../src/kube/informer/store.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

type Instants = readonly (string | undefined)[];

function storesOf(instants: Instants): readonly Store<Metadata>[] {
  return instants.map((creationTimestamp) => {
    const store = new Store<Metadata>();
    if (creationTimestamp !== undefined)
      store.set("policy", {
        uid: "u",
        resourceVersion: "1",
        value: observedMetadata({ creationTimestamp }),
      });
    return store;
  });
}

/**
 * Stores of a requester-annotations policy and its binding, of a requester-annotations webhook, and of the
 * guarding policies.
 */
function storesWith(policy: Instants, webhook: Instants, guarding: Instants): PolicyStores {
  return { annotating: [storesOf(policy), storesOf(webhook)], guarding: storesOf(guarding) };
}

const [january, february, march] = [
  "2025-01-01T00:00:00Z",
  "2025-02-01T00:00:00Z",
  "2025-03-01T00:00:00Z",
];
const none = [undefined] as const;

describe("the installation time of the requester policies", () => {
  test.each<[string, Parameters<typeof storesWith>, string | undefined]>([
    ["is that of the newest object", [[january, february], none, [january, january]], february],
    ["is that of the newest guarding policy", [[january, january], none, [january, march]], march],
    ["is undefined while a binding is missing", [[january, undefined], none, [january]], undefined],
    [
      "is undefined while a guarding policy is missing",
      [[january, january], [january], [january, undefined]],
      undefined,
    ],
    [
      "is that of a webhook without a policy",
      [[undefined, undefined], [february], [january]],
      february,
    ],
    [
      "is that of the older of webhook and policy",
      [[march, march], [february], [january]],
      february,
    ],
    [
      "is undefined without webhook and policy",
      [[undefined, undefined], none, [january]],
      undefined,
    ],
  ])("%s", (_rule, stores, since) => {
    expect(policiesInstalledAt(storesWith(...stores))).toEqual(
      since === undefined ? undefined : Date.parse(since),
    );
  });
});

test("requester annotations are trusted only with these policies", () => {
  const metadata = observedMetadata({ annotations: { [annotations.requester]: "alice" } });
  expect(observeRequester(metadata, storesWith([january, january], none, [january]))).toMatchObject(
    { kind: "known", name: "alice" },
  );
  expect(observeRequester(metadata, storesWith(none, none, none))).toMatchObject({
    kind: "unknown",
  });
});
