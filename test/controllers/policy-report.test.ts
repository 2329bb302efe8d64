import { expect, test } from "vitest";
import { policyReport } from "../../src/controllers/policy-report.ts";
import { guardingPolicies } from "../../src/domain/policies/guarding-policies.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { shippedPolicy } from "../support/connected-policies.ts";
import { metricLines } from "../support/metric-lines.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const guard = "latchkey-mint-guard";

/** A report about a cluster whose policies are the shipped ones, but for what a test changes. */
function reported() {
  const [clock, log, metrics] = [new TestClock(), recordingLog(), createMetrics()];
  const stop = new AbortController();
  const state: { answer: "shipped" | "weak" | "Network"; asked: number } = {
    answer: "shipped",
    asked: 0,
  };
  const part = policyReport("latchkey-system", {
    clock,
    log,
    metrics,
    client: {
      async get({ plural }, { name }) {
        state.asked += 1;
        if (state.answer === "Network") throw new KubeError("no", { code: "Network", status: 0 });
        const { policy, binding } = shippedPolicy(name, "2026-01-01T00:00:00Z");
        if (plural.endsWith("bindings")) return binding;
        return state.answer === "weak" && name === guard ? { ...policy, spec: {} } : policy;
      },
    },
  });
  const running = part.run?.(stop.signal);
  const look = async () => {
    await clock.run(60_000);
    const lines = await metricLines(metrics, /^latchkey_policy_shipped/);
    return {
      lines,
      changed: lines.filter((line) => line.endsWith(" 0")),
      said: log.lines.map(({ level, message }) => `${level}: ${message}`),
    };
  };
  return { state, look, log, stop: () => (stop.abort(), running) };
}

test("a policy that is not that of Latchkey is said once, and again when it is", async () => {
  const { state, look, log, stop } = reported();
  const shipped = await look();
  expect([shipped.lines.length, shipped.changed, shipped.said]).toEqual([
    ...[guardingPolicies.length, [], []],
  ]);
  state.answer = "weak";
  const weak = `latchkey_policy_shipped{policy="${guard}"} 0`;
  const said = ["warn: policy is not that of Latchkey"];
  expect(await look()).toMatchObject({ changed: [weak], said });
  expect(await look()).toMatchObject({ changed: [weak], said });
  expect(log.lines).toEqual([
    expect.objectContaining({ fields: expect.objectContaining({ object: guard }) }),
  ]);
  state.answer = "shipped";
  expect(await look()).toMatchObject({
    changed: [],
    said: [...said, "info: policy is that of Latchkey again"],
  });
  await stop();
});

test("nothing is known while the API server does not answer", async () => {
  const { state, look, stop } = reported();
  state.answer = "Network";
  await look();
  expect(await look()).toMatchObject({ lines: [], said: [] });
  state.answer = "weak";
  expect((await look()).changed).toHaveLength(1);
  state.answer = "Network";
  expect((await look()).changed).toHaveLength(1);
  await stop();
});
