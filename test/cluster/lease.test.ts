import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { resources } from "../../src/api/resources.ts";
import { type Client, createClient } from "../../src/kube/client/client.ts";
import { mostOwnResponseBytes } from "../../src/kube/client/exchange.ts";
import { loadCredentials } from "../../src/kube/credentials/load-credentials.ts";
import { LeaderElection } from "../../src/kube/leader-election.ts";
import { createTransport, type Transport } from "../../src/kube/client/transport.ts";
import { systemClock as clock } from "../../src/runtime/clock.ts";
import { eventually } from "../support/eventually.ts";
import { unique } from "../support/policy-request.ts";
import { recordingLog } from "../support/recording-log.ts";

const times = { leaseDuration: 2000, renewDeadline: 1500, retryPeriod: 200 };
let transport: Transport;
let client: Client;

beforeAll(async () => {
  const credentials = await loadCredentials(
    { kubeconfig: inject("controlPlane").adminKubeconfig, env: {} },
    clock,
  );
  transport = createTransport({
    credentials,
    clock,
    connections: 4,
    timeoutMs: 10_000,
    mostBytes: mostOwnResponseBytes,
  });
  client = createClient(transport, "test");
});

afterAll(() => transport.close());

interface Candidate {
  readonly election: LeaderElection;
  readonly stop: AbortController;
  readonly ended: Promise<string>;
}

function stand(name: string, identity: string): Candidate {
  const stop = new AbortController();
  const lease = { namespace: "default", name };
  const election = new LeaderElection({
    client,
    clock,
    random: Math.random,
    log: recordingLog(),
    lease,
    identity,
    times,
  });
  const onLeading = (leading: AbortSignal): Promise<void> =>
    new Promise((resolve) => leading.addEventListener("abort", () => resolve()));
  return { election, stop, ended: election.run({ signal: stop.signal, onLeading }) };
}

function leads({ election }: Candidate): boolean {
  return election.remainingMs() > 0;
}

async function specOf(name: string): Promise<Readonly<Record<string, unknown>>> {
  return recordAt(await client.get(resources.leases, { namespace: "default", name }), "spec");
}

test("one of two candidates leads, renews and releases the Lease, and the other acquires it", async () => {
  const name = unique("lease");
  const [a, b] = [stand(name, "a"), stand(name, "b")];
  const first = await eventually(() => [a, b].find(leads), { what: "a leader" });
  const second = first === a ? b : a;
  const { renewTime } = await specOf(name);
  await eventually(async () => (await specOf(name))["renewTime"] !== renewTime, {
    what: "a renewal",
  });
  expect(leads(second)).toBe(false);
  first.stop.abort();
  expect(await first.ended).toBe("released");
  await eventually(() => leads(second), { what: "the other to lead" });
  expect(await specOf(name)).toMatchObject({
    holderIdentity: second === a ? "a" : "b",
    leaseTransitions: 1,
  });
  second.stop.abort();
  expect(await second.ended).toBe("released");
  expect(await specOf(name)).toMatchObject({ holderIdentity: "" });
});

test("the Lease of a dead holder is acquired when it has expired", async () => {
  const name = unique("lease");
  const spec = {
    holderIdentity: "gone",
    leaseDurationSeconds: 1,
    renewTime: "2026-01-01T00:00:00.000000Z",
    leaseTransitions: 4,
  };
  await client.create(resources.leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "default", name },
    spec,
  });
  const a = stand(name, "a");
  await eventually(() => leads(a), { what: "the Lease to run out" });
  expect(await specOf(name)).toMatchObject({ holderIdentity: "a", leaseTransitions: 5 });
  a.stop.abort();
  await a.ended;
});

test("a leader stops leading if it reads another holder in the Lease", async () => {
  const name = unique("lease");
  const a = stand(name, "a");
  await eventually(() => leads(a), { what: "a leader" });
  await eventually(() => usurp(name), { what: "a write between two renewals" });
  expect(await a.ended).toBe("lost");
  expect(a.election.remainingMs()).toBe(0);
});

async function usurp(name: string): Promise<boolean> {
  const ref = { namespace: "default", name };
  const seen = recordAt(await client.get(resources.leases, ref), "metadata");
  const body = {
    metadata: { resourceVersion: String(seen["resourceVersion"]) },
    spec: { holderIdentity: "b" },
  };
  return client.patch(resources.leases, ref, { body }).then(
    () => true,
    () => false,
  );
}
