import { afterEach, expect, test } from "vitest";
import { controllers } from "../../src/controllers/queues.ts";
import { centralProgram } from "../../src/controllers/central-program.ts";
import { createController } from "../../src/controllers/controller.ts";
import { components } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import { outboxReconciler } from "../../src/controllers/kinds/outbox.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import type { ListOptions } from "../../src/kube/informer/list-options.ts";
import type { ListWatch } from "../../src/kube/informer/list-watch.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { EventRecorder } from "../../src/kube/event-recorder.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { controllerOptions } from "../support/controller-options.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { refusal, type Request, FakeClient } from "../support/fake-client.ts";
import { rawSharedSecret, projectNamespace } from "../support/fake-informers.ts";
import { rawObject, FakeListWatch } from "../support/fake-list-watch.ts";
import {
  outboxKeyOf,
  rawCluster,
  rawOutboxNamespace,
  rawSent,
  rawShared,
} from "../support/outbox-objects.ts";
import { fakeWorld } from "../support/world.ts";

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

/** Responds like the API server to a write that it accepts. */
function taken({ body, ref }: Request): unknown {
  const object = typeof body === "object" ? body : {};
  return rawObject({ ...ref }, { ...object });
}

function setup(
  answer: (request: Request) => unknown = taken,
  listWatch = new FakeListWatch({
    namespaces: [projectNamespace("pay")],
    sharedsecrets: [rawSharedSecret("db")],
  }),
) {
  const [clock, log, stop, client] = [
    new TestClock(),
    recordingLog(),
    new AbortController(),
    new FakeClient(answer),
  ];
  const events = new EventRecorder({ client, clock, log, reporter: "test", identity: "test" });
  const logOfCopies = recordingLog();
  const metrics = createMetrics();
  const controller = createController(centralProgram(controllerOptions, clock), {
    clientOf: () => client,
    logOf: (queue) => (queue === "copy" ? logOfCopies : log),
    listWatch,
    yielder: new Yielder(clock),
    events,
    clock,
    random: () => 0.5,
    log,
    metrics,
  });
  stops.push(stop);
  return { clock, log, logOfCopies, stop, client, listWatch, metrics, controller };
}

test("a queue whose objects are in another cluster has its own log", async () => {
  const { controller, log, logOfCopies, stop } = setup(({ resource }) =>
    resource === resources.secrets ? refusal("Network") : refusal("ServerError"),
  );
  const followed = controller.follow(stop.signal);
  await settled();
  const led = controller.lead(stop.signal);
  await settled();
  stop.abort();
  await Promise.all([followed, led]);
  const failed = ({ lines }: typeof log) =>
    new Set(lines.flatMap(({ level, fields }) => (level === "warn" ? [fields.controller] : [])));
  expect([...failed(logOfCopies)]).toEqual(["copy"]);
  expect([...failed(log)]).toContain("signingkeys");
  expect([...failed(log)]).not.toContain("copy");
});

test("a follower fills its stores and writes nothing", async () => {
  const { client, controller, stop, listWatch } = setup();
  const followed = controller.follow(stop.signal);
  await settled();
  await settled();
  listWatch.emit("namespaces", "ADDED", projectNamespace("play"));
  await settled();
  expect([controller.informers.stores.namespaces.size, client.lines]).toEqual([2, []]);
  stop.abort();
  await followed;
});

test("the metrics of every controller are 0 in a follower", async () => {
  const { metrics, controller } = setup();
  const { text } = await metrics.render();
  const lines = text.split("\n");
  expect(lines).toContain(`controller_runtime_max_concurrent_reconciles{controller="copy"} 2`);
  const names = controller.informers.reconcilers.map(({ queue }) => controllers[queue]);
  expect(names).toContain("requestergrant");
  for (const name of names)
    expect(lines).toEqual(
      expect.arrayContaining([
        `controller_runtime_reconcile_total{controller="${name}",result="error"} 0`,
        `workqueue_retries_total{name="${name}"} 0`,
      ]),
    );
  expect(lines).toContain(
    'latchkey_watch_interruptions_total{resource="secrets",code="Network"} 0',
  );
});

test("a leader writes what is missing, follows changes, and stops when its signal aborts", async () => {
  const { client, controller, stop, listWatch, clock } = setup();
  const leading = new AbortController();
  stops.push(leading);
  void controller.follow(stop.signal);
  const led = controller.lead(leading.signal);
  await clock.run(5000);
  expect(client.lines).toEqual(
    expect.arrayContaining([
      "create secrets pay/db",
      "create secrets latchkey-system/latchkey-signing-keys",
    ]),
  );
  listWatch.emit("namespaces", "ADDED", projectNamespace("play"));
  await clock.run(5000);
  expect(client.lines).toContain("create secrets play/db");
  leading.abort();
  await led;
  const before = client.lines.length;
  listWatch.emit("namespaces", "ADDED", projectNamespace("late"));
  await clock.run(5000);
  expect(client.lines).toHaveLength(before);
});

test("a leader whose signal aborts before everything is listed never reconciles", async () => {
  const { client, controller } = setup();
  const leading = new AbortController();
  const led = controller.lead(leading.signal);
  leading.abort();
  await led;
  await controller.lead(leading.signal);
  expect(client.lines).toEqual([]);
});

/** Lists of an API server, of which these come late. */
class LateLists extends FakeListWatch {
  readonly late = Promise.withResolvers<void>();
  readonly #isLate: (selection: ListOptions) => boolean;

  constructor(
    listed: ConstructorParameters<typeof FakeListWatch>[0],
    isLate: (selection: ListOptions) => boolean,
  ) {
    super(listed);
    this.#isLate = isLate;
  }

  override async list(...[selection, ...rest]: Parameters<ListWatch["list"]>): Promise<string> {
    if (this.#isLate(selection)) await this.late.promise;
    return super.list(selection, ...rest);
  }
}

test.each<[string, (selection: ListOptions) => boolean]>([
  ["the connected clusters", ({ namespace }) => namespace === clustersNamespace],
  ["the outboxes", ({ fieldSelector = "" }) => fieldSelector.startsWith("type=")],
  ["the namespaces", ({ resource }) => resource === resources.namespaces],
  ["the SharedSecrets", ({ resource }) => resource === resources.sharedSecrets],
  ["the reports", ({ labelSelector = "" }) => labelSelector.includes(components.clusterReport)],
])(
  "a new leader writes nothing before it has listed %s, and then no Secret of a current outbox",
  async (_, isLate) => {
    const namespaces = [rawOutboxNamespace("east")];
    const [source, cluster] = [rawShared("db"), rawCluster("east", "web")];
    const before = await fakeWorld({ namespaces, sharedsecrets: [source], secrets: [cluster] });
    await before.reconcile(outboxReconciler, outboxKeyOf("db"));
    const secrets = [cluster, rawSent(before.client.requests.at(-1)?.body)];
    const lists = new LateLists({ namespaces, sharedsecrets: [source], secrets }, isLate);
    const { client, controller, stop, clock } = setup(taken, lists);
    void controller.follow(stop.signal);
    void controller.lead(stop.signal);
    await clock.run(5_000);
    expect(client.lines).toEqual([]);
    lists.late.resolve();
    await clock.run(5_000);
    expect(client.lines).toContain("patch sharedsecrets team/db");
    expect(client.lines.filter((line) => line.includes(outboxNamespace("east")))).toEqual([]);
  },
);

test("a rejected write of a target is in the status of its source until it succeeds", async () => {
  let isFull = true;
  const full = refusal("Forbidden", { explanation: "exceeded quota", reason: "Forbidden" });
  const { client, controller, stop, clock } = setup((request) =>
    isFull && request.verb === "create" && request.ref.namespace === "pay" ? full : taken(request),
  );
  void controller.follow(stop.signal);
  void controller.lead(stop.signal);
  await clock.run(2000);
  const statuses = () =>
    client.requests
      .filter(({ verb, resource }) => verb === "patch" && resource.plural === "sharedsecrets")
      .map(({ body }) => JSON.stringify(body));
  expect(statuses().at(-1)).toContain("exceeded quota");
  isFull = false;
  await clock.run(5_000);
  expect(client.lines.filter((line) => line === "create secrets pay/db").length).toBeGreaterThan(1);
  expect(statuses().at(-1)).not.toContain("exceeded quota");
});
