import { expect, test } from "vitest";
import { SecretGuard } from "../../src/gateway/secret-guard.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { TestClock } from "../support/test-clock.ts";

const metadata = {
  ...{ name: "latchkey-derived-credentials", uid: "u", resourceVersion: "1" },
  creationTimestamp: "1970-01-01T00:00:00Z",
};
const spec = { policyName: metadata.name, validationActions: ["Deny"] };

/** A guard of a cluster that answers with this error, or has the policy. */
function guarded(answer: { error?: unknown }) {
  const clock = new TestClock();
  const asked: string[] = [];
  const guard = new SecretGuard({
    clock,
    client: {
      async get({ plural }, { name }) {
        asked.push(`${plural} ${name}`);
        if (answer.error !== undefined) throw answer.error;
        return { metadata, spec };
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
  ["is missing", kubeError("NotFound", 404), 403, "config/connected-policies"],
  ["may not be read", kubeError("Forbidden", 403), 403, "config/connected-cluster"],
  ["is unknown", kubeError("Network", 0), 503, "could not be checked"],
])("refuses while the policy %s", async (_what, error, status, text) => {
  const problem = await guarded({ error }).guard.problem();
  expect([problem?.status, problem?.message]).toEqual([status, expect.stringContaining(text)]);
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
  const [one, other] = [guard.problem(leaving.signal), guard.problem()];
  leaving.abort(left);
  await expect(one).rejects.toBe(left);
  expect([await other, asked.length]).toEqual([undefined, 2]);
});
