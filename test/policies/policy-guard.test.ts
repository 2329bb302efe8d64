import { expect, test } from "vitest";
import { PolicyGuard } from "../../src/policies/policy-guard.ts";
import { connectedPolicies } from "../../src/domain/gateway/connected-policy.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { shippedPolicy } from "../support/connected-policies.ts";
import { TestClock } from "../support/test-clock.ts";

const { derivedCredentials } = connectedPolicies;
const { policy, binding } = shippedPolicy(derivedCredentials.name, "1970-01-01T00:00:00Z");

/** A guard of a cluster that answers with this error, or has the policy. */
function guarded(answer: { error?: unknown }) {
  const clock = new TestClock();
  const asked: string[] = [];
  const guard = new PolicyGuard(derivedCredentials, {
    clock,
    client: {
      async get({ plural }, { name }) {
        asked.push(`${plural} ${name}`);
        if (answer.error !== undefined) throw answer.error;
        return plural === "validatingadmissionpolicies" ? policy : binding;
      },
    },
  });
  return { asked, clock, guard };
}

const kubeError = (code: "NotFound" | "Forbidden" | "Network", status: number) =>
  new KubeError("no", { code, status });

test("asks for the policy and its binding by name, once for requests at the same time", async () => {
  const { asked, guard } = guarded({});
  expect(await Promise.all([guard.problem(), guard.problem()])).toEqual([undefined, undefined]);
  expect(asked).toEqual([
    "validatingadmissionpolicies latchkey-derived-credentials",
    "validatingadmissionpolicybindings latchkey-derived-credentials",
  ]);
});

test.each([
  ["is missing", kubeError("NotFound", 404), "not-enforced", "does not exist"],
  ["may not be read", kubeError("Forbidden", 403), "unreadable", "may not read"],
  ["is unknown", kubeError("Network", 0), "unknown", "could not be checked"],
])("there is a problem while the policy %s", async (_what, error, kind, text) => {
  const problem = await guarded({ error }).guard.problem();
  expect([problem?.kind, problem?.fact]).toEqual([kind, expect.stringContaining(text)]);
});

test("asks again after a second where the policy is missing, and after a minute where it is there", async () => {
  const answer: { error?: unknown } = { error: kubeError("NotFound", 404) };
  const { asked, clock, guard } = guarded(answer);
  const isRefused = async () => (await guard.problem()) !== undefined;
  expect(await isRefused()).toBe(true);
  delete answer.error;
  clock.advance(999);
  expect(await isRefused()).toBe(true);
  clock.advance(1);
  expect(await isRefused()).toBe(false);
  answer.error = kubeError("NotFound", 404);
  clock.advance(59_999);
  expect([await isRefused(), asked.length]).toEqual([false, 4]);
  clock.advance(1);
  expect(await isRefused()).toBe(true);
});

test("asks again after an error of its own", async () => {
  const answer: { error?: unknown } = { error: new Error("a bug") };
  const { guard } = guarded(answer);
  await expect(guard.problem()).rejects.toThrow("a bug");
  delete answer.error;
  expect(await guard.problem()).toBeUndefined();
});

test("a request whose client leaves no longer waits, and the others do", async () => {
  const { asked, guard } = guarded({});
  const [leaving, left] = [new AbortController(), new Error("the client left")];
  const [one, other] = [guard.problem(leaving), guard.problem()];
  leaving.abort(left);
  await expect(one).rejects.toBe(left);
  expect([await other, asked.length]).toEqual([undefined, 2]);
});
