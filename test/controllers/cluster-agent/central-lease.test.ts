import { expect, test } from "vitest";
import { recordAt } from "../../../src/api/parse.ts";
import { CentralLease } from "../../../src/controllers/cluster-agent/central-lease.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { FakeClient } from "../../support/fake-client.ts";
import { rawObject } from "../../support/fake-list-watch.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { TestClock } from "../../support/test-clock.ts";

function setup(holder: string) {
  const spec: { holderIdentity: string } = { holderIdentity: holder };
  const state = {
    error: undefined as Error | undefined,
    localError: undefined as Error | undefined,
    answer: undefined as unknown,
  };
  const local = new FakeClient(
    () => state.localError ?? rawObject({ name: "kube-system", uid: "uid-east" }),
  );
  const central = new FakeClient(({ verb, body }) => {
    if (state.error !== undefined) return state.error;
    if (verb === "replace") Object.assign(spec, recordAt(body, "spec"));
    return state.answer ?? rawObject({ namespace: "box", name: "lease" }, { spec });
  });
  const [log, localLog] = [recordingLog(), recordingLog()];
  const lease = new CentralLease({
    local,
    central,
    log: localLog,
    centralLog: log,
    clock: new TestClock(),
    lease: { namespace: "box", name: "lease" },
  });
  return { lease, central, spec, state, log, localLog };
}

test("a leader takes an outbox that is free, with its heartbeat", async () => {
  const { lease, spec } = setup("");
  await lease.beat(true);
  expect(lease.identity).toEqual({ kind: "own" });
  expect(spec).toMatchObject({
    holderIdentity: "uid-east",
    leaseDurationSeconds: 30,
    renewTime: "2026-01-01T00:00:00.000000Z",
  });
});

test("a replica that does not lead writes nothing, and learns whose outbox it is", async () => {
  const free = setup("");
  await free.lease.beat(false);
  const own = setup("uid-east");
  await own.lease.beat(false);
  expect([free.lease.identity, own.lease.identity]).toEqual([{ kind: "unknown" }, { kind: "own" }]);
  expect([...free.central.lines, ...own.central.lines]).toEqual([
    "get leases box/lease",
    "get leases box/lease",
  ]);
});

test("the outbox of another cluster is left alone, until it is free", async () => {
  const { lease, spec, central } = setup("uid-west".padEnd(1_000, "x"));
  await lease.beat(true);
  expect(lease.identity).toEqual({ kind: "other", uid: "uid-west".padEnd(63, "x") });
  expect(central.lines).toEqual(["get leases box/lease"]);
  spec.holderIdentity = "";
  await lease.beat(true);
  expect(lease.identity).toEqual({ kind: "own" });
});

test.each(["Unauthorized", "Forbidden", "NotFound", "Network"] as const)(
  "%s changes nothing that is known",
  async (code) => {
    const { lease, state, log } = setup("uid-east");
    await lease.beat(true);
    state.error = new KubeError("refused", { code, status: 0 });
    await lease.beat(true);
    expect(lease.identity).toEqual({ kind: "own" });
    expect(log.lines).toMatchObject([{ level: "warn", fields: { code } }]);
  },
);

test("a failure of the connected cluster is said in its own log", async () => {
  const { lease, state, log, localLog } = setup("uid-east");
  state.localError = new KubeError("away", { code: "Network", status: 0 });
  await lease.beat(true);
  expect([log.lines, localLog.lines.length]).toEqual([[], 1]);
});

test.each([undefined, 7, {}, { metadata: { name: 1 } }])(
  "an answer that is no Lease changes nothing: %j",
  async (answer) => {
    const { lease, state } = setup("uid-east");
    await lease.beat(true);
    state.answer = answer ?? "";
    await lease.beat(true);
    expect(lease.identity).toEqual({ kind: "own" });
  },
);
