import { expect, test } from "vitest";
import { policyReader } from "../../../src/client/status/status-read.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { shippedPolicy } from "../../support/connected-policies.ts";
import { TestClock } from "../../support/test-clock.ts";
import { fakeStatusCluster } from "./fake-status-cluster.ts";

/** A cluster with the shipped policies, except for this one. */
function clusterWith(weak: string) {
  const state = { weak, asked: 0, isForbidden: false };
  const cluster = {
    ...fakeStatusCluster().cluster,
    async get({ plural }: { readonly plural: string }, { name }: { readonly name: string }) {
      state.asked += 1;
      if (state.isForbidden) throw new KubeError("no", { code: "Forbidden", status: 403 });
      const { policy, binding } = shippedPolicy(name, "2026-01-01T00:00:00Z");
      if (plural.endsWith("bindings")) return binding;
      return name === state.weak ? { ...policy, spec: {} } : policy;
    },
  };
  return { state, cluster };
}

const guard = "latchkey-own-rbac";

test("policies that are not those of Latchkey are items, read once a minute", async () => {
  const clock = new TestClock();
  const { state, cluster } = clusterWith(guard);
  const read = policyReader("latchkey-system", clock);
  const items = async () =>
    (await read(cluster, false)).map(({ object, reason }) => [object.name, reason]);
  expect(await items()).toEqual([[guard, "PolicyChanged"]]);
  const { asked } = state;
  state.weak = "none";
  clock.advance(59_999);
  expect([await items(), state.asked]).toEqual([[[guard, "PolicyChanged"]], asked]);
  clock.advance(1);
  expect(await items()).toEqual([]);
});

test("policies of another namespace than that of Latchkey are items", async () => {
  const { cluster } = clusterWith("none");
  const names = (await policyReader("keys", new TestClock())(cluster, false)).map(
    ({ object }) => object.name,
  );
  expect(names).toContain("latchkey-own-rbac");
  expect(names).not.toContain("latchkey-project-assignment");
});

test("policies that the user may not read are no items", async () => {
  const { state, cluster } = clusterWith(guard);
  state.isForbidden = true;
  expect(await policyReader("latchkey-system", new TestClock())(cluster, false)).toEqual([]);
});
