/* Lists objects into a controller that does not lead, and scrapes its metrics; prints JSON. */
import { performance } from "node:perf_hooks";
import { centralProgram } from "../../src/controllers/central-program.ts";
import { createController } from "../../src/controllers/controller.ts";
import { EventRecorder } from "../../src/kube/event-recorder.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { systemClock as clock } from "../../src/runtime/clock.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { requestMetrics } from "../../src/runtime/work-metrics.ts";
import { controllerOptions } from "../support/controller-options.ts";
import { FakeClient } from "../support/fake-client.ts";
import { percentile } from "../support/percentile.ts";
import { recordingLog } from "../support/recording-log.ts";
import { listedObjects } from "./listed-objects.ts";

const [sources = 0, targets = 0, keys = 0] = process.argv.slice(2).map(Number);
const scrapes = 200;

const metrics = createMetrics();
requestMetrics("127.0.0.1:6443", metrics);
const [client, log] = [new FakeClient(() => ({})), recordingLog()];
const controller = createController(centralProgram(controllerOptions, clock), {
  clientOf: () => client,
  clock,
  log,
  metrics,
  random: Math.random,
  listWatch: listedObjects({ sources, targets, keys, isReconciled: true }),
  yielder: new Yielder(clock),
  events: new EventRecorder({ client, clock, log, reporter: "bench", identity: "bench" }),
});
const stop = new AbortController();
const followed = controller.follow(stop.signal);
const { stores, staleReasons } = controller.informers;
while (staleReasons().length > 0) await new Promise((wake) => setTimeout(wake, 20));
if (stores.copies.size !== sources * targets || stores.keys.size !== keys)
  throw new Error(`only ${stores.copies.size} copies and ${stores.keys.size} keys are stored`);

const took: number[] = [];
let text = "";
for (let count = 0; count < scrapes; count += 1) {
  const began = performance.now();
  ({ text } = await metrics.render());
  took.push(performance.now() - began);
}
const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const named = series.filter((line) => line.startsWith("latchkey_object_not_ready{"));
process.stdout.write(
  `${JSON.stringify({
    series: series.length,
    named: named.length,
    bytes: Buffer.byteLength(text),
    median: percentile(took, 0.5),
    most: Math.max(...took),
  })}\n`,
);
stop.abort();
await followed;
