import { describe, expect, test } from "vitest";
import { aggregatedDiscovery } from "../../../src/api/discovery.ts";
import {
  createDiscovery,
  type DiscoveryBounds,
  groupUnavailable,
} from "../../../src/kube/client/discovery.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import type { ApiRequest } from "../../../src/kube/client/transport.ts";
import { TimeShare } from "../../../src/runtime/time-share.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { settled, TestClock } from "../../support/test-clock.ts";

const resource = (plural: string, kind: string, scope: "Cluster" | "Namespaced") => ({
  resource: plural,
  responseKind: { group: "", version: "", kind },
  scope,
  subresources: [{ subresource: "status" }],
});
const list = (...items: readonly object[]) => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  items,
});
const version = (name: string, ...all: readonly object[]) => ({ version: name, resources: all });
const core = list({
  versions: [
    version(
      "v1",
      resource("bindings", "Binding", "Namespaced"),
      resource("namespaces", "Namespace", "Cluster"),
      resource("secrets", "Secret", "Namespaced"),
    ),
  ],
});
const things = {
  metadata: { name: "things.example" },
  versions: [
    version("v2", resource("things", "Thing", "Cluster")),
    version("v1", resource("things", "Thing", "Namespaced")),
  ],
};
const deployments = resource("deployments", "Deployment", "Namespaced");
const apps = {
  metadata: { name: "apps" },
  versions: [version("v1", deployments, { scope: "Cluster" })],
};

const dead = {
  metadata: { name: "dead.example" },
  versions: [{ version: "v1", freshness: "Stale" }],
};

/** Discovery over documents that a test changes; the tests of the webhook use a real API server. */
function served({
  fails = false,
  bounds,
}: { fails?: boolean; bounds?: Omit<DiscoveryBounds, "share"> } = {}) {
  const documents = new Map<string, object>([
    ["/api", core],
    ["/apis", list(apps)],
  ]);
  const asked = new Array<string>();
  const standing: { fails: boolean; gate?: Promise<void>; parsingMs?: number } = { fails };
  const clock = new TestClock();
  const log = recordingLog();
  const transport = {
    async request({ path, accept }: ApiRequest) {
      asked.push(`${path} ${accept === aggregatedDiscovery ? "aggregated" : String(accept)}`);
      const text = JSON.stringify(documents.get(path));
      await standing.gate;
      if (standing.fails) return { status: 500, text: "{}" };
      return {
        status: 200,
        text,
        get json() {
          clock.advance(standing.parsingMs ?? 0);
          return undefined;
        },
      };
    },
  };
  return {
    documents,
    asked,
    standing,
    clock,
    lines: log.lines,
    discovery: createDiscovery({
      transport,
      clock,
      log,
      ...(bounds && {
        bounds: { ...bounds, share: new TimeShare({ share: 0.02, savedMs: 0 }, clock) },
      }),
    }),
  };
}

describe("kindOf", () => {
  const ofCore = { group: "", plural: "namespaces", namespaced: false };
  const ofApps = { group: "apps", plural: "deployments", namespaced: true };

  test.each<[string, string, string, unknown]>([
    ["returns a kind of the core group", "v1", "Namespace", ofCore],
    ["returns a kind of another group", "apps/v1", "Deployment", ofApps],
    ["returns undefined for a kind that is not served", "apps/v1", "Nothing", undefined],
    ["returns undefined for a version that is not served", "apps/v9", "Deployment", undefined],
    ["returns undefined for a group that is not served", "nowhere/v1", "Nothing", undefined],
    ["returns undefined for the name of an inherited property", "v1", "constructor", undefined],
  ])("%s", async (_what, version, kind, expected) => {
    expect(await served().discovery.kindOf(version, kind)).toEqual(expected);
  });

  test.each([
    ...["../v1", "apps/v1/namespaces/a/deployments", "apis/apps/v1", "apps/v1?watch=1", "apps/"],
    ...["/v1", "", "apps//v1", "apps/%2e%2e", "APPS/v1", ".", "..", "a/.."],
  ])("returns undefined for the invalid apiVersion %j without a request", async (version) => {
    const { discovery, asked } = served();
    expect(await discovery.kindOf(version, "Deployment")).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe("find", () => {
  test("rejects for a group whose API server does not answer, and knows what it had before", async () => {
    const { discovery, documents, clock } = served();
    const kept = { ...dead.versions[0], ...version("v1", resource("kept", "Kept", "Cluster")) };
    documents.set(
      "/apis",
      list(apps, dead, { metadata: { name: "old.example" }, versions: [kept] }),
    );
    expect(await discovery.find("old.example", "kept")).toBe("Cluster");
    const found = discovery.find("dead.example", "widgets").catch((error: unknown) => error);
    await clock.run(1_000);
    expect(await found).toMatchObject({
      code: "ServerError",
      status: 503,
      reason: groupUnavailable,
      explanation: "the API server of the group dead.example does not answer; retry",
    });
    documents.set("/apis", list(apps));
    const gone = discovery.find("dead.example", "widgets");
    await clock.run(1_000);
    expect(await gone).toBe("Unknown");
  });

  test("returns Namespaced, Cluster or Unknown", async () => {
    const { discovery } = served();
    const found = [
      ["", "secrets"],
      ["", "namespaces"],
      ["apps", "deployments"],
      ["", "deployments"],
      ["__proto__", "constructor"],
    ].map(([group = "", plural = ""]) => discovery.find(group, plural));
    expect(await Promise.all(found)).toEqual([
      "Namespaced",
      "Cluster",
      "Namespaced",
      "Unknown",
      "Unknown",
    ]);
  });

  test("returns a cached resource without a request", async () => {
    const { discovery, asked } = served();
    expect(discovery.known("", "secrets")).toBeUndefined();
    await discovery.find("", "secrets");
    expect([
      discovery.known("", "secrets"),
      discovery.known("", "namespaces"),
      discovery.known("", "toString"),
    ]).toEqual(["Namespaced", "Cluster", undefined]);
    expect(await discovery.find("", "namespaces")).toBe("Cluster");
    expect(asked).toEqual(["/api aggregated", "/apis aggregated"]);
  });

  test("returns Namespaced if the versions of a resource differ", async () => {
    const { discovery, documents } = served();
    documents.set("/apis", list(things));
    expect(await discovery.find("things.example", "things")).toBe("Namespaced");
    expect(await discovery.kindOf("things.example/v2", "Thing")).toMatchObject({
      namespaced: false,
    });
  });

  test("returns a new resource after one refresh, a second after the last one", async () => {
    const { discovery, documents, clock, asked } = served();
    await discovery.find("", "secrets");
    documents.set("/apis", list(apps, things));
    const found = discovery.find("things.example", "things");
    await clock.run(999);
    expect(asked).toHaveLength(2);
    await clock.run(1);
    expect(await found).toBe("Namespaced");
    expect(asked).toHaveLength(4);
  });

  test("refreshes once a second for a thousand unknown resources", async () => {
    const { discovery, clock, asked } = served();
    await discovery.find("", "secrets");
    const found = Array.from({ length: 1000 }, (_, index) => discovery.find(`g${index}`, "x"));
    await clock.run(1_000);
    expect(new Set(await Promise.all(found))).toEqual(new Set(["Unknown"]));
    expect(asked).toHaveLength(4);
  });

  test("does not use a response that was requested before the call", async () => {
    const { discovery, documents, clock, asked, standing } = served();
    let open = (): void => {};
    standing.gate = new Promise((resolve) => (open = resolve));
    const first = discovery.find("", "secrets");
    await settled();
    documents.set("/apis", list(things));
    const second = discovery.find("things.example", "things");
    open();
    await first;
    await clock.run(1_000);
    expect([await second, asked.length]).toEqual(["Namespaced", 4]);
  });

  test("removes a resource that is no longer served from the cache", async () => {
    const { discovery, documents, clock } = served();
    await discovery.find("apps", "deployments");
    documents.set("/apis", list());
    const other = discovery.find("other", "others");
    await clock.run(1_000);
    await other;
    expect(discovery.known("apps", "deployments")).toBeUndefined();
  });
});

test.each<[string, (documents: Map<string, object>, standing: { fails: boolean }) => unknown]>([
  ["an API server that fails", (_documents, standing) => (standing.fails = true)],
  [
    "a response in another format",
    (documents) => documents.set("/apis", { kind: "APIGroupList", groups: [] }),
  ],
])("find rejects for %s", async (_what, spoil) => {
  const { discovery, documents, standing } = served();
  spoil(documents, standing);
  await expect(discovery.find("", "nothing")).rejects.toThrow(KubeError);
});

describe("the discovery of an API server that others run", () => {
  const bounds = {
    mostResources: 3,
    pauseMs: { first: 5_000, longest: 60_000 },
    document: { values: 100, depth: 10 },
  };
  const some = (count: number) =>
    list({
      metadata: { name: "many.example" },
      versions: [
        version(
          "v1",
          ...Array.from({ length: count }, (_, at) => resource(`r${at}`, `R${at}`, "Cluster")),
        ),
      ],
    });

  test("fails for more resources than its maximum, and keeps what it had", async () => {
    const { discovery, documents, clock, lines } = served({ bounds });
    documents.set("/apis", some(3));
    expect(await discovery.find("many.example", "r2")).toBe("Cluster");
    documents.set("/apis", some(4));
    const found = discovery.find("many.example", "r3").catch((error: unknown) => error);
    await clock.run(1_000);
    expect(await found).toMatchObject({
      name: "KubeError",
      message: "GET /apis: the response has more than 3 resources",
    });
    expect(discovery.known("many.example", "r2")).toBe("Cluster");
    expect(lines.map(({ fields }) => fields["error"])).toEqual([await found]);
  });

  test.each([
    ["more than 100 values", some(50)],
    ["more than 10 levels", JSON.parse(`${"[".repeat(11)}${"]".repeat(11)}`) as object],
  ])("does not parse a document with %s", async (excess, document) => {
    const { discovery, documents } = served({ bounds });
    documents.set("/apis", document);
    await expect(discovery.find("many.example", "r2")).rejects.toThrow(
      `GET /apis: the response has ${excess}`,
    );
  });

  test("keeps no name of more than 253 characters", async () => {
    const { discovery, documents } = served({ bounds });
    const names = ["a".repeat(253), "a".repeat(254)];
    const all = names.map((plural) => resource(plural, "Thing", "Cluster"));
    documents.set("/apis", list({ versions: [version("v1", ...all)] }));
    expect(await discovery.find("", names[0] ?? "")).toBe("Cluster");
    expect(names.map((plural) => discovery.known("", plural))).toEqual(["Cluster", undefined]);
  });

  test("after a failure asks no more for 5 s, then 10 s, up to 60 s: who needs it fails at once", async () => {
    const { discovery, asked, clock } = served({ bounds, fails: true });
    const askedAt: number[] = [];
    for (let second = 0; second < 200; second += 1) {
      const before = asked.length;
      const found = discovery.find("", "secrets").catch((error: unknown) => error);
      await settled();
      if (asked.length > before) askedAt.push(clock.monotonic() / 1_000);
      expect(await found).toMatchObject({ code: "ServerError", status: 500 });
      await clock.run(1_000);
    }
    expect(askedAt).toEqual([0, 5, 15, 35, 75, 135, 195]);
  });

  test("is parsed for at most a fiftieth of the time", async () => {
    const { discovery, asked, clock, standing } = served({ bounds });
    standing.parsingMs = 50;
    await discovery.find("", "secrets");
    const found = discovery.find("", "nothing");
    await clock.run(4_900);
    expect(asked).toHaveLength(2);
    await clock.run(100);
    expect([await found, asked.length]).toEqual(["Unknown", 4]);
    const again = discovery.find("", "nothing");
    await clock.run(5_000);
    expect([await again, asked.length]).toEqual(["Unknown", 6]);
  });

  test("asks as before after a success", async () => {
    const { discovery, asked, clock, standing } = served({ bounds, fails: true });
    await expect(discovery.find("", "secrets")).rejects.toThrow(KubeError);
    standing.fails = false;
    await clock.run(5_000);
    expect(await discovery.find("", "secrets")).toBe("Namespaced");
    standing.fails = true;
    const failing = discovery.find("", "nothing").catch((error: unknown) => error);
    await clock.run(1_000);
    expect(await failing).toBeInstanceOf(KubeError);
    standing.fails = false;
    await clock.run(5_000);
    expect([await discovery.find("", "nothing"), asked.length]).toEqual(["Unknown", 8]);
  });
});

test("the API server of Latchkey's own cluster is asked again at once after a failure", async () => {
  const { discovery, clock, standing } = served({ fails: true });
  await expect(discovery.find("", "secrets")).rejects.toThrow(KubeError);
  standing.fails = false;
  const found = discovery.find("", "secrets");
  await clock.run(1_000);
  expect(await found).toBe("Namespaced");
});

test("one refresh follows the other, however slow the API server is", async () => {
  const { discovery, clock, asked, standing } = served();
  let open = (): void => {};
  standing.gate = new Promise((resolve) => (open = resolve));
  const found = [discovery.find("", "secrets")];
  for (let second = 0; second < 10; second += 1) {
    await clock.run(1_000);
    found.push(discovery.find("", "secrets"));
  }
  expect(asked).toHaveLength(2);
  open();
  expect(new Set(await Promise.all(found))).toEqual(new Set(["Namespaced"]));
  expect(asked).toHaveLength(4);
});

test("a caller that leaves is rejected at once, and nothing refers to it while the others wait", async () => {
  const { discovery, standing } = served();
  let open = (): void => {};
  standing.gate = new Promise((resolve) => (open = resolve));
  const staying = discovery.find("", "secrets");
  const leave = (): WeakRef<object> => {
    const [request, leaving] = [{ head: "x" }, new AbortController()];
    discovery.find("", "secrets", leaving.signal).catch(() => request.head);
    leaving.abort();
    return new WeakRef(request);
  };
  const requests = Array.from({ length: 100 }, leave);
  await settled();
  await collectGarbage();
  expect(requests.filter((request) => request.deref() !== undefined)).toEqual([]);
  const [leaving, left] = [new AbortController(), new Error("the client left")];
  const found = discovery.find("", "secrets", leaving.signal);
  leaving.abort(left);
  await expect(found).rejects.toBe(left);
  open();
  expect(await staying).toBe("Namespaced");
});

test("run refreshes the cache at the start, after a failure and once an hour", async () => {
  const { discovery, clock, asked, standing, lines } = served({ fails: true });
  const end = new AbortController();
  const running = discovery.run(end.signal);
  await settled();
  expect(asked).toHaveLength(2);
  standing.fails = false;
  await clock.run(5_000);
  expect([asked.length, lines.length, discovery.known("", "secrets")]).toEqual([
    4,
    1,
    "Namespaced",
  ]);
  await clock.run(60 * 60 * 1000 - 1);
  expect(asked).toHaveLength(4);
  await clock.run(1);
  expect(asked).toHaveLength(6);
  end.abort();
  await running;
});
