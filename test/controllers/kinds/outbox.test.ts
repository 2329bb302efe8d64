import { describe, expect, test } from "vitest";
import { annotations, labels, outboxSecretType } from "../../../src/api/names.ts";
import { recordAt } from "../../../src/api/parse.ts";
import { failureAt } from "../../../src/controllers/failures.ts";
import { outboxReconciler } from "../../../src/controllers/kinds/outbox.ts";
import { encodeBody } from "../../../src/kube/client/request-body.ts";
import { refusal, type Request } from "../../support/fake-client.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import {
  outboxKeyOf,
  rawCluster,
  rawOutboxNamespace,
  rawReportOf,
  rawReportText,
  rawSent,
  rawShared,
} from "../../support/outbox-objects.ts";
import { fakeWorld, type FakeWorldOptions } from "../../support/world.ts";

type Listed = Readonly<Record<string, readonly RawObject[]>>;

const key = outboxKeyOf("db");
const east = {
  namespaces: [rawOutboxNamespace("east")],
  secrets: [rawCluster("east", "web, pay")],
};
const wanted = { ...east, sharedsecrets: [rawShared("db")] };

async function setup(listed: Listed, options: FakeWorldOptions = {}) {
  const found = await fakeWorld(listed, options);
  const body = () => {
    const sent: unknown = JSON.parse(encodeBody(found.client.requests.at(-1)?.body ?? {}));
    return sent;
  };
  return { ...found, body, reconcile: (at = key) => found.reconcile(outboxReconciler, at) };
}

/** The Secret that the controller writes for these objects. */
async function written(listed: Listed, metadata: object = {}): Promise<RawObject> {
  const { client, reconcile } = await setup(listed);
  await reconcile();
  return rawSent(client.requests.at(-1)?.body, { ...metadata });
}

const offered = await written(wanted);
/** The Secret of another source, of 17 bytes. */
const other = rawObject(
  { ...offered.metadata, name: "other", uid: "uid-other" },
  { ...offered, data: { passwords: "Y2FuYXJ5" } },
);
const having = (secrets: readonly RawObject[], others: Listed = {}): Listed => ({
  ...wanted,
  ...others,
  secrets: [...(others["secrets"] ?? wanted.secrets), ...secrets],
});
const gone = ({ verb, ref }: Request): unknown =>
  verb === "getMetadata" ? refusal("NotFound", { objectName: ref.name }) : undefined;

describe("the Secret of an outbox", () => {
  test("is created with the data, the options and the projects of both consents", async () => {
    const { client, body, reconcile } = await setup(wanted);
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(client.lines).toEqual([`create secrets ${key}`]);
    expect(body()).toMatchObject({
      type: outboxSecretType,
      data: { password: "Y2FuYXJ5" },
      metadata: {
        labels: { [labels.outboxUid]: "uid-db" },
        annotations: { [annotations.source]: "team/db", [annotations.syncToProjects]: "web" },
      },
    });
  });

  test("is not written again while it is current", async () => {
    const { client, reconcile } = await setup(having([offered]));
    await reconcile();
    expect(client.lines).toEqual([]);
  });

  test("is replaced when a user has edited it", async () => {
    const edited = rawObject(
      { ...offered.metadata },
      { ...offered, data: { password: "b3RoZXI=" } },
    );
    const { client, reconcile } = await setup(having([edited]));
    await reconcile();
    expect(client.lines).toEqual([`replace secrets ${key}`]);
  });

  const deleting = rawShared("db", { deletionTimestamp: "2026-02-01T00:00:00Z" });
  test.for<[string, Listed]>([
    ["the source names no cluster", { sharedsecrets: [rawShared("db", { clusters: "" })] }],
    [
      "the source names another cluster",
      { sharedsecrets: [rawShared("db", { clusters: "west" })] },
    ],
    ["the source names no project", { sharedsecrets: [rawShared("db", { projects: "" })] }],
    [
      "the source names a project that is not let in",
      { sharedsecrets: [rawShared("db", { projects: "ops" })] },
    ],
    ["the cluster lets in no project", { secrets: [rawCluster("east")] }],
    ["the cluster lets in other projects", { secrets: [rawCluster("east", "pay")] }],
    ["the list of the cluster is invalid", { secrets: [rawCluster("east", "we*")] }],
    ["the source is being deleted", { sharedsecrets: [deleting] }],
  ])("becomes a tombstone without data if %s", async ([, others]) => {
    const { client, body, reconcile } = await setup(having([offered], others));
    await reconcile();
    expect(client.lines).toEqual([`replace secrets ${key}`]);
    expect(recordAt(body(), "data")).toEqual({});
    expect(body()).toMatchObject({
      metadata: { annotations: { [annotations.withdrawn]: "uid-db" } },
    });
  });

  test("becomes the new offer if the source was created again under its name", async () => {
    const again = rawShared("db", { uid: "uid-again" });
    const { body, reconcile } = await setup(having([offered], { sharedsecrets: [again] }));
    await reconcile();
    expect(body()).toMatchObject({ metadata: { labels: { [labels.outboxUid]: "uid-again" } } });
  });

  test("is left as it is while the source is invalid", async () => {
    const invalid = rawShared("db", { clusters: "ea*" });
    const { client, reconcile } = await setup(having([offered], { sharedsecrets: [invalid] }));
    await reconcile();
    expect(client.lines).toEqual([]);
  });

  test("becomes a tombstone without its source only if the API server confirms that", async () => {
    const orphaned = having([offered], { sharedsecrets: [] });
    const { client, clock, reconcile } = await setup(orphaned, { answer: gone });
    await reconcile();
    expect(client.lines).toEqual(["getMetadata sharedsecrets team/db", `replace secrets ${key}`]);
    for (const answer of [rawShared("db"), refusal("NotFound", {})]) {
      const lagging = await setup(orphaned, { answer: () => answer });
      expect(await lagging.reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 5_000 });
      expect(lagging.client.lines).toEqual(["getMetadata sharedsecrets team/db"]);
    }
  });

  test.for<[string, Listed]>([
    ["is not connected any more", { secrets: [] }],
    ["is connected anew", { secrets: [rawCluster("east", "web", { uid: "uid-again" })] }],
  ])("is deleted if its cluster %s", async ([, others]) => {
    const { client, reconcile } = await setup(having([offered], others));
    await reconcile();
    expect(client.lines).toEqual([`delete secrets ${key}`]);
  });

  test.for<[string, Listed]>([
    ["has no outbox", { namespaces: [] }],
    [
      "has a namespace without the uid of its Secret",
      { namespaces: [rawOutboxNamespace("east", "")] },
    ],
    [
      "has a terminating namespace",
      {
        namespaces: [
          rawObject({
            ...rawOutboxNamespace("east").metadata,
            deletionTimestamp: "2026-02-01T00:00:00Z",
          }),
        ],
      },
    ],
  ])("is not created if the cluster %s", async ([, others]) => {
    const { client, reconcile } = await setup({ ...wanted, ...others });
    await reconcile();
    expect(client.lines).toEqual([]);
  });

  test("goes by the oldest of several Secrets that connect its cluster", async () => {
    const secrets = [
      rawCluster("east", "ops", { name: "newer", creationTimestamp: "2026-03-01T00:00:00Z" }),
      rawCluster("east", "web"),
    ];
    const { client, reconcile } = await setup(having([offered], { secrets }));
    await reconcile();
    expect(client.lines).toEqual([]);
  });

  test.for([
    ["gets its label back", "replace", wanted.sharedsecrets],
    ["without its label goes with its source", "delete", []],
  ] as const)("%s", async ([, verb, sharedsecrets]) => {
    const unlabelled = rawObject({ ...offered.metadata, labels: {} }, offered);
    const { client, reconcile } = await setup(having([unlabelled], { sharedsecrets }));
    await reconcile();
    expect(client.lines).toEqual([`${verb} secrets ${key}`]);
  });

  test("is a conflict if a Secret of others has its name", async () => {
    const { client, world, refreshed, enqueued, reconcile } = await setup(wanted, {
      answer: ({ verb }) => (verb === "create" ? refusal("AlreadyExists") : undefined),
    });
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    expect([client.lines, refreshed]).toEqual([[`create secrets ${key}`], [`secrets ${key}`]]);
    expect(failureAt("outbox", key, world)).toMatchObject({ reason: "Conflict" });
    expect(enqueued).toContain("sharedSecret team/db in 100 ms");
  });

  test.for<[string, number, readonly RawObject[], boolean]>([
    ["waits for room in an outbox without room for it", 15, [], true],
    ["is created in an outbox with room for it", 16, [], false],
    ["waits for room that other Secrets take", 32, [other], true],
    ["waits for the share that others of its namespace take", 43, [other], true],
    ["is created beside other Secrets", 44, [other], false],
  ])("%s", async ([, maximumOutboxBytes, secrets, waits]) => {
    const { client, clock, reconcile } = await setup(having(secrets), {
      options: { maximumOutboxBytes },
    });
    const waiting = { kind: "requeue-at", at: clock.now() + 15_000 };
    expect(await reconcile()).toEqual(waits ? waiting : { kind: "done" });
    expect(client.lines).toEqual(waits ? [] : [`create secrets ${key}`]);
  });

  test("has data that is too large for the cache, as it is read", async () => {
    const data = { password: "Y2FuYXJ5".repeat(2_000) };
    const large = { ...wanted, sharedsecrets: [rawShared("db", { data })] };
    const answer = ({ verb }: Request) =>
      verb === "get" ? rawObject({ namespace: "team", name: "db" }, { spec: { data } }) : undefined;
    const { client, body, reconcile } = await setup(large, { answer });
    await reconcile();
    expect(client.lines).toEqual(["get sharedsecrets team/db", `create secrets ${key}`]);
    expect(recordAt(body(), "data")).toEqual(data);
  });
});

describe("a tombstone", () => {
  const withdrawn = { ...wanted, sharedsecrets: [rawShared("db", { clusters: "" })] };
  const tombstone = () => written({ ...withdrawn, secrets: [...wanted.secrets, offered] });
  const done = (seen: string) => rawReportOf("uid-db", { done: new Map([["uid-db", seen]]) });

  test("stays until the report says that it is done", async () => {
    const secret = await tombstone();
    const { client, reconcile } = await setup(having([secret], withdrawn));
    await reconcile();
    expect(client.lines).toEqual([]);
  });

  test.for([
    [true, "of this tombstone"],
    [false, "of an earlier one"],
  ] as const)("is deleted: %s, if the report is %s", async ([isDeleted]) => {
    const secret = await tombstone();
    const version = String(secret.metadata["resourceVersion"]);
    const configmaps = [done(isDeleted ? version : "1")];
    const { client, reconcile } = await setup(having([secret], { ...withdrawn, configmaps }));
    await reconcile();
    expect(client.lines).toEqual(isDeleted ? [`delete secrets ${key}`] : []);
  });

  test("is not deleted by the report of another cluster", async () => {
    const secret = await tombstone();
    const version = String(secret.metadata["resourceVersion"]);
    const other = done(version);
    const metadata = { ...other.metadata, namespace: "latchkey-cluster-west" };
    const { client, reconcile } = await setup(
      having([secret], { ...withdrawn, configmaps: [rawObject(metadata, other)] }),
    );
    await reconcile();
    expect(client.lines).toEqual([]);
  });
});

describe("a source that a cluster does not know", () => {
  const unknown = rawReportOf("uid-db", { unknown: new Map([["uid-db", "team/db"]]) });

  test("is offered if it still is", async () => {
    const { body, reconcile } = await setup({ ...wanted, configmaps: [unknown] });
    await reconcile();
    expect(recordAt(body(), "data")).toEqual({ password: "Y2FuYXJ5" });
  });

  test("gets a tombstone if the API server confirms that it is gone", async () => {
    const { client, body, reconcile } = await setup(
      { ...east, configmaps: [unknown] },
      { answer: gone },
    );
    await reconcile();
    expect(client.lines).toEqual(["getMetadata sharedsecrets team/db", `create secrets ${key}`]);
    expect(body()).toMatchObject({
      metadata: { annotations: { [annotations.withdrawn]: "uid-db" } },
    });
  });

  test("waits while the outbox has a thousand tombstones", async () => {
    const tombstones = Array.from({ length: 1_000 }, (_, at) =>
      rawObject(
        {
          namespace: "latchkey-cluster-east",
          name: `tombstone-${at}`,
          labels: { [labels.outboxUid]: `uid-${at}` },
          annotations: { [annotations.withdrawn]: `uid-${at}` },
        },
        { type: outboxSecretType },
      ),
    );
    const { client, clock, reconcile } = await setup(
      { ...east, secrets: [...east.secrets, ...tombstones], configmaps: [unknown] },
      { answer: gone },
    );
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 15_000 });
    expect(client.lines).toEqual([]);
  });

  test.for<[string, string]>([
    ["is no JSON", "{"],
    [
      "is too large",
      JSON.stringify({ format: 1, unknown: { "uid-db": "team/db" }, x: "x".repeat(70_000) }),
    ],
    [
      "has lists instead of objects",
      JSON.stringify({ format: 1, unknown: ["team/db"], done: ["uid-db"] }),
    ],
    ["names no place", JSON.stringify({ format: 1, unknown: { "uid-db": "team/db/../x" } })],
  ])("gets nothing if the report %s", async ([, text]) => {
    const { client, reconcile } = await setup(
      { ...east, configmaps: [rawReportText(text)] },
      { answer: gone },
    );
    await reconcile();
    expect(client.lines).toEqual([]);
  });
});
