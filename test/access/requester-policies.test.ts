import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import type { Metadata } from "../../src/api/object.ts";
import { observePolicies, observeRequester, type PolicyStores } from "../../src/access/requester-policies.ts";
import { Store } from "../../src/kube/store.ts";
import { sightedMetadata } from "../domain/sightings.ts";

function storesWith(...instants: readonly (string | undefined)[]): PolicyStores {
  return instants.map((creationTimestamp) => {
    const store = new Store<Metadata>();
    if (creationTimestamp !== undefined) store.set("policy", { uid: "u", resourceVersion: "1", value: sightedMetadata({ creationTimestamp }) });
    return store;
  });
}

describe("the policies", () => {
  test.each<[string, readonly (string | undefined)[], object | undefined]>([
    ["stand since the youngest of them", ["2025-01-01T00:00:00Z", "2025-02-01T00:00:00Z"], { installedAt: Date.parse("2025-02-01T00:00:00Z") }],
    ["do not stand while one is missing", ["2025-01-01T00:00:00Z", undefined], undefined],
  ])("%s", (_rule, instants, age) => {
    expect(observePolicies(storesWith(...instants))).toEqual(age);
  });
});

test("a stamp counts as far as they do", () => {
  const metadata = sightedMetadata({ annotations: { [annotations.requester]: "alice" } });
  expect(observeRequester(metadata, storesWith("2025-01-01T00:00:00Z"))).toMatchObject({ kind: "known", name: "alice" });
  expect(observeRequester(metadata, storesWith(undefined))).toMatchObject({ kind: "unknown" });
});
