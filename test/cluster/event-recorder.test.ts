import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Event } from "../../src/api/event.ts";
import { resources } from "../../src/api/resources.ts";
import { createClient } from "../../src/kube/client/client.ts";
import { EventRecorder } from "../../src/kube/event-recorder.ts";
import { mostOwnResponseBytes } from "../../src/kube/client/exchange.ts";
import { loadCredentials } from "../../src/kube/credentials/load-credentials.ts";
import { createTransport, type Transport } from "../../src/kube/client/transport.ts";
import { systemClock as clock } from "../../src/runtime/clock.ts";
import { arrange, makeNamespace, unique } from "../support/policy-request.ts";
import { recordingLog } from "../support/recording-log.ts";

const log = recordingLog();
let transport: Transport;
let recorder: EventRecorder;

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
  const client = createClient(transport, "test");
  recorder = new EventRecorder({
    client,
    clock,
    log,
    reporter: "management.service/latchkey",
    identity: "host_1",
  });
});

afterAll(() => transport.close());

const notice = {
  type: "Warning",
  reason: "Conflict",
  note: "ä".repeat(2000),
  deduplicationKey: "1",
} as const;

async function eventsAbout(namespace: string, uid: string): Promise<unknown> {
  const { items } = await arrange({
    method: "GET",
    path: `/api/v1/namespaces/${namespace}/events?fieldSelector=involvedObject.uid=${uid}`,
  });
  return items;
}

test("an Event is recorded once, and kubectl finds it by its object", async () => {
  const subject = { namespace: await makeNamespace(), name: "db", uid: unique("uid") };
  const about: Event = { ...notice, resource: resources.sharedSecrets, subject };
  await recorder.record(about);
  await recorder.record(about);
  expect(log.lines.splice(0)).toMatchObject([{ level: "info", message: "Event recorded" }]);
  expect(await eventsAbout(subject.namespace, subject.uid)).toMatchObject([
    {
      type: "Warning",
      reason: "Conflict",
      involvedObject: { kind: "SharedSecret", ...subject },
      reportingComponent: "management.service/latchkey",
    },
  ]);
});

test("an Event of a cluster-scoped object is recorded in the namespace default", async () => {
  const subject = { name: `${"k".repeat(200)}.${"x".repeat(40)}`, uid: unique("uid") };
  await recorder.record({
    ...notice,
    type: "Normal",
    reason: "Expired",
    resource: resources.ownedAccessKeys,
    subject,
  });
  expect(log.lines.splice(0)).toMatchObject([{ level: "info", message: "Event recorded" }]);
  expect(await eventsAbout("default", subject.uid)).toMatchObject([
    { type: "Normal", reason: "Expired", involvedObject: { kind: "OwnedAccessKey", ...subject } },
  ]);
});
