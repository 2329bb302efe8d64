import { describe, expect, test } from "vitest";
import { annotations, apiVersion, labels } from "../../../src/api/names.ts";
import { parseConditions, recordAt } from "../../../src/api/parse.ts";
import { noteFailure } from "../../../src/controllers/failures.ts";
import { copyReconciler } from "../../../src/controllers/kinds/copy.ts";
import { sharedSecretReconciler } from "../../../src/controllers/kinds/shared-secret.ts";
import { derivedName } from "../../../src/domain/shared-secret/derived-role.ts";
import { refusal, type Request } from "../../support/fake-client.ts";
import { projectNamespace, rawCopy, rawSharedSecret } from "../../support/fake-informers.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { fakeWorld } from "../../support/world.ts";

async function setup(
  listed: Parameters<typeof fakeWorld>[0],
  options?: Parameters<typeof fakeWorld>[1],
) {
  const found = await fakeWorld(listed, options);
  const { client, world } = found;
  const status = () =>
    recordAt(
      recordAt(client.requests.find(({ verb }) => verb === "patch")?.body, "body"),
      "status",
    );
  return {
    ...found,
    status,
    waitingSince: world.memory.waitingSince,
    reconcile: (key = "team/db") => found.reconcile(sharedSecretReconciler, key),
  };
}

const goneAnswer = ({ verb, ref }: Request): unknown =>
  verb === "getMetadata" ? refusal("NotFound", { objectName: ref.name }) : {};

function derived(
  kind: "role" | "binding",
  name: string,
  {
    uid = "uid-gone",
    marks = {},
  }: { uid?: string; marks?: Readonly<Record<string, unknown>> } = {},
): RawObject {
  const metadata = { namespace: "team", name, labels: { [labels.sourceUid]: uid }, ...marks };
  return kind === "role"
    ? rawObject(metadata, { rules: [{ verbs: ["get"], resourceNames: ["gone"] }] })
    : rawObject(metadata, { roleRef: { kind: "Role", name }, subjects: [] });
}

describe("a reconcile of a SharedSecret", () => {
  test("counts its targets: copies, unmanaged Secrets, rejected writes and conflicting sources", async () => {
    const young = rawSharedSecret("young", {
      metadata: {
        creationTimestamp: "2026-02-01T00:00:00Z",
        annotations: { [annotations.syncToProjects]: "web", [annotations.syncSecretName]: "db" },
      },
    });
    const { status, world, reconcile } = await setup({
      namespaces: ["a", "b", "c"].map((name) => projectNamespace(name)),
      sharedsecrets: [rawSharedSecret("db"), young],
      secrets: [rawCopy("db", "a"), rawObject({ namespace: "b", name: "db" })],
    });
    const failure = { kind: "refused", reason: "Forbidden", message: "exceeded quota" } as const;
    noteFailure(copyReconciler, "c/db", failure, world);
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(status()).toMatchObject({
      sync: {
        desired: 3,
        synced: 1,
        conflicts: 1,
        failed: 1,
        failures: [
          { namespace: "b", reason: "NotManaged" },
          { namespace: "c", reason: "Forbidden" },
        ],
      },
    });
    expect(JSON.stringify(status())).toContain(
      "3 also requested by the newer SharedSecret team/young",
    );
  });

  test.for<[string, boolean, object]>([
    ["with backoff", false, { kind: "requeue-with-backoff" }],
    ["as an error if Latchkey lacks the permission", true, { code: "Forbidden" }],
  ])(
    "reports a rejected write in the status and retries: %s",
    async ([, lacksPermission, outcome]) => {
      const access = { access: [{ users: ["ann"], verbs: ["get"] }] };
      const refused = refusal("Forbidden", { explanation: "exceeded quota: few", lacksPermission });
      const { status, reconcile } = await setup(
        { sharedsecrets: [rawSharedSecret("db", access)] },
        { answer: ({ verb }) => (verb === "create" ? refused : {}) },
      );
      expect(await reconcile().catch((error: unknown) => error)).toMatchObject(outcome);
      expect(status()).toMatchObject({
        conditions: expect.arrayContaining([
          expect.objectContaining({
            type: "AccessApplied",
            status: "False",
            reason: "AccessRejected",
            message: expect.stringContaining("exceeded quota: few"),
          }),
        ]),
      });
    },
  );

  test("waits a second for its targets, reports progress, and forgets the wait when all are written", async () => {
    const { client, clock, waitingSince, listWatch, reconcile } = await setup({
      namespaces: [projectNamespace("pay")],
      sharedsecrets: [rawSharedSecret("db")],
    });
    const began = clock.now();
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: began + 1000 });
    clock.advance(500);
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: began + 1000 });
    expect([client.lines, waitingSince.get("uid-db")]).toEqual([[], began]);
    clock.advance(500);
    expect(await reconcile()).toEqual({ kind: "done" });
    expect([client.lines, waitingSince.get("uid-db")]).toEqual([
      ["patch sharedsecrets team/db"],
      began + 1000,
    ]);
    listWatch.emit("secrets", "ADDED", rawCopy("db", "pay"));
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(waitingSince.size).toBe(0);
  });

  test("is requeued for its next refresh, and forgets its refresh once it is gone", async () => {
    const refreshing = (value: string) =>
      rawSharedSecret("db", {
        projects: "",
        metadata: { annotations: { [annotations.refreshNow]: value } },
      });
    const { clock, listWatch, world, reconcile } = await setup({
      sharedsecrets: [refreshing("1")],
    });
    const at = clock.now() + 10_000;
    expect(await reconcile()).toEqual({ kind: "done" });
    clock.advance(1);
    listWatch.emit("sharedsecrets", "MODIFIED", refreshing("2"));
    expect(await reconcile()).toEqual({ kind: "requeue-at", at });
    listWatch.emit("sharedsecrets", "DELETED", refreshing("2"));
    await reconcile();
    expect(world.memory.refreshes.bySource.size).toBe(0);
  });

  test("does nothing in a terminating namespace", async () => {
    const { client, reconcile } = await setup({
      namespaces: [rawObject({ name: "team", deletionTimestamp: "2026-01-01T00:00:00Z" })],
      sharedsecrets: [rawSharedSecret("db")],
    });
    await reconcile();
    expect(client.lines).toEqual([]);
  });

  const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const heldByOthers = { ...going, finalizers: ["example.com/hold"] };
  const opened = { access: [{ users: ["ann"], verbs: ["get"] }], metadata: going };

  test.for([
    ["be added", { finalizers: [] }],
    ["be removed", going],
  ] as const)("is an error of the reconcile if its finalizer cannot %s", async ([, metadata]) => {
    const { client, reconcile } = await setup(
      { sharedsecrets: [rawSharedSecret("db", { metadata })] },
      { answer: () => refusal("Forbidden") },
    );
    await expect(reconcile()).rejects.toMatchObject({ code: "Forbidden" });
    expect(client.lines).toEqual(["patch sharedsecrets team/db"]);
  });

  test.for([
    ["without a copy", [], "finalizers"],
    ["while a copy has its data", [rawCopy("db", "pay")], "conditions"],
    ["once the copy has no data", [rawCopy("db", "pay", { data: {} })], "finalizers"],
    [
      "if the copy is immutable and kept by others",
      [rawCopy("db", "pay", { metadata: heldByOthers, immutable: true })],
      "finalizers",
    ],
    [
      "while others keep a copy that can be emptied",
      [rawCopy("db", "pay", { metadata: heldByOthers })],
      "conditions",
    ],
  ] as const)("without grantees, %s, writes its %s", async ([, secrets, written]) => {
    const { client, reconcile } = await setup({
      namespaces: [projectNamespace("pay")],
      sharedsecrets: [rawSharedSecret("db", { metadata: going })],
      secrets: [...secrets, rawCopy("other", "pay")],
    });
    expect(await reconcile()).toEqual({ kind: "done" });
    const requests = client.requests.filter(({ verb }) => verb === "patch");
    expect(requests).toHaveLength(1);
    expect(JSON.stringify(requests)).toContain(`"${written}":`);
  });

  test("removes the finalizer a settle time after the grants, once the API server no longer honours them", async () => {
    const name = derivedName({ name: "db", uid: "uid-db" }, { verbs: ["get"], status: false });
    let status: object = {
      allowed: true,
      reason: `RBAC: allowed by RoleBinding "${name}/team" of Role "${name}" to User "ann"`,
    };
    const { client, clock, reconcile } = await setup(
      { sharedsecrets: [rawSharedSecret("db", opened)] },
      { answer: ({ verb }) => (verb === "review" ? { status } : {}) },
    );
    const began = clock.now();
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: began + 2_000 });
    clock.advance(2_000);
    client.requests.splice(0);
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: began + 2_250 });
    expect(client.lines).toEqual(["review subjectaccessreviews ", "patch sharedsecrets team/db"]);
    status = { allowed: false };
    client.requests.splice(0);
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(client.lines).toEqual(["review subjectaccessreviews ", "patch sharedsecrets team/db"]);
  });

  test("does not wait in a terminating namespace", async () => {
    const { client, reconcile } = await setup({
      namespaces: [rawObject({ name: "team", ...going })],
      sharedsecrets: [rawSharedSecret("db", opened)],
    });
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(client.lines).toEqual(["review subjectaccessreviews ", "patch sharedsecrets team/db"]);
  });

  const ownedBy = (uid: string) => ({
    labels: { [labels.sourceUid]: uid },
    annotations: { [annotations.source]: "db" },
    ownerReferences: [{ apiVersion, kind: "SharedSecret", name: "db", uid }],
  });
  test.for<[string, object]>([
    ["an unmanaged object", {}],
    ["an object with the label and the owner of another uid", ownedBy("uid-of-another")],
  ])("reports a derived name that %s has", async ([, marks]) => {
    const owned = { ...rawSharedSecret("db", { projects: "" }), spec: { owner: { user: "ann" } } };
    const first = await setup({ sharedsecrets: [owned] });
    await first.reconcile();
    const name = first.client.lines.find((line) => line.startsWith("create roles "))?.split("/")[1];
    const roles = (metadata: object) => [
      rawObject({ namespace: "team", name, ...metadata }, { rules: [] }),
    ];
    const { client, status, reconcile } = await setup({
      sharedsecrets: [owned],
      roles: roles(marks),
    });
    await reconcile();
    expect(client.lines).toEqual(["patch sharedsecrets team/db"]);
    expect(JSON.stringify(status())).toContain("NameConflict");
  });

  test("restores a derived Role that has only its label or only its owner", async () => {
    const owned = { ...rawSharedSecret("db", { projects: "" }), spec: { owner: { user: "ann" } } };
    const first = await setup({ sharedsecrets: [owned] });
    await first.reconcile();
    const name = first.client.lines.find((line) => line.startsWith("create roles "))?.split("/")[1];
    const [own, other] = [ownedBy("uid-db"), ownedBy("uid-of-another")];
    for (const metadata of [
      { ...own, labels: other.labels },
      { ...own, ownerReferences: other.ownerReferences },
    ]) {
      const role = rawObject({ namespace: "team", name, ...metadata }, { rules: [] });
      const { client, reconcile } = await setup({ sharedsecrets: [owned], roles: [role] });
      await reconcile();
      expect(client.lines).toContain(`replace roles team/${name}`);
    }
  });
});

describe("derived objects of a SharedSecret that is gone", () => {
  const leftover = derivedName(
    { name: "gone", uid: "uid-gone" },
    { verbs: ["get"], status: false },
  );
  const left = {
    roles: [derived("role", leftover)],
    rolebindings: [
      derived("binding", leftover, { marks: { annotations: { [annotations.source]: "gone" } } }),
    ],
  };

  test("are deleted, bindings first, once the API server confirms that it is gone", async () => {
    const { client, reconcile } = await setup(left, { answer: goneAnswer });
    expect(await reconcile("team/gone")).toEqual({ kind: "done" });
    expect(client.lines).toEqual([
      "getMetadata sharedsecrets team/gone",
      `delete rolebindings team/${leftover}`,
      `delete roles team/${leftover}`,
    ]);
  });

  test("are deleted by the reconcile of another one in the namespace, before that one is granted", async () => {
    const owned = { ...rawSharedSecret("db", { projects: "" }), spec: { owner: { user: "ann" } } };
    const { client, reconcile } = await setup(
      { ...left, sharedsecrets: [owned] },
      { answer: goneAnswer },
    );
    await reconcile();
    expect(client.lines.slice(0, 2)).toEqual([
      "getMetadata sharedsecrets team/gone",
      `delete rolebindings team/${leftover}`,
    ]);
    expect(client.lines.filter((line) => line.startsWith("create"))).toHaveLength(2);
  });

  test("are kept while it exists in the API server, because the informer may lag", async () => {
    const { client, reconcile } = await setup(left, {
      answer: () => rawObject({ namespace: "team", name: "gone", uid: "uid-gone" }),
    });
    await reconcile("team/gone");
    expect(client.lines).toEqual(["getMetadata sharedsecrets team/gone"]);
  });

  test("are confirmed by the name in a Role's rule, if no annotation names it", async () => {
    const { client, reconcile } = await setup(
      { roles: [derived("role", leftover)] },
      { answer: goneAnswer },
    );
    await reconcile("team/gone");
    expect(client.lines).toEqual([
      "getMetadata sharedsecrets team/gone",
      `delete roles team/${leftover}`,
    ]);
  });

  test("are deleted without a read if nothing names it", async () => {
    const { client, reconcile } = await setup({ rolebindings: [derived("binding", leftover)] });
    await reconcile("team/gone");
    expect(client.lines).toEqual([`delete rolebindings team/${leftover}`]);
  });

  const apiVersion = "management.service/v1";
  test.for([
    [
      "an owner reference and none of Latchkey's metadata",
      {
        labels: {},
        ownerReferences: [{ apiVersion, kind: "SharedSecret", name: "gone", uid: "uid-gone" }],
      },
    ],
    [
      "Latchkey's metadata and a name that is not derived from it",
      { name: "latchkey-gone-0123456789abcdef", annotations: { [annotations.source]: "gone" } },
    ],
    ["Latchkey's label and a name of another form", { name: "latchkey-gone" }],
  ] as const)("do not include an unmanaged object with %s", async ([, marks]) => {
    const { client, reconcile } = await setup(
      {
        roles: [derived("role", leftover, { marks })],
        rolebindings: [derived("binding", leftover, { marks })],
      },
      { answer: goneAnswer },
    );
    await reconcile("team/gone");
    expect(client.lines).toEqual([]);
  });

  test("do not include those of an existing SharedSecret", async () => {
    const { client, reconcile } = await setup({
      sharedsecrets: [rawSharedSecret("db")],
      roles: [derived("role", "latchkey-a-0123456789abcdef", { uid: "uid-db" })],
    });
    await reconcile("team/gone");
    expect(client.lines).toEqual([]);
  });
});

describe("Roles that cannot be written", () => {
  const opened = rawSharedSecret("db", { access: [{ users: ["ann"], verbs: ["get"] }] });
  const away = (count: number) =>
    refusal("ServerError", {
      reason: "InternalError",
      message: `POST roles: 500 webhook is away (${count})`,
    });

  /** The source after the last status write. */
  const withStatus = (source: RawObject, status: unknown): RawObject =>
    rawObject(
      { ...source.metadata, resourceVersion: String(2 ** 40) },
      { spec: source.spec, status },
    );

  test("are reported once after 30 s, and no longer after the next success", async () => {
    let [tries, isAway] = [0, true];
    const { client, clock, listWatch, reconcile } = await setup(
      { sharedsecrets: [opened] },
      { answer: ({ verb }) => (verb === "create" && isAway ? away((tries += 1)) : {}) },
    );
    const statuses = () =>
      client.requests
        .filter(({ verb }) => verb === "patch")
        .map(({ body }) => recordAt(recordAt(body, "body"), "status"));
    for (const ms of [0, 29_999]) {
      clock.advance(ms);
      await expect(reconcile()).rejects.toMatchObject({ code: "ServerError" });
    }
    expect(statuses()).toEqual([]);
    clock.advance(1);
    await expect(reconcile()).rejects.toMatchObject({ code: "ServerError" });
    const failed = {
      status: "False",
      reason: "ApplyFailed",
      message: expect.stringContaining("webhook is away (3)"),
    };
    const types = (status: unknown) =>
      Object.fromEntries(parseConditions(status).map((condition) => [condition.type, condition]));
    expect(types(statuses()[0])).toMatchObject({
      Ready: failed,
      AccessApplied: failed,
      Reconciling: { status: "True" },
      Synced: { status: "False", reason: "NoTargets" },
    });
    listWatch.emit("sharedsecrets", "MODIFIED", withStatus(opened, statuses()[0]));
    for (let count = 0; count < 5; count += 1) {
      clock.advance(60_000);
      await expect(reconcile()).rejects.toMatchObject({ code: "ServerError" });
    }
    expect(statuses()).toHaveLength(1);
    isAway = false;
    await reconcile();
    expect(statuses()).toHaveLength(1);
    await reconcile();
    expect(types(statuses()[1])).toMatchObject({
      Ready: { status: "True" },
      AccessApplied: { status: "True" },
    });
  });

  test("are reported as a problem of the spec at once if etcd cannot store them", async () => {
    const explanation = "etcdserver: request is too large";
    const tooLarge = refusal("ServerError", { explanation });
    const { status, reconcile } = await setup(
      { sharedsecrets: [opened] },
      {
        answer: ({ verb }) => (verb === "create" ? tooLarge : {}),
      },
    );
    expect(await reconcile()).toEqual({ kind: "requeue-with-backoff" });
    expect(parseConditions(status())).toContainEqual(
      expect.objectContaining({
        type: "Stalled",
        reason: "TooLarge",
        message: expect.stringContaining("Name fewer users"),
      }),
    );
  });
});
