import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import type { Metadata } from "../../src/api/object.ts";
import {
  observePolicies,
  observeRequester,
  type PolicyStores,
} from "../../src/authn/requester-policies.ts";
import { Store } from "../../src/kube/store.ts";
import { observedMetadata } from "../support/observed-objects.ts";

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

/** A stamping policy and its binding, a stamping webhook, and what guards. */
function storesWith(policy: Instants, webhook: Instants, guarding: Instants): PolicyStores {
  return { stamping: [storesOf(policy), storesOf(webhook)], guarding: storesOf(guarding) };
}

const [january, february, march] = [
  "2025-01-01T00:00:00Z",
  "2025-02-01T00:00:00Z",
  "2025-03-01T00:00:00Z",
];
const none = [undefined] as const;

describe("what makes a requester certain", () => {
  test.each<[string, Parameters<typeof storesWith>, string | undefined]>([
    ["stands since the youngest of it", [[january, february], none, [january, january]], february],
    ["stands since the guards do", [[january, january], none, [january, march]], march],
    [
      "does not stand while a binding is missing",
      [[january, undefined], none, [january]],
      undefined,
    ],
    [
      "does not stand while a guard is missing",
      [[january, january], [january], [january, undefined]],
      undefined,
    ],
    [
      "may be a webhook instead of a policy",
      [[undefined, undefined], [february], [january]],
      february,
    ],
    ["is the elder of webhook and policy", [[march, march], [february], [january]], february],
    ["does not stand without either", [[undefined, undefined], none, [january]], undefined],
  ])("%s", (_rule, stores, since) => {
    expect(observePolicies(storesWith(...stores))).toEqual(
      since === undefined ? undefined : { installedAt: Date.parse(since) },
    );
  });
});

test("a stamp counts as far as they do", () => {
  const metadata = observedMetadata({ annotations: { [annotations.requester]: "alice" } });
  expect(observeRequester(metadata, storesWith([january, january], none, [january]))).toMatchObject(
    { kind: "known", name: "alice" },
  );
  expect(observeRequester(metadata, storesWith(none, none, none))).toMatchObject({
    kind: "unknown",
  });
});
