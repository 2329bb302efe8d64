import { describe, expect, test } from "vitest";
import { keyIndexes } from "../../src/domain/access-key/key-resolver.ts";
import { annotations, group, labels, ownObjects } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import { agentKinds } from "../../src/controllers/cluster-agent/agent-kinds.ts";
import { createInformers } from "../../src/controllers/informers.ts";
import { indexes } from "../../src/controllers/stores.ts";
import { requesterHash, requesterHashOf } from "../../src/domain/grants/granted-names.ts";
import type { ListWatch } from "../../src/kube/informer/list-watch.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import {
  rawCopy,
  rawSigningKeys,
  rawSharedSecret,
  informersOptions,
  ownNamespace,
  projectNamespace,
  syncedInformers,
} from "../support/fake-informers.ts";
import { rawObject, type RawObject, FakeListWatch } from "../support/fake-list-watch.ts";
import { outbox } from "../support/raw-outbox.ts";

const names = (values: Iterable<{ readonly metadata: { readonly name: string } }>) =>
  [...values].map(({ metadata }) => metadata.name).toSorted();

test("reports every kind as stale until it is listed", async () => {
  const deps = {
    listWatch: new FakeListWatch({}),
    clock: new TestClock(),
    yielder: new Yielder(new TestClock()),
    log: recordingLog(),
    random: () => 0,
  };
  const created = createInformers(deps, { ...informersOptions, onChange: () => {} });
  expect([created.staleReasons().length, created.warnings().length]).toEqual([25, 3]);
  const { informers } = await syncedInformers({});
  expect(informers.staleReasons()).toEqual([]);
});

describe("the store of SharedSecrets", () => {
  test("contains their options, indexed by uid, namespace and name of the copies", async () => {
    const { informers } = await syncedInformers({
      sharedsecrets: [
        rawSharedSecret("db", {
          metadata: { annotations: { [annotations.syncSecretName]: "other" } },
        }),
      ],
    });
    const { sharedSecrets } = informers.stores;
    for (const [index, name] of [
      [indexes.uid, "uid-db"],
      [indexes.namespace, "team"],
      [indexes.secretName, "other"],
    ] as const) {
      expect(names(sharedSecrets.by(index, name).map(({ secret }) => secret))).toEqual(["db"]);
    }
  });

  test("contains a digest that is equal for equal data", async () => {
    const { informers } = await syncedInformers({
      sharedsecrets: [
        rawSharedSecret("a"),
        rawSharedSecret("b"),
        rawSharedSecret("c", { data: { password: "b3RoZXI=" } }),
      ],
      secrets: [rawCopy("a", "pay")],
    });
    const digests = ["team/a", "team/b", "team/c"].map(
      (key) => informers.stores.sharedSecrets.get(key)?.digest,
    );
    expect(new Set(digests).size).toBe(2);
    expect(informers.stores.copies.get("pay/a")?.digest).toBe(digests[0]);
  });
});

test("the stores contain no foreign metadata of namespaces and SharedSecrets, and no large data", async () => {
  const theirs = { labels: { theirs: "canary" }, annotations: { theirs: "canary" } };
  const { informers } = await syncedInformers({
    namespaces: [rawObject({ name: "pay", ...theirs })],
    sharedsecrets: [
      rawSharedSecret("db", { data: { password: "Y2FuYXJ5".repeat(2_000) }, metadata: theirs }),
    ],
  });
  expect(
    JSON.stringify([
      ...informers.stores.namespaces.values(),
      ...informers.stores.sharedSecrets.values(),
    ]),
  ).not.toContain("canary");
  const source = informers.stores.sharedSecrets.get("team/db");
  expect(source).toMatchObject({ keys: 1 });
  expect(source).not.toHaveProperty("data");
});

describe("the store of unmanaged Secrets", () => {
  const others = { namespaces: [projectNamespace("pay")], sharedsecrets: [rawSharedSecret("db")] };
  const unmanaged = (name: string, metadata: Readonly<Record<string, unknown>> = {}) =>
    rawObject(
      {
        namespace: "pay",
        name,
        labels: { theirs: "x" },
        annotations: { theirs: "y" },
        ...metadata,
      },
      { data: { password: "Y2FuYXJ5" } },
    );

  test("contains Secrets at targets, without foreign metadata", async () => {
    const paused = { annotations: { theirs: "y", [annotations.disableSync]: "true" } };
    const { informers } = await syncedInformers({
      ...others,
      secrets: [
        unmanaged("db", paused),
        unmanaged("else"),
        rawObject({ namespace: "other", name: "db" }),
      ],
    });
    expect(names(informers.stores.unmanagedSecrets.values())).toEqual(["db"]);
    expect(informers.stores.unmanagedSecrets.get("pay/db")?.metadata).toMatchObject({
      labels: {},
      annotations: { [annotations.disableSync]: "true" },
    });
  });

  test("contains Secrets that are copies by their annotation, indexed by source", async () => {
    const annotation = (place: string) => ({
      annotations: { theirs: "y", [annotations.copyOf]: `gone/db -> ${place}` },
    });
    const { informers } = await syncedInformers({
      secrets: [
        unmanaged("lost", annotation("pay/lost")),
        unmanaged("pasted", annotation("pay/lost")),
      ],
    });
    expect(names(informers.stores.unmanagedSecrets.values())).toEqual(["lost"]);
    expect(names(informers.stores.unmanagedSecrets.by(indexes.source, "gone/db"))).toEqual([
      "lost",
    ]);
    expect(informers.stores.unmanagedSecrets.get("pay/lost")?.metadata).toMatchObject({
      labels: {},
      annotations: { [annotations.copyOf]: "gone/db -> pay/lost" },
    });
  });

  const wrong = { labels: { [`${group}/sharedsecret`]: "db" } };
  const wrongSecrets = (namespace: string, count: number) =>
    Array.from({ length: count }, (_, at) =>
      rawObject({ namespace, name: `wrong-${at}`, ...wrong }, { data: { password: "Y2FuYXJ5" } }),
    );

  test("contains Secrets with a label without effect until it is mended", async () => {
    const secrets = [...wrongSecrets("else", 1), unmanaged("right"), ...wrongSecrets(outbox, 1)];
    const { informers, listWatch } = await syncedInformers({ secrets });
    const { unmanagedSecrets } = informers.stores;
    expect(unmanagedSecrets.keys()).toEqual(["else/wrong-0"]);
    expect(unmanagedSecrets.get("else/wrong-0")).toMatchObject({
      metadata: { labels: {} },
      unknownKeys: [{ field: "labels", key: `${group}/sharedsecret` }],
    });
    const mended = rawObject({ namespace: "else", name: "wrong-0" });
    listWatch.emit("secrets", "MODIFIED", mended);
    expect(unmanagedSecrets.size).toBe(0);
  });

  test("contains at most 100 of these of a namespace", async () => {
    const secrets = [...wrongSecrets("many", 300), ...wrongSecrets("other", 3)];
    const { informers } = await syncedInformers({ secrets });
    const { unmanagedSecrets } = informers.stores;
    const counts = ["many", "other"].map((name) =>
      unmanagedSecrets.countBy(indexes.namespace, name),
    );
    expect(counts).toEqual([100, 3]);
  });

  test("contains no data", async () => {
    const { informers } = await syncedInformers({
      ...others,
      secrets: [unmanaged("db"), rawCopy("db", "play")],
    });
    const stored = [
      ...informers.stores.unmanagedSecrets.values(),
      ...informers.stores.copies.values(),
    ];
    expect(stored).toHaveLength(2);
    expect(stored.map((seen) => "data" in seen)).toEqual([false, false]);
  });
});

describe("the stores of Roles and RoleBindings", () => {
  const role = (name: string, metadata: Readonly<Record<string, unknown>> = {}) =>
    rawObject({ namespace: "team", name, ...metadata }, { rules: [] });
  const named = (name: string) => `latchkey-${name}-0123456789abcdef`;
  const marked = { [labels.sourceUid]: "uid-db" };
  test("contain objects with a derived name, which are derived with Latchkey's label or annotation", async () => {
    const owner = {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      name: "db",
      uid: "uid-db",
    };
    const { informers } = await syncedInformers({
      roles: [
        role(named("a"), { labels: marked }),
        role(named("b"), { ownerReferences: [owner] }),
        role("latchkey-c", { labels: marked }),
        role("d", { labels: marked, ownerReferences: [owner] }),
      ],
    });
    expect(names(informers.stores.roles.values())).toEqual([named("a"), named("b"), "latchkey-c"]);
    expect(names(informers.stores.roles.by(indexes.sourceUid, "uid-db"))).toEqual([named("a")]);
  });
});

describe("the stores of ClusterRoles and ClusterRoleBindings", () => {
  test("contain objects with the name of a grant, regardless of labels", async () => {
    const hash = requesterHash("ann");
    const { informers } = await syncedInformers({
      clusterroles: [
        rawObject({ name: "a", labels: { [labels.requesterHash]: hash } }),
        rawObject({ name: `latchkey-requester-${hash}-0` }),
        rawObject({ name: "view" }),
      ],
    });
    expect(names(informers.stores.clusterRoles.by(indexes.requester, hash))).toEqual([
      `latchkey-requester-${hash}-0`,
    ]);
    expect(informers.stores.clusterRoles.size).toBe(1);
  });
});

test("indexes keys and tokens by the hash of their requester, which only the annotation sets", async () => {
  const stamp = { annotations: { [annotations.requester]: "ann" } };
  const { informers } = await syncedInformers({
    ownedaccesskeys: [
      rawObject({ name: "k", ...stamp }, { spec: { key: "canary-canary-canary" } }),
      rawObject({ name: "none" }),
    ],
    directclusterendpointtokens: [rawObject({ name: "t", ...stamp })],
  });
  expect(names(informers.stores.keys.by(indexes.requester, requesterHash("ann")))).toEqual(["k"]);
  expect(names(informers.stores.tokens.by(indexes.requester, requesterHash("ann")))).toEqual(["t"]);
  const digest = informers.stores.keys.get("k")?.keyDigest ?? "";
  expect(names(informers.stores.keys.by(keyIndexes.keyIndex, digest.slice(0, 16)))).toEqual(["k"]);
  expect(requesterHashOf(observedMetadata())).toEqual([]);
});

describe("the response to a write", () => {
  test("is put into the store of its kind", async () => {
    const { informers } = await syncedInformers({});
    informers.recordWrite(resources.sharedSecrets, rawSharedSecret("db"));
    informers.recordWrite(resources.roles, rawObject({ namespace: "team", name: "latchkey-a" }));
    informers.recordWrite(resources.events, rawObject({ name: "e" }));
    expect([informers.stores.sharedSecrets.size, informers.stores.roles.size]).toEqual([1, 1]);
  });

  test("is put into the copies for a Secret with Latchkey's label, otherwise into the signing keys", async () => {
    const { informers } = await syncedInformers({});
    informers.recordWrite(resources.secrets, rawCopy("db", "pay"));
    informers.recordWrite(resources.secrets, rawSigningKeys());
    expect([names(informers.stores.copies.values()), informers.stores.signingKeys.size]).toEqual([
      ["db"],
      1,
    ]);
  });
});

test("a write that takes Latchkey's label off moves a Secret to the placeholders", async () => {
  const { informers } = await syncedInformers({});
  const asking = { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team" };
  const written = (resourceVersion: string, given: Readonly<Record<string, string>>) =>
    rawObject({ namespace: "pay", name: "db", resourceVersion, labels: { ...asking, ...given } });
  const { copies, placeholders } = informers.stores;
  informers.recordWrite(resources.secrets, written("1000", { [labels.sourceUid]: "uid" }));
  expect([copies.size, placeholders.size]).toEqual([1, 0]);
  informers.recordWrite(resources.secrets, written("1001", {}));
  expect([copies.size, placeholders.size]).toEqual([0, 1]);
});

test("invalid signing keys are logged by name without their content", async () => {
  const { informers, log } = await syncedInformers({
    secrets: [
      rawObject(
        { namespace: ownNamespace, name: ownObjects.signingKeys },
        { data: { "keys.json": "Y2FuYXJ5" } },
      ),
    ],
  });
  expect(informers.stores.signingKeys.size).toBe(0);
  expect(log.lines).toHaveLength(1);
  expect(JSON.stringify(log.lines)).not.toMatch(/canary|Y2FuYXJ5/);
});

test("stops when the signal aborts, also before unmanaged Secrets are listed", async () => {
  const stop = new AbortController();
  const listWatch = new FakeListWatch({});
  const list: ListWatch["list"] = (selection, signal, onEvents) =>
    selection.resource === resources.namespaces
      ? Promise.reject(new Error("no"))
      : listWatch.list(selection, signal, onEvents);
  const [watch, get] = [listWatch.watch.bind(listWatch), listWatch.get.bind(listWatch)];
  const version = listWatch.version.bind(listWatch);
  const informers = createInformers(
    {
      listWatch: { list, watch, get, version },
      clock: new TestClock(),
      yielder: new Yielder(new TestClock()),
      log: recordingLog(),
      random: () => 0,
    },
    { ...informersOptions, onChange: () => {} },
  );
  const ended = informers.run(stop.signal);
  await settled();
  expect(informers.staleReasons()).toEqual(["namespaces not synced yet", "secrets not synced yet"]);
  stop.abort();
  await ended;
});

describe("a refresh", () => {
  const wanted = { namespaces: [projectNamespace("pay")], sharedsecrets: [rawSharedSecret("db")] };
  const foreign = rawObject({ namespace: "pay", name: "db" }, { data: { password: "Y2FuYXJ5" } });

  test.for<[string, readonly RawObject[], readonly string[]]>([
    ["reads only the metadata of an unmanaged Secret", [foreign], ["secrets metadata pay/db"]],
    [
      "reads a copy with its data",
      [rawCopy("db", "pay")],
      ["secrets metadata pay/db", "secrets whole pay/db"],
    ],
    [
      "reads a missing Secret in all ways",
      [],
      ["secrets metadata pay/db", "secrets whole pay/db", "secrets whole pay/db"],
    ],
  ])("%s", async ([, secrets, reads]) => {
    const { informers, listWatch } = await syncedInformers({ ...wanted, secrets });
    await informers.refresh(resources.secrets, { namespace: "pay", name: "db" });
    expect(listWatch.reads).toEqual(reads);
  });

  test.for<[string, readonly string[]]>([
    ["connector-1", ["metadata", "metadata"]],
    [ownObjects.signingKeys, ["whole", "metadata"]],
  ])("reads Latchkey's own Secret %s like its informer", async ([name, reads]) => {
    const { informers, listWatch } = await syncedInformers(wanted);
    await informers.refresh(resources.secrets, { namespace: ownNamespace, name });
    expect(listWatch.reads).toEqual(reads.map((read) => `secrets ${read} ${ownNamespace}/${name}`));
  });

  test("reads an object of another kind once, and never one of a kind that is not stored", async () => {
    const { informers, listWatch } = await syncedInformers(wanted);
    await informers.refresh(resources.sharedSecrets, { namespace: "team", name: "db" });
    await informers.refresh(resources.leases, { namespace: "team", name: "db" });
    expect(listWatch.reads).toEqual(["sharedsecrets whole team/db"]);
  });
});

test("an API server that is away for days does not make the process unready", async () => {
  const [clock, log, stop] = [new TestClock(), recordingLog(), new AbortController()];
  const away = new FakeListWatch({});
  const never: ListWatch["list"] = () => new Promise(() => {});
  const [watch, get] = [away.watch.bind(away), away.get.bind(away)];
  const remote = { list: never, watch, get, version: away.version.bind(away) };
  const deps = { clock, log, yielder: new Yielder(clock), random: () => 0 };
  const informers = createInformers(
    { ...deps, listWatch: new FakeListWatch({ namespaces: [projectNamespace("pay")] }) },
    {
      ...informersOptions,
      onChange: () => {},
      watched: agentKinds({
        outbox: "box",
        problem: () => undefined,
        writes: () => ({ kind: "all" }),
        central: { ...deps, listWatch: remote },
      }),
    },
  );
  void informers.run(stop.signal);
  let isCurrent = false;
  void informers.current(stop.signal).then(() => (isCurrent = true));
  await clock.run(1_000);
  expect([isCurrent, informers.staleReasons()]).toEqual([true, []]);
  expect(informers.remote.map(({ watchState }) => watchState.isSynced)).toEqual([false]);
  expect(informers.stores.namespaces.size).toBe(1);
  stop.abort();
});

test("a right for the reports of agents that is missing delays a new leader, and no more", async () => {
  const [clock, log, stop] = [new TestClock(), recordingLog(), new AbortController()];
  const listWatch = new FakeListWatch({});
  const list: ListWatch["list"] = (selection, ...rest) =>
    ["leases", "configmaps"].includes(selection.resource.plural) &&
    selection.namespace === undefined
      ? new Promise(() => {})
      : listWatch.list(selection, ...rest);
  const [watch, get] = [listWatch.watch.bind(listWatch), listWatch.get.bind(listWatch)];
  const version = listWatch.version.bind(listWatch);
  const informers = createInformers(
    {
      clock,
      log,
      yielder: new Yielder(clock),
      random: () => 0,
      listWatch: { list, watch, get, version },
    },
    { ...informersOptions, onChange: () => {} },
  );
  void informers.run(stop.signal);
  let isCurrent = false;
  void informers.current(stop.signal).then(() => (isCurrent = true));
  await clock.run(9_000);
  expect([isCurrent, informers.staleReasons()]).toEqual([false, []]);
  expect(informers.warnings()).toEqual(["configmaps not synced yet", "leases not synced yet"]);
  await clock.run(2_000);
  expect(isCurrent).toBe(true);
  stop.abort();
});
