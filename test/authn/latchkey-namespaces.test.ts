import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../src/api/scope.ts";
import { withLatchkeyNamespaces } from "../../src/authn/latchkey-namespaces.ts";
import { oneLocation } from "../../src/authn/request-locations.ts";
import { KubeError, type KubeErrorCode } from "../../src/kube/client/kube-error.ts";
import { TestClock } from "../support/test-clock.ts";

const scoped = [parseScopeLimit({ rules: [{}] })];
const base = { target: "Cluster", cluster: "east" } as const;

/** A cluster whose policy names these namespaces, and whose account is in another. */
function clusterOf(answer: { policy: readonly string[] | KubeErrorCode; account?: string }) {
  const clock = new TestClock();
  const state = { answer, asked: 0, changes: 0, answered: Promise.resolve() };
  const locations = withLatchkeyNamespaces(oneLocation(base), {
    clock,
    onChange: () => void (state.changes += 1),
    client: {
      async get() {
        state.asked += 1;
        const { policy } = state.answer;
        await state.answered;
        if (typeof policy === "string") throw new KubeError("no", { code: policy, status: 0 });
        const expression = policy.map((name) => `system:serviceaccount:${name}:latchkey-x`).join();
        return { spec: { matchConditions: [{ name: "accounts", expression }] } };
      },
      async review() {
        const { account } = state.answer;
        if (account === undefined) throw new KubeError("no", { code: "Network", status: 0 });
        return { status: { userInfo: { username: account } } };
      },
    },
  });
  const guarded = () => {
    const { latchkeyNamespaces = new Set() } = locations.locationOf("a");
    return latchkeyNamespaces === "unknown" ? "unknown" : [...latchkeyNamespaces];
  };
  return { locations, clock, state, guarded };
}

const gateway = "system:serviceaccount:lk-edge:latchkey-gateway";

describe("where Latchkey runs in a cluster", () => {
  test.each<[string, Parameters<typeof clusterOf>[0], unknown]>([
    ["is where its policy says", { policy: ["keys"], account: "admin" }, ["keys"]],
    [
      "is also where the account of this program is",
      { policy: ["a"], account: gateway },
      ["a", "lk-edge"],
    ],
    [
      "is there if the policy does not exist",
      { policy: "NotFound", account: gateway },
      ["lk-edge"],
    ],
    [
      "is there if the policy may not be read",
      { policy: "Forbidden", account: gateway },
      ["lk-edge"],
    ],
    ["is nowhere without policy and account", { policy: "NotFound", account: "admin" }, []],
    ["is not known without an answer", { policy: "Network" }, "unknown"],
    ["is not known if nothing may be read", { policy: "Forbidden", account: "admin" }, "unknown"],
  ])("%s", async (_what, answer, expected) => {
    const { locations, guarded } = clusterOf(answer);
    await locations.decided(scoped);
    expect(guarded()).toEqual(expected);
  });

  test("is not asked for a credential without a scope", async () => {
    const { locations, state } = clusterOf({ policy: ["keys"], account: "admin" });
    await locations.decided(["none"]);
    expect(state.asked).toBe(0);
  });

  test("is asked for again after a minute, without a wait, and a change is reported", async () => {
    const { locations, clock, state, guarded } = clusterOf({ policy: ["a"], account: "admin" });
    await Promise.all([locations.decided(scoped), locations.decided(scoped)]);
    state.answer = { policy: ["b"], account: "admin" };
    clock.advance(59_999);
    await locations.decided(scoped);
    expect([guarded(), state.asked, state.changes]).toEqual([["a"], 1, 1]);
    clock.advance(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    state.answered = promise;
    await locations.decided(scoped);
    expect([guarded(), state.asked]).toEqual([["a"], 2]);
    resolve();
    await clock.run(0);
    expect([guarded(), state.changes]).toEqual([["b"], 2]);
  });

  test("stays where it was while the cluster does not answer, and is asked for each second", async () => {
    const { locations, clock, state, guarded } = clusterOf({ policy: ["a"], account: gateway });
    await locations.decided(scoped);
    state.answer = { policy: "Network", account: gateway };
    clock.advance(60_000);
    await locations.decided(scoped);
    await clock.run(1_000);
    expect([guarded(), state.changes]).toEqual([["a", "lk-edge"], 1]);
    await locations.decided(scoped);
    expect(state.asked).toBe(3);
  });
});

test("what is not known is in the denial and in the warnings", async () => {
  const { locations } = clusterOf({ policy: "Forbidden", account: "admin" });
  expect([locations.warnings(), locations.denialOf("no", scoped)]).toEqual([[], "no"]);
  await locations.decided(scoped);
  expect(locations.warnings()).toEqual([
    "it is not certain where Latchkey runs in east: the account of this program in this cluster " +
      'may not read ValidatingAdmissionPolicy "latchkey-own-secrets"; an administrator of the ' +
      "cluster must apply the rights of this program again",
  ]);
  expect(locations.denialOf("no", scoped)).toBe(
    `no; every namespace is protected, because ${locations.warnings()[0]}`,
  );
});

test("locations are otherwise those of the cluster", async () => {
  const { locations } = clusterOf({ policy: [], account: "admin" });
  expect(locations.locationOf("a")).toMatchObject(base);
  expect(locations.areTrusted).toBeUndefined();
  await locations.close();
});
