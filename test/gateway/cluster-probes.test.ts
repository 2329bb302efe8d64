import { expect, onTestFinished, test } from "vitest";
import { ClusterProbes } from "../../src/gateway/cluster-probes.ts";
import { settled, TestClock } from "../support/test-clock.ts";

/** Probes of these clusters: whether each is reachable, or undefined without a usable kubeconfig. */
function probing(clusters: Map<string, boolean | undefined>, throttled = new Set<string>()) {
  const [clock, stop] = [new TestClock(), new AbortController()];
  let asked = 0;
  const find = (name: string) => {
    const isReachable = clusters.get(name);
    asked += 1;
    if (isReachable === undefined) return undefined;
    return { isReachable: async () => isReachable, isThrottled: throttled.has(name) };
  };
  const names = () => [...clusters.keys()];
  const synced = Promise.resolve();
  const reported: string[] = [];
  const reportThrottled = (name: string): void => void reported.push(name);
  const probes = new ClusterProbes({ clusters: { names, find, reportThrottled, synced }, clock });
  void probes.run(stop.signal);
  onTestFinished(() => stop.abort());
  return { clock, probes, reported, asked: () => asked };
}

test("every cluster is asked each half minute; those that are gone are forgotten", async () => {
  const clusters = new Map([
    ["cluster/east", true],
    ["cluster/west", false],
    ["cluster/south", undefined],
  ]);
  const { clock, probes, asked } = probing(clusters);
  await settled();
  expect(probes.readings()).toEqual({
    counts: { reachable: 1, unreachable: 2 },
    named: [
      ["cluster/south", { isReachable: false, isThrottled: false }],
      ["cluster/west", { isReachable: false, isThrottled: false }],
      ["cluster/east", { isReachable: true, isThrottled: false }],
    ],
  });
  clusters.delete("cluster/south");
  clusters.set("cluster/west", true);
  await clock.run(29_000);
  expect(asked()).toBe(3);
  await clock.run(1_000);
  expect(asked()).toBe(5);
  expect(probes.readings().counts).toEqual({ reachable: 2, unreachable: 0 });
});

test("100 clusters are named, those that are not reachable first", async () => {
  const clusters = new Map(Array.from({ length: 102 }, (_, index) => [`c${index}`, index < 101]));
  const { probes } = probing(clusters);
  await settled();
  const { counts, named } = probes.readings();
  expect(counts).toEqual({ reachable: 101, unreachable: 1 });
  expect([named.length, named[0]?.[0]]).toEqual([100, "c101"]);
});

test("a cluster that is throttled is reported, and named after those that are not reachable", async () => {
  const clusters = new Map([
    ["cluster/east", true],
    ["cluster/north", true],
    ["cluster/west", false],
  ]);
  const throttled = new Set(["cluster/north"]);
  const { clock, probes, reported } = probing(clusters, throttled);
  await settled();
  expect(probes.readings().named.map(([name]) => name)).toEqual([
    "cluster/west",
    "cluster/north",
    "cluster/east",
  ]);
  expect(reported).toEqual(["cluster/north"]);
  throttled.clear();
  await clock.run(30_000);
  expect(reported).toEqual(["cluster/north"]);
  expect(probes.readings().named.some(([, { isThrottled }]) => isThrottled)).toBe(false);
});
