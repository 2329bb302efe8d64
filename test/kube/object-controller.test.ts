import { describe, expect, test } from "vitest";
import { parseMetadata } from "../../src/api/parse.ts";
import { resources } from "../../src/api/resources.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { ObjectController } from "../../src/kube/object-controller.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { FakeListWatch, rawObject } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const namespace = "ns";
const versioned = (resourceVersion: string) =>
  rawObject({ namespace, name: "object-a", resourceVersion });

/** A running controller of two objects, one of which exists. */
async function controlling({ failures = 0 } = {}) {
  const [clock, stop, listWatch] = [
    new TestClock(),
    new AbortController(),
    new FakeListWatch({ secrets: [versioned("1")] }),
  ];
  const events: string[] = [];
  let failuresLeft = failures;
  const controller = new ObjectController(
    {
      clock,
      listWatch,
      yielder: new Yielder(clock),
      log: recordingLog(),
      random: () => 0.5,
      metrics: createMetrics(),
    },
    {
      name: "secrets",
      resource: resources.secrets,
      objects: new Map(["a", "b"].map((key) => [key, { namespace, name: `object-${key}` }])),
      parse: parseMetadata,
      onChange: ({ after }) => void events.push(`changed ${after?.resourceVersion}`),
      async reconcile(key) {
        events.push(`reconcile ${key}`);
        if (failuresLeft > 0) {
          failuresLeft -= 1;
          throw new KubeError("x", { code: "Conflict", status: 409 });
        }
        return { kind: "done" };
      },
    },
  );
  expect(controller.all()).toBeUndefined();
  const running = controller.run(stop.signal);
  await settled();
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, controller, events, listWatch, end };
}

describe("a controller of objects with fixed names", () => {
  test("reconciles an object after each change, by its key", async () => {
    const { controller, events, listWatch, end } = await controlling();
    await controller.synced;
    expect(events).toEqual(["changed 1", "reconcile a"]);
    expect([controller.get("a")?.name, controller.get("b"), controller.all()?.length]).toEqual([
      "object-a",
      undefined,
      1,
    ]);
    listWatch.emit("secrets", "MODIFIED", versioned("2"));
    await settled();
    expect(events.slice(2)).toEqual(["changed 2", "reconcile a"]);
    await end();
  });

  test("reconciles an object that does not exist if it is enqueued", async () => {
    const { controller, events, end } = await controlling();
    controller.enqueue("b");
    await settled();
    expect(events.at(-1)).toBe("reconcile b");
    await end();
  });

  test("observes the response of a write before the watch does", async () => {
    const { controller, events, end } = await controlling();
    controller.observe("a", versioned("3"));
    await settled();
    expect([controller.get("a")?.resourceVersion, events.at(-2)]).toEqual(["3", "changed 3"]);
    await end();
  });

  test("tries again after a conflict", async () => {
    const { clock, events, end } = await controlling({ failures: 1 });
    await clock.run(1_000);
    await settled();
    expect(events).toEqual(["changed 1", "reconcile a", "reconcile a"]);
    await end();
  });
});
