import { afterEach, describe, expect, test } from "vitest";
import { ownLocations } from "../../src/authn/guarded-namespaces.ts";
import { exposeLabelTrust, oneLocation } from "../../src/authn/request-locations.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { guardedCluster, namespaceOf, type PolicyAnswer } from "./fake-guarded-cluster.ts";
import { FakeListWatch } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const base = { target: "Cluster", cluster: "east" };
const inWeb = { ...base, project: "web" };
const needing = [{ ...emptyScope, projects: ["web"] }];

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A cluster whose namespaces a scope has needed for a second. */
async function followed(...given: Parameters<typeof guardedCluster>) {
  const cluster = guardedCluster(...given);
  closing.push(() => cluster.guarded.close());
  void cluster.guarded.decided(needing);
  await cluster.clock.run(1_000);
  return cluster;
}

const web = namespaceOf("web", "a", { "management.service/space": "dev", other: "label" });

describe("the labels of a connected cluster", () => {
  test("say where a request is, while the policy that guards them is there", async () => {
    const { guarded, log } = await followed([web, namespaceOf(undefined, "b")]);
    expect(guarded.locationOf("a")).toEqual({ ...inWeb, space: "dev" });
    expect(["b", "c", ""].map((name) => guarded.locationOf(name))).toEqual([base, base, base]);
    expect([guarded.areTrusted, guarded.warnings()]).toEqual([true, []]);
    expect(guarded.denialOf("no", needing)).toBe("no");
    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      "info labels of namespaces count in the cluster",
    ]);
  });

  test.each<[PolicyAnswer, string]>([
    ["NotFound", "does not exist in this cluster; an administrator of the cluster must apply conf"],
    ["weak", "decides something else than that of Latchkey in this cluster; an administrator"],
    ["Forbidden", "may not read ValidatingAdmissionPolicy"],
    ["Network", "could not be checked"],
  ])("do not count while the policy is %s, which is said once", async (answer, text) => {
    const cluster = guardedCluster([web]);
    closing.push(() => cluster.guarded.close());
    cluster.state.answer = answer;
    void cluster.guarded.decided(needing);
    await cluster.clock.run(30_000);
    const { guarded, log, state } = cluster;
    expect(guarded.locationOf("a")).toEqual(base);
    expect(guarded.areTrusted).toBe(false);
    expect(guarded.warnings()).toEqual([expect.stringContaining(text)]);
    expect(guarded.denialOf("no", needing)).toContain(text);
    expect(guarded.denialOf("no", [{ ...emptyScope, clusters: ["*"] }])).toBe("no");
    const warnings = log.lines.filter(({ level }) => level === "warn");
    // An answer that does not arrive is in /readyz alone.
    expect(warnings).toHaveLength(answer === "Network" ? 0 : 1);
    expect([state.changes, state.asked.length >= 10]).toEqual([0, true]);
    cluster.state.answer = "shipped";
    await cluster.clock.run(6_000);
    expect(guarded.locationOf("a")).toEqual({ ...inWeb, space: "dev" });
    expect(state.changes).toBeGreaterThan(0);
  });

  test.each<PolicyAnswer>(["NotFound", "weak", "Forbidden"])(
    "do not count any more within a minute after the policy became %s",
    async (answer) => {
      const { guarded, clock, state } = await followed([web]);
      const before = state.changes;
      state.answer = answer;
      await clock.run(58_000);
      expect(guarded.locationOf("a").project).toBe("web");
      await clock.run(3_000);
      expect([guarded.locationOf("a"), state.changes > before]).toEqual([base, true]);
    },
  );

  test("count for 90 s after the last answer of a cluster that is away", async () => {
    const { guarded, clock, state } = await followed([web]);
    state.answer = "Network";
    await clock.run(88_000);
    expect(guarded.locationOf("a").project).toBe("web");
    await clock.run(3_000);
    expect(guarded.locationOf("a")).toEqual(base);
  });

  test("do not count while the watch is older than it may be", async () => {
    const { guarded, clock, state, log } = await followed([web], { freshForMs: 30_000 });
    const before = state.changes;
    await clock.run(28_000);
    expect(guarded.locationOf("a").project).toBe("web");
    await clock.run(2_000);
    expect(guarded.locationOf("a")).toEqual(base);
    expect(guarded.warnings()).toEqual([expect.stringContaining("no watch response")]);
    expect(log.lines.map(({ level }) => level)).toEqual(["info", "warn"]);
    expect(state.changes).toBeGreaterThan(before);
  });

  test("are followed: a change, a removal, and a namespace that is made anew", async () => {
    const listWatch = new FakeListWatch({ namespaces: [web] });
    const { guarded, state } = await followed([], { listWatch });
    const emit = async (type: "ADDED" | "MODIFIED" | "DELETED", object: typeof web) => {
      const before = state.changes;
      listWatch.emit("namespaces", type, object);
      await settled();
      return [guarded.locationOf("a").project, state.changes - before];
    };
    expect(await emit("MODIFIED", namespaceOf("pay", "a"))).toEqual(["pay", 1]);
    expect(await emit("MODIFIED", namespaceOf("pay", "a", { other: "x" }))).toEqual(["pay", 0]);
    expect(await emit("DELETED", namespaceOf("pay", "a"))).toEqual([undefined, 1]);
    expect(await emit("ADDED", namespaceOf("web", "a"))).toEqual(["web", 1]);
  });

  test("are listed once, and not while the policy is missing", async () => {
    const listWatch = new FakeListWatch({ namespaces: [web] });
    let lists = 0;
    const list: typeof listWatch.list = (...wanted) => {
      lists += 1;
      return FakeListWatch.prototype.list.apply(listWatch, wanted);
    };
    const cluster = guardedCluster([], { listWatch: Object.assign(listWatch, { list }) });
    closing.push(() => cluster.guarded.close());
    cluster.state.answer = "NotFound";
    void cluster.guarded.decided(needing);
    await cluster.clock.run(20_000);
    expect(lists).toBe(0);
    cluster.state.answer = "shipped";
    await cluster.clock.run(300_000);
    expect([lists, cluster.guarded.areTrusted]).toEqual([1, true]);
  });

  test("are read only once a scope needs them", async () => {
    const { guarded, clock, state } = guardedCluster([web]);
    await guarded.decided([{ ...emptyScope, clusters: ["*"], rules: [] }, "none", "unreadable"]);
    await clock.run(120_000);
    expect([state.asked, guarded.areTrusted, guarded.warnings()]).toEqual([[], undefined, []]);
    expect(guarded.locationOf("a")).toEqual(base);
    expect(clock.pending).toBe(0);
  });
});

describe("a request that needs the labels", () => {
  const waitsFor = async (answer: PolicyAnswer) => {
    const cluster = guardedCluster([web]);
    closing.push(() => cluster.guarded.close());
    cluster.state.answer = answer;
    let waited: number | undefined;
    void cluster.guarded.decided(needing).then(() => (waited = cluster.clock.monotonic()));
    await cluster.clock.run(20_000);
    return waited;
  };
  test("waits until they are read", async () => {
    expect(await waitsFor("shipped")).toBeLessThanOrEqual(500);
  });
  test("does not wait for a policy that is missing", async () => {
    expect(await waitsFor("NotFound")).toBeLessThanOrEqual(500);
  });
  test("waits 5 s for a cluster that does not answer", async () => {
    expect(await waitsFor("Network")).toBe(5_000);
  });
  test("waits no longer once its client has left", async () => {
    const { guarded } = guardedCluster([web]);
    closing.push(() => guarded.close());
    const [leaving, left] = [new AbortController(), new Error("the client left")];
    const waiting = guarded.decided(needing, leaving);
    leaving.abort(left);
    await expect(waiting).rejects.toBe(left);
  });
});

describe("what another administrator decides is bounded", () => {
  const many = (count: number, project?: string) =>
    Array.from({ length: count }, (_, at) => namespaceOf(project, `n${at}`));

  test("100,000 namespaces of no project cost nothing", async () => {
    const { guarded } = await followed([...many(100_000), web]);
    expect(guarded.locationOf("a").project).toBe("web");
  });

  test("no label counts with more than 20,000 namespaces of projects, until there are fewer", async () => {
    const namespaces = many(20_001, "web");
    const { guarded, clock, log } = await followed(namespaces);
    expect(guarded.locationOf("n1")).toEqual(base);
    expect(guarded.warnings()).toEqual([expect.stringContaining("more than 20000 namespaces")]);
    namespaces.pop();
    await clock.run(61_000);
    expect(guarded.locationOf("n1").project).toBe("web");
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("no label counts once a watch brings more", async () => {
    const listWatch = new FakeListWatch({ namespaces: many(20_000, "web") });
    const { guarded } = await followed([], { listWatch });
    expect(guarded.locationOf("n1").project).toBe("web");
    listWatch.emit("namespaces", "ADDED", namespaceOf("web", "one-more"));
    await settled();
    expect(guarded.locationOf("n1")).toEqual(base);
  });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ["a name", { name: "x".repeat(64) }],
    ["a uid", { uid: "x".repeat(64) }],
    ["a resourceVersion", { resourceVersion: "1".repeat(64) }],
    ["a label", { labels: { "management.service/project": "x".repeat(64) } }],
  ])("a namespace with %s that is too long is not kept", async (_what, change) => {
    const metadata: Readonly<Record<string, unknown>> = { ...web.metadata, ...change };
    const { guarded } = await followed([{ ...web, metadata }]);
    expect(guarded.areTrusted).toBe(true);
    expect(guarded.locationOf(String(metadata["name"]))).toEqual(base);
  });
});

describe("the cluster of a process itself", () => {
  const own = (clusterName: string, virtualClusterNamespace?: string) => {
    const [clock, metrics] = [new TestClock(), createMetrics()];
    const listWatch = new FakeListWatch({ namespaces: [web] });
    const locations = ownLocations(
      { clusterName, virtualClusterNamespace },
      {
        listWatch,
        clock,
        log: recordingLog(),
        yielder: new Yielder(clock),
        metrics,
        random: () => 0.5,
        onChange() {},
        client: { get: async () => undefined, review: async () => undefined },
      },
    );
    closing.push(() => locations.close());
    return { locations, metrics, clock };
  };

  test("is a cluster whose namespaces it follows from its start", async () => {
    const { locations, metrics, clock } = own("east");
    void locations.run?.(new AbortController().signal);
    await clock.run(1_000);
    expect(locations.warnings()).toEqual([expect.stringContaining("does not exist")]);
    expect((await metrics.render()).text).toContain(
      'latchkey_cluster_labels_trusted{cluster="cluster/east"} 0',
    );
  });

  test("is the virtual cluster of a project, where labels are those of a tenant", async () => {
    const { locations } = own("web/dev", "vc-web");
    const location = {
      target: "ProjectVirtualCluster",
      project: "web",
      virtualCluster: "dev",
      latchkeyNamespaces: new Set(),
    };
    await locations.decided(needing);
    expect(locations.locationOf("a")).toEqual({ ...location, virtualClusterNamespace: "vc-web" });
    expect(locations.warnings()).toEqual([]);
    expect(own("web/dev").locations.locationOf("a")).toEqual({
      ...location,
      latchkeyNamespaces: "unknown",
    });
  });
});

test("a location that is the same for all requests has nothing to wait for", async () => {
  const locations = oneLocation({ target: "Cluster", cluster: "" });
  await locations.decided(needing);
  expect([locations.denialOf("no", needing), locations.areTrusted]).toEqual(["no", undefined]);
  await locations.close();
});

test("the metric names at most 100 clusters, those without trust first", async () => {
  const metrics = createMetrics();
  const all = Array.from({ length: 200 }, (_, at) => [`cluster/c${at}`, at !== 150] as const);
  exposeLabelTrust(() => all, metrics);
  const lines =
    (await metrics.render()).text.match(/^latchkey_cluster_labels_trusted\{.*$/gm) ?? [];
  expect([lines.length, lines[0]]).toEqual([
    100,
    'latchkey_cluster_labels_trusted{cluster="cluster/c150"} 0',
  ]);
});
