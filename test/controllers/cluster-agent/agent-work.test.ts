import { expect, test } from "vitest";
import { AgentWork } from "../../../src/controllers/cluster-agent/agent-work.ts";
import type { AgentFacts } from "../../../src/domain/outbox/agent-state.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { TestClock } from "../../support/test-clock.ts";

function setup() {
  const clock = new TestClock();
  const [log, metrics, story] = [recordingLog(), createMetrics(), new Array<string>()];
  let facts: AgentFacts = {
    identity: { kind: "unknown" },
    isOutboxListed: false,
    arePoliciesChecked: true,
    policyProblem: undefined,
    silentMs: 0,
    deleteAfterMs: undefined,
  };
  const work = new AgentWork({
    clock,
    log,
    metrics,
    facts: () => facts,
    reconcile(signal) {
      story.push(`begin ${work.writes().kind}`);
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          story.push("end");
          resolve();
        }),
      );
    },
  });
  const stop = new AbortController();
  const change = async (changes: Partial<AgentFacts>): Promise<void> => {
    facts = { ...facts, ...changes };
    await clock.run(1_000);
  };
  return {
    clock,
    log,
    metrics,
    story,
    work,
    stop,
    change,
    lead: () => work.lead(stop.signal),
  };
}

const known = { identity: { kind: "own" }, isOutboxListed: true } as const;

test("each state begins its reconciles anew, and a state that writes nothing has none", async () => {
  const { story, lead, change, stop, clock } = setup();
  const led = lead();
  await clock.run(5_000);
  expect(story).toEqual([]);
  await change(known);
  await change({ policyProblem: "gone" });
  await change({ policyProblem: undefined });
  await change({ identity: { kind: "other", uid: "uid-west" } });
  await change({ identity: { kind: "own" } });
  const all = ["begin all", "end"];
  expect(story).toEqual([...all, "begin removals", "end", ...all, "begin all"]);
  stop.abort();
  await clock.run(0);
  await led;
  expect(story.at(-1)).toBe("end");
});

test("says in plain sentences what keeps it from work", async () => {
  const { work, change, stop } = setup();
  void work.run(stop.signal);
  expect(work.problems()).toEqual(["the outbox has not been read yet"]);
  await change(known);
  expect([work.problems(), work.warnings()]).toEqual([[], []]);
  await change({ policyProblem: "the policy is gone" });
  expect(work.warnings()).toEqual(["nothing is created or replaced: the policy is gone"]);
  await change({ policyProblem: undefined, silentMs: 61_000 });
  expect(work.warnings()).toEqual([
    "the central cluster was not heard for 61 s; check the connection and the credential in " +
      "--central-kubeconfig",
  ]);
  await change({ deleteAfterMs: 60_000 });
  expect(work.warnings()[0]).toContain("copies are deleted: the central cluster was not heard");
  stop.abort();
});

test("logs a change of its state once", async () => {
  const { work, change, stop, log, clock } = setup();
  void work.run(stop.signal);
  await change(known);
  await change({ silentMs: 61_000 });
  await clock.run(10_000);
  await change({ silentMs: 0 });
  expect(log.lines.map(({ message }) => message)).toEqual([
    "the agent works",
    "the central cluster is not heard; copies stay as they are",
    "the central cluster is heard again",
  ]);
  stop.abort();
});

test("has a series for each state", async () => {
  const { work, change, metrics, stop } = setup();
  void work.run(stop.signal);
  await change({ ...known, silentMs: 7_900 });
  const lines = (await metrics.render()).text.split("\n");
  expect(lines.filter((line) => line.startsWith("latchkey_cluster_agent"))).toEqual([
    "latchkey_cluster_agent_heard_age_seconds 7",
    'latchkey_cluster_agent_state{state="working"} 1',
    'latchkey_cluster_agent_state{state="waiting"} 0',
    'latchkey_cluster_agent_state{state="policies-missing"} 0',
    'latchkey_cluster_agent_state{state="disconnected"} 0',
    'latchkey_cluster_agent_state{state="duplicate"} 0',
  ]);
  stop.abort();
});
