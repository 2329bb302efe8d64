import { describe, expect, test } from "vitest";
import { annotations, labels, requesterPolicies } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import {
  createAccessKeyCache,
  type AccessKeyCache,
  RequesterCounts,
} from "../../src/authn/access-key-cache.ts";
import { keyState } from "../../src/domain/access-key/key-state.ts";
import { provingWatchTimes } from "../../src/kube/informer/watch-times.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { boundDigest, sha256 } from "../support/bound-digest.ts";
import { rawObject, type RawObject, FakeListWatch } from "../support/fake-list-watch.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { noIssuers } from "../support/no-tokens.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const plain = "a-plain-key-of-alice";
const unbound = `sha256:${sha256(plain)}`;
const bound = (subject: string): string => boundDigest(plain, subject);
const early = { creationTimestamp: "2025-01-01T00:00:00Z" };
const stamped = { annotations: { [annotations.requester]: "alice" } };

const policies = Object.fromEntries(
  ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]
    .map((plural) => [plural, [rawObject({ name: requesterPolicies.annotations, ...early })]])
    .concat(
      ["validatingadmissionpolicies", "validatingadmissionpolicybindings"].map((plural) => [
        plural,
        [requesterPolicies.lock, requesterPolicies.guard].map((name) =>
          rawObject({ name, ...early }),
        ),
      ]),
    ),
);

function key(name: string, spec: object, metadata: object = {}): RawObject {
  return rawObject({ name, ...stamped, ...metadata }, { spec: { user: "alice", ...spec } });
}

interface Setup {
  readonly accessKeys: AccessKeyCache;
  readonly listWatch: FakeListWatch;
  readonly stop: AbortController;
  readonly clock: TestClock;
}

async function startCache(listed: Readonly<Record<string, readonly RawObject[]>>): Promise<Setup> {
  const [clock, stop, listWatch] = [
    new TestClock(),
    new AbortController(),
    new FakeListWatch({ ...policies, ...listed }),
  ];
  const deps = {
    listWatch,
    clock,
    yielder: new Yielder(clock),
    log: recordingLog(),
    random: () => 0.5,
    issuers: noIssuers,
    watchTimes: provingWatchTimes,
  };
  const accessKeys = createAccessKeyCache(deps, {
    maximumKeyTtl: 0,
    namespace: "latchkey-system",
    prefixes: { user: "", team: "" },
  });
  void accessKeys.run(stop.signal);
  await accessKeys.synced;
  await settled();
  return { accessKeys, listWatch, stop, clock };
}

const present = (accessKeys: AccessKeyCache, text = plain): unknown => {
  const found = accessKeys.lookup(new SecretText(text));
  return typeof found === "string" ? found : found.key.metadata.name;
};

describe("lookup", () => {
  test.each([
    ["finds a key that is stored in plain text", plain],
    ["finds a key that is stored as a bound digest", bound("user:alice")],
  ])("%s", async (_rule, stored) => {
    const { accessKeys, stop } = await startCache({
      ownedaccesskeys: [key("one", { key: stored }), key("other", { key: "another-key-of-alice" })],
    });
    expect(present(accessKeys)).toBe("one");
    expect([
      present(accessKeys, bound("user:alice")),
      present(accessKeys, "nobody-has-this-key"),
      present(accessKeys, "short"),
    ]).toEqual(["malformed", "unknown", "malformed"]);
    stop.abort();
  });

  test("finds no object with a digest that is not bound, and refuses that object", async () => {
    const { accessKeys, stop } = await startCache({
      ownedaccesskeys: [key("claimed", { user: "eve", key: unbound })],
    });
    expect(present(accessKeys)).toBe("unknown");
    expect(present(accessKeys, unbound)).toBe("malformed");
    expect(accessKeys.withIndexOf(new SecretText(plain))).toEqual([]);
    const claimed = accessKeys.byId("uid-claimed");
    expect(claimed && keyState(claimed, Date.now())).toMatchObject({ reason: "InvalidKey" });
    stop.abort();
  });

  test("finds the oldest of several objects with the same key", async () => {
    const duplicates = [
      key("younger", { key: plain }, { creationTimestamp: "2026-02-01T00:00:00Z" }),
      key("older", { key: plain }),
    ];
    const { accessKeys, listWatch, stop } = await startCache({ ownedaccesskeys: duplicates });
    expect(present(accessKeys)).toBe("older");
    listWatch.emit("ownedaccesskeys", "DELETED", key("older", { key: plain }));
    expect(present(accessKeys)).toBe("younger");
    stop.abort();
  });

  test("follows changes of the key and deletions of its object", async () => {
    const { accessKeys, listWatch, stop } = await startCache({
      ownedaccesskeys: [key("one", { key: plain })],
    });
    listWatch.emit("ownedaccesskeys", "MODIFIED", key("one", { key: "another-key-of-alice" }));
    expect([present(accessKeys), present(accessKeys, "another-key-of-alice")]).toEqual([
      "unknown",
      "one",
    ]);
    expect(accessKeys.byId("uid-one")?.key.metadata.name).toBe("one");
    listWatch.emit("ownedaccesskeys", "DELETED", key("one", {}));
    expect([present(accessKeys, "another-key-of-alice"), accessKeys.byId("uid-one")]).toEqual([
      "unknown",
      undefined,
    ]);
    stop.abort();
  });
});

describe("lookup of a key with a bound digest", () => {
  const index = sha256(plain).slice(0, 16);
  const by = (requester: string, name: string, spec: object, second = 0): RawObject =>
    key(name, spec, {
      annotations: { [annotations.requester]: requester },
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    });

  test("finds the object of its subject, not older copies or an older plain key", async () => {
    const copies = [
      by("eve", "copy", { user: "eve", key: bound("user:alice") }),
      by("eve", "plain", { user: "eve", key: plain }),
    ];
    const { accessKeys, listWatch, stop } = await startCache({
      ownedaccesskeys: [...copies, by("alice", "own", { key: bound("user:alice") }, 9)],
    });
    expect(present(accessKeys)).toBe("own");
    expect(
      accessKeys.withIndexOf(new SecretText(plain)).map(({ metadata }) => metadata.name),
    ).toEqual(["copy", "own", "plain"]);
    listWatch.emit("ownedaccesskeys", "DELETED", by("alice", "own", {}));
    expect(present(accessKeys)).toBe("plain");
    stop.abort();
  });

  test("finds the older of two objects with the same subject", async () => {
    const { accessKeys, stop } = await startCache({
      ownedaccesskeys: [
        by("bob", "younger", { key: bound("user:alice") }, 1),
        by("alice", "older", { key: bound("user:alice") }),
      ],
    });
    expect(present(accessKeys)).toBe("older");
    expect(accessKeys.byId("uid-younger")?.duplicate).toEqual({ kind: "duplicate" });
    stop.abort();
  });

  test("considers only the four oldest objects of each requester with the same index", async () => {
    const many = Array.from({ length: 9 }, (_, number) =>
      by(
        "eve",
        `copy-${number}`,
        { user: "eve", key: `sha256:${index}.${sha256(String(number))}` },
        number,
      ),
    );
    const { accessKeys, stop } = await startCache({
      ownedaccesskeys: [
        ...many,
        by("eve", "fifth", { user: "eve", key: bound("user:eve") }, 9),
        by("alice", "own", { key: bound("user:alice") }, 9),
      ],
    });
    expect(present(accessKeys)).toBe("own");
    expect(accessKeys.withIndexOf(new SecretText(plain))).toHaveLength(5);
    expect(accessKeys.byId("uid-fifth")?.duplicate).toEqual({ kind: "over-limit" });
    expect([
      accessKeys.countOf("eve"),
      accessKeys.countOf("alice"),
      accessKeys.countOf("bob"),
    ]).toEqual([10, 1, 0]);
    stop.abort();
  });
});

describe("the requester of a key", () => {
  test("is verified only while all policies are older than the key", async () => {
    const { accessKeys, listWatch, stop } = await startCache({
      ownedaccesskeys: [key("one", { key: plain })],
    });
    expect(accessKeys.byId("uid-one")?.requester).toMatchObject({ kind: "known", name: "alice" });
    listWatch.emit(
      "validatingadmissionpolicies",
      "DELETED",
      rawObject({ name: requesterPolicies.guard, ...early }),
    );
    expect(accessKeys.byId("uid-one")?.requester).toMatchObject({ kind: "unknown" });
    stop.abort();
  });
});

test("locations and roles follow the labels of namespaces and ClusterRoles", async () => {
  const bundle = (name: string, verb: string): RawObject =>
    rawObject(
      { name, labels: { [labels.scopeRole]: "reading" } },
      { rules: [{ apiGroups: [""], resources: ["pods"], verbs: [verb] }] },
    );
  const { accessKeys, listWatch, stop } = await startCache({
    namespaces: [rawObject({ name: "web-1", labels: { [labels.project]: "web" } })],
    clusterroles: [bundle("one", "get")],
  });
  expect([
    accessKeys.locationOf("web-1"),
    accessKeys.locationOf("unknown"),
    accessKeys.locationOf(""),
  ]).toEqual([
    { target: "Management", project: "web" },
    { target: "Management" },
    { target: "Management" },
  ]);
  expect(
    accessKeys
      .roles()
      .get("reading")
      ?.map(({ verbs }) => verbs),
  ).toEqual([["get"]]);
  listWatch.emit("clusterroles", "ADDED", bundle("two", "list"));
  expect(
    accessKeys
      .roles()
      .get("reading")
      ?.flatMap(({ verbs }) => verbs),
  ).toEqual(["get", "list"]);
  listWatch.emit("namespaces", "MODIFIED", rawObject({ name: "web-1", labels: {} }));
  expect(accessKeys.locationOf("web-1")).toEqual({ target: "Management" });
  stop.abort();
});

describe("the issuers of tokens", () => {
  const issuer = "https://oidc.example";
  const rule = { [annotations.issuer]: issuer, [annotations.claims]: "sub=main" };
  const trusting = key("job", {}, { annotations: { ...stamped.annotations, ...rule } });
  const configMap = (text: string): RawObject =>
    rawObject(
      { name: "latchkey-issuers", namespace: "latchkey-system" },
      { data: { "issuers.yaml": text } },
    );
  const valid = JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [{ issuer: { url: issuer, audiences: ["ci"] } }],
  });
  const stateOf = ({ accessKeys }: Setup): string | undefined => {
    const found = accessKeys.byName("job");
    return found && keyState(found, 0).reason;
  };

  test("decide about the keys that trust their tokens", async () => {
    const setup = await startCache({
      ownedaccesskeys: [trusting, key("plain", { key: plain })],
      configmaps: [configMap(valid)],
    });
    const { accessKeys, listWatch, stop } = setup;
    expect([stateOf(setup), accessKeys.issuers().size]).toEqual(["Active", 1]);
    expect(accessKeys.byName("plain")?.tokens).toBeUndefined();
    expect(accessKeys.byName("nobody")).toBeUndefined();
    expect(accessKeys.areIssuersFresh()).toBe(true);
    listWatch.emit("configmaps", "MODIFIED", configMap("canary"));
    expect([stateOf(setup), accessKeys.issuersProblem()]).toEqual([
      "Active",
      "the ConfigMap latchkey-issuers is refused, and the former issuers count: " +
        "issuers.yaml must be an object",
    ]);
    listWatch.emit("configmaps", "DELETED", configMap("canary"));
    expect([stateOf(setup), accessKeys.issuersProblem()]).toEqual(["UnknownIssuer", undefined]);
    listWatch.emit("configmaps", "ADDED", configMap("canary"));
    expect([stateOf(setup), accessKeys.issuersProblem()]).toEqual([
      "UnknownIssuer",
      "the ConfigMap latchkey-issuers is refused, and no issuer counts: " +
        "issuers.yaml must be an object",
    ]);
    stop.abort();
  });
});

test("the cache is not fresh before every resource is listed", () => {
  const clock = new TestClock();
  const deps = {
    listWatch: new FakeListWatch({}),
    clock,
    yielder: new Yielder(clock),
    log: recordingLog(),
    random: () => 0.5,
    issuers: noIssuers,
  };
  const accessKeys = createAccessKeyCache(deps, {
    maximumKeyTtl: 0,
    namespace: "latchkey-system",
    prefixes: { user: "", team: "" },
  });
  const unlisted = [
    "ownedaccesskeys",
    "namespaces",
    "clusterroles",
    "validatingadmissionpolicies",
  ].map((plural) => `${plural} not synced yet`);
  expect([accessKeys.isFresh(), accessKeys.staleReasons()]).toEqual([
    false,
    expect.arrayContaining(unlisted),
  ]);
});

test("the cache is not fresh 30 s after the last watch of a resource was opened", async () => {
  const { accessKeys, clock, stop } = await startCache({});
  expect([accessKeys.isFresh(), accessKeys.staleReasons()]).toEqual([true, []]);
  expect(accessKeys.watches()).toContainEqual({
    resource: "ownedaccesskeys",
    objects: 0,
    openedAt: clock.now() / 1000,
  });
  await clock.run(30_000);
  const silent = [
    "ownedaccesskeys",
    "namespaces",
    "clusterroles",
    "validatingadmissionpolicies",
  ].map((plural) =>
    expect.stringContaining(`${plural}: no watch response from the API server for 30 s`),
  );
  expect([accessKeys.isFresh(), accessKeys.staleReasons()]).toEqual([
    false,
    expect.arrayContaining(silent),
  ]);
  expect(accessKeys.watches()).toContainEqual({
    resource: "ownedaccesskeys",
    objects: 0,
    openedAt: clock.now() / 1000 - 30,
  });
  stop.abort();
});

const of = (requester: string) =>
  observedMetadata({ annotations: { [annotations.requester]: requester } });

test("RequesterCounts counts objects by requester through creation, update and deletion", () => {
  const counts = new RequesterCounts();
  counts.note(undefined, of("alice"));
  counts.note(undefined, of("alice"));
  counts.note(undefined, observedMetadata());
  expect([counts.of("alice"), counts.of("bob"), counts.of("")]).toEqual([2, 0, 0]);
  counts.note(of("alice"), of("alice"));
  counts.note(of("alice"), of("bob"));
  expect([counts.of("alice"), counts.of("bob")]).toEqual([1, 1]);
  counts.note(of("alice"), undefined);
  counts.note(of("bob"), undefined);
  expect([counts.of("alice"), counts.of("bob")]).toEqual([0, 0]);
});
