import { beforeAll, describe, expect, it } from "vitest";
import { annotations, components, labels, ownLabel, ownObjects } from "../../src/api/names.ts";
import { stringMapAt } from "../../src/api/parse.ts";
import { readingBounds } from "../../src/api/reading-bounds.ts";
import { reportKey } from "../../src/domain/outbox/cluster-report.ts";
import { agentUser, outboxNamespace, reportName } from "../../src/domain/outbox/outbox-names.ts";
import { becomes } from "../support/becomes.ts";
import { eventually } from "../support/eventually.ts";
import {
  admin,
  answered,
  api,
  as,
  type Answer,
  type Caller,
  latchkeyAccount,
  unique,
} from "../support/policy-request.ts";
import {
  dryCreate,
  forceApply,
  gone as noOwner,
  grantUser,
  made,
  merge,
  withPolicies,
} from "./policy-fixture.ts";

const [east, west] = [unique("east"), unique("west")];
const [outbox, other] = [outboxNamespace(east), outboxNamespace(west)];
const controller = latchkeyAccount("latchkey-controller");
const agent: Caller = { user: agentUser(east) };
/** All of them have every right in the cluster, but `connector` alone has the verb. */
const [tenant, connector] = [{ user: unique("tenant") }, { user: unique("connector") }];
const everything = [
  "core namespaces,namespaces/status,namespaces/finalize,pods,serviceaccounts,serviceaccounts/token",
  "core secrets,configmaps,resourcequotas,events",
  "coordination.k8s.io leases",
  "management.service sharedsecrets",
  "rbac.authorization.k8s.io roles,rolebindings",
];
const everyVerb = "create,get,update,patch,delete,deletecollection";
const refusal = `requires the verb connect on clusters.management.service "${east}"`;

const pathOf = (namespace: string, plural: string, group = "") =>
  `${group === "" ? "/api/v1" : `/apis/${group}/v1`}/namespaces/${namespace}/${plural}`;
const leases = "coordination.k8s.io";
const outboxLabels = { [labels.outboxUid]: "7d1f" };
const outboxSecret = (change: object = {}) => ({
  metadata: { name: unique("outbox"), labels: outboxLabels },
  type: "management.service/outbox",
  data: { password: "aHVudGVyMg==" },
  ...change,
});
const report = (number: number, change: object = {}) => ({
  metadata: { name: reportName(number), labels: { [labels.component]: components.clusterReport } },
  data: { [reportKey]: "" },
  ...change,
});
const lease = {
  metadata: {
    name: ownObjects.agentLease,
    labels: { [labels.component]: components.clusterAgent },
  },
  spec: {},
};
const reportPath = (number: number, namespace = outbox) =>
  `${pathOf(namespace, "configmaps")}/${reportName(number)}`;
const leasePath = (namespace = outbox) =>
  `${pathOf(namespace, "leases", leases)}/${ownObjects.agentLease}`;
/** The Secret of the controller, as the administrator cannot make one. */
const storedOutbox = async (): Promise<string> => {
  const { metadata } = await as(controller).create(pathOf(outbox, "secrets"), outboxSecret());
  return `${pathOf(outbox, "secrets")}/${metadata.name}`;
};

beforeAll(async () => {
  for (const namespace of [outbox, other]) {
    await api.create("/api/v1/namespaces", { metadata: { name: namespace, labels: ownLabel } });
    for (const number of [0, 15, 16])
      await api.create(pathOf(namespace, "configmaps"), report(number));
    await api.create(pathOf(namespace, "leases", leases), lease);
  }
  for (const caller of [agent, tenant, connector])
    await grantUser(caller, ...everything.map((resources) => `${everyVerb} ${resources}`));
  await grantUser(connector, `connect management.service clusters ${east}`);
});

withPolicies("the namespace of an outbox", () => {
  const namespace = (name: string) => ({ metadata: { name, labels: ownLabel } });
  const [mine, theirs] = [unique("mine"), unique("theirs")];

  beforeAll(async () => {
    await grantUser(connector, `connect management.service clusters ${mine}`);
  });

  it("is created by a user with connect on its cluster alone", async () => {
    const create = (by: Caller, body: object) => dryCreate(by, "/api/v1/namespaces", body);
    expect(await create(connector, namespace(outboxNamespace(mine)))).toMatchObject({ code: 201 });
    for (const by of [tenant, agent, connector])
      expect(await create(by, namespace(outboxNamespace(theirs)))).toMatchObject(
        answered(403, `requires the verb connect on clusters.management.service "${theirs}"`),
      );
    const generated = { metadata: { generateName: "latchkey-cluster-", labels: ownLabel } };
    for (const by of [tenant, connector])
      expect(await create(by, generated)).toMatchObject(answered(403, "requires the verb connect"));
    expect(await create(tenant, namespace(`my-latchkey-cluster-${mine}`))).toMatchObject({
      code: 201,
    });
    expect(await create(tenant, namespace("latchkey-clusters2"))).toMatchObject({ code: 201 });
  });

  it.each(["", "/status", "/finalize"])("is changed by no other user: %j", async (subresource) => {
    const stored = await api.get(`/api/v1/namespaces/${outbox}`);
    const path = `/api/v1/namespaces/${outbox}${subresource}?dryRun=All`;
    const marks = { [annotations.clusterUid]: unique("uid") };
    const change = { ...stored, metadata: { ...stored.metadata, annotations: marks } };
    for (const by of [tenant, agent, controller]) {
      const answer = await as(by).replace(path, change);
      expect(answer).toMatchObject(answered(403, by === controller ? "" : refusal));
    }
    expect(await as(connector).replace(path, change)).toMatchObject({ code: 200 });
  });

  it("always has the label by which the policy matches what is in it", async () => {
    const refused = answered(403, "metadata.labels[app.kubernetes.io/name] must be");
    const path = `/api/v1/namespaces/${outbox}`;
    for (const labels of [undefined, {}, { "app.kubernetes.io/name": "other" }]) {
      const made = { metadata: { name: outboxNamespace(mine), labels } };
      expect(await dryCreate(connector, "/api/v1/namespaces", made)).toMatchObject(refused);
    }
    for (const name of [null, "other"]) {
      const change = { metadata: { labels: { "app.kubernetes.io/name": name } } };
      expect(await merge(connector, `${path}?dryRun=All`, change)).toMatchObject(refused);
    }
    const more = { metadata: { labels: { platform: "x" } } };
    expect(await merge(connector, `${path}?dryRun=All`, more)).toMatchObject({ code: 200 });
  });

  it("is deleted by no other user", async () => {
    const path = `/api/v1/namespaces/${outbox}?dryRun=All`;
    for (const by of [tenant, agent])
      expect(await as(by).delete(path)).toMatchObject(answered(403, refusal));
    expect(await as(connector).delete(path)).toMatchObject({ code: 200 });
    const ofOther = `/api/v1/namespaces/${other}?dryRun=All`;
    expect(await as(connector).delete(ofOther)).toMatchObject({ code: 403 });
  });

  it("goes with all that is in it, and gets what each namespace gets", async () => {
    const gone = outboxNamespace(unique("gone"));
    const path = `/api/v1/namespaces/${gone}`;
    await api.create("/api/v1/namespaces", namespace(gone));
    await api.create(pathOf(gone, "resourcequotas"), {
      metadata: { name: "outbox" },
      spec: { hard: { pods: "0", secrets: "100" } },
    });
    await api.create(pathOf(gone, "configmaps"), report(0));
    const created = await as(controller).create(pathOf(gone, "secrets"), outboxSecret());
    expect(created).toMatchObject({ code: 201 });
    const isFurnished = async () => {
      for (const what of ["serviceaccounts/default", "configmaps/kube-root-ca.crt"])
        if ((await api.find(pathOf(gone, what))).code !== 200) return false;
      const { status } = await api.get(`${pathOf(gone, "resourcequotas")}/outbox`);
      // The controller of quotas counts again only after a change, and may count before the Secret.
      return stringMapAt(status, "used")["secrets"] !== undefined;
    };
    await eventually(isFurnished, { what: "the quota to be counted" });
    const orphan = await made(pathOf(gone, "configmaps"), {
      metadata: { name: "orphan", ownerReferences: [noOwner] },
    });
    await eventually(async () => (await api.find(orphan)).code === 404, {
      what: "the garbage collector to delete an object without its owner",
    });
    await api.delete(path);
    await eventually(async () => (await api.find(path)).code === 404, {
      what: "the namespace to be gone",
    });
  });
});

withPolicies("in the namespace of an outbox, the controller", () => {
  const path = pathOf(outbox, "secrets");
  it.each<[rule: string, change: object, refusal?: string]>([
    ["can create a Secret of an outbox", {}],
    ["cannot create one of another type", { type: "Opaque" }, "only Secrets of type"],
    [
      "cannot create one without the label",
      { metadata: { name: "a", labels: { [labels.component]: "x" } } },
      "only Secrets of type",
    ],
    [
      "cannot create a copy",
      { metadata: { name: "a", labels: { [labels.sourceUid]: "u" } }, type: "Opaque" },
      "only Secrets of type",
    ],
  ])("%s", async (_rule, change, text) => {
    expect(await dryCreate(controller, path, outboxSecret(change))).toMatchObject(
      answered(text === undefined ? 201 : 403, text ?? ""),
    );
  });

  it("can change and delete a Secret of an outbox", async () => {
    const stored = await storedOutbox();
    expect(await merge(controller, stored, { data: { password: null } })).toMatchObject({
      code: 200,
    });
    const unlabelled = { metadata: { labels: { [labels.outboxUid]: null } } };
    expect(await merge(controller, stored, unlabelled)).toMatchObject({ code: 403 });
    expect(await as(controller).delete(stored)).toMatchObject({ code: 200 });
  });

  it("can write no Secret with this label in another namespace", async () => {
    expect(await dryCreate(controller, pathOf("default", "secrets"), outboxSecret())).toMatchObject(
      answered(403, "must contain a label of Latchkey"),
    );
  });
});

withPolicies("in the namespace of an outbox, the agent of the cluster", () => {
  const text = (length: number, unit = "x") => ({ data: { [reportKey]: unit.repeat(length) } });
  const sized = "of at most 65536 bytes";
  const metadata = "must not change metadata.labels";
  it.each<[rule: string, body: object, refusal?: string]>([
    ["can write a report of 64 KiB", text(readingBounds.agentReport.bytes)],
    ["cannot write a longer one", text(readingBounds.agentReport.bytes + 1), sized],
    [
      "cannot write one with more bytes than characters",
      text(readingBounds.agentReport.bytes / 2, "\u{1f511}"),
      sized,
    ],
    ["cannot write another key", { data: { other: "x" } }, sized],
    ["cannot write binary data", { binaryData: { other: "eA==" } }, sized],
    ["cannot make a report immutable", { immutable: true }, sized],
    ["cannot change a label", { metadata: { labels: { [labels.component]: "x" } } }, metadata],
    ["cannot remove a label", { metadata: { labels: null } }, metadata],
    ["cannot add a label", { metadata: { labels: { [labels.sourceUid]: "x" } } }, metadata],
    [
      "cannot annotate it",
      { metadata: { annotations: { [annotations.projects]: "b" } } },
      metadata,
    ],
    ["cannot give it a finalizer", { metadata: { finalizers: ["example.com/a"] } }, metadata],
    [
      "cannot give it an owner",
      {
        metadata: {
          ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "a" }],
        },
      },
      metadata,
    ],
  ])("%s", async (_rule, body, why) => {
    const paths = [reportPath(0), reportPath(15), ...(why === metadata ? [leasePath()] : [])];
    for (const path of paths)
      expect(await merge(agent, `${path}?dryRun=All`, body)).toMatchObject(
        answered(why === undefined ? 200 : 403, why ?? ""),
      );
  });

  it("can write what a policy of the platform adds: to a report, what its namespace has", async () => {
    const added = (value: string) => ({
      metadata: { labels: { platform: value }, annotations: { "example.com/platform": value } },
    });
    const [report, renewal] = [`${reportPath(0)}?dryRun=All`, `${leasePath()}?dryRun=All`];
    const namespace = `/api/v1/namespaces/${outbox}`;
    expect(await merge(agent, renewal, added("one"))).toMatchObject({ code: 200 });
    expect(await merge(agent, report, added("one"))).toMatchObject(answered(403, metadata));
    await api.merge(namespace, added("one"));
    // A policy reads the namespace from a cache.
    await becomes(
      "the report to be written",
      async () => (await merge(agent, report, added("one"))).code,
      200,
    );
    expect(await merge(agent, report, added("two"))).toMatchObject(answered(403, metadata));
  });

  it("can apply a report server-side, which exists already", async () => {
    const applied = { apiVersion: "v1", kind: "ConfigMap", ...report(0, text(1)) };
    expect(await forceApply(agent, reportPath(0), applied)).toMatchObject({ code: 200 });
    const further = { ...applied, metadata: { ...applied.metadata, name: "report-1" } };
    expect(await forceApply(agent, reportPath(1), further)).toMatchObject(answered(403, refusal));
  });

  it.each<[rule: string, request: () => Promise<Answer>]>([
    ["another ConfigMap", () => merge(agent, reportPath(16), text(1))],
    ["a new report", () => dryCreate(agent, pathOf(outbox, "configmaps"), report(1))],
    ["the deletion of a report", () => as(agent).delete(`${reportPath(0)}?dryRun=All`)],
    ["the deletion of the Lease", () => as(agent).delete(`${leasePath()}?dryRun=All`)],
    [
      "a new Lease",
      () =>
        dryCreate(agent, pathOf(outbox, "leases", leases), { metadata: { name: "a" }, spec: {} }),
    ],
    [
      "a token",
      () =>
        dryCreate(agent, `${pathOf(outbox, "serviceaccounts")}/default/token`, {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: {},
        }),
    ],
    [
      "the deletion of a Secret",
      async () => as(agent).delete(`${await storedOutbox()}?dryRun=All`),
    ],
  ])("cannot request %s", async (_rule, request) => {
    expect(await request()).toMatchObject(answered(403, refusal));
  });

  it("cannot write in the outbox of another cluster", async () => {
    const named = `requires the verb connect on clusters.management.service "${west}"`;
    expect(await merge(agent, reportPath(0, other), text(1))).toMatchObject(answered(403, named));
    expect(await merge(agent, leasePath(other), { spec: {} })).toMatchObject(answered(403, named));
  });

  it("cannot write a Secret", async () => {
    const why = "only the controller of Latchkey writes Secrets";
    const stored = await storedOutbox();
    expect(await merge(agent, stored, { data: null })).toMatchObject(answered(403, why));
    expect(await dryCreate(agent, pathOf(outbox, "secrets"), outboxSecret())).toMatchObject(
      answered(403, why),
    );
  });

  it("can renew the Lease, and names its cluster there once", async () => {
    const renew = (by: Caller, spec: object) => merge(by, leasePath(), { spec });
    const renewTime = "2026-01-01T00:00:00.000000Z";
    const first = { holderIdentity: "uid-1", renewTime };
    expect(await renew(agent, { holderIdentity: "x".repeat(129) })).toMatchObject({ code: 403 });
    expect(await renew(agent, first)).toMatchObject({ code: 200 });
    expect(await renew(agent, { renewTime: "2026-01-01T00:00:01.000000Z" })).toMatchObject({
      code: 200,
    });
    for (const holderIdentity of ["uid-2", "", null])
      expect(await renew(agent, { holderIdentity })).toMatchObject(
        answered(403, "is that of another cluster"),
      );
    expect(await renew(connector, { holderIdentity: "" })).toMatchObject({ code: 200 });
    expect(await renew(agent, { ...first, holderIdentity: "uid-2" })).toMatchObject({ code: 200 });
  });
});

withPolicies("in the namespace of an outbox, other users", () => {
  const dryRun = "?dryRun=All";
  const writes: readonly (readonly [string, (by: Caller) => Promise<Answer>])[] = [
    ["a ConfigMap", (by) => dryCreate(by, pathOf(outbox, "configmaps"), report(3))],
    ["a report", (by) => merge(by, reportPath(0) + dryRun, { data: { [reportKey]: "x" } })],
    ["a Lease", (by) => merge(by, leasePath() + dryRun, { spec: { leaseTransitions: 1 } })],
    ["the deletion of a report", (by) => as(by).delete(reportPath(15) + dryRun)],
    ["the deletion of a Secret", async (by) => as(by).delete((await storedOutbox()) + dryRun)],
    [
      "the deletion of all Secrets",
      async (by) => {
        await storedOutbox();
        return as(by).delete(pathOf(outbox, "secrets") + dryRun);
      },
    ],
    [
      "a Pod",
      (by) =>
        dryCreate(by, pathOf(outbox, "pods"), {
          metadata: { name: "a" },
          spec: { containers: [{ name: "a", image: "a" }], automountServiceAccountToken: false },
        }),
    ],
    [
      "a Role",
      (by) =>
        dryCreate(by, pathOf(outbox, "roles", "rbac.authorization.k8s.io"), {
          metadata: { name: "a" },
          rules: [],
        }),
    ],
    [
      "a service account",
      (by) => dryCreate(by, pathOf(outbox, "serviceaccounts"), { metadata: { name: "a" } }),
    ],
    [
      "a SharedSecret",
      (by) =>
        dryCreate(by, pathOf(outbox, "sharedsecrets", "management.service"), {
          apiVersion: "management.service/v1",
          kind: "SharedSecret",
          metadata: { name: "a" },
        }),
    ],
  ];
  const needsServiceAccount = (answer: Answer) =>
    (answer.message ?? "").includes("error looking up service account");

  it.each(writes)("need connect for %s", async (_what, write) => {
    for (const by of [tenant, latchkeyAccount("latchkey-webhook")])
      expect((await write(by)).code).toBe(403);
    const denied = await write(tenant);
    expect(denied).toMatchObject(needsServiceAccount(denied) ? {} : answered(403, refusal));
    const allowed = await write(connector);
    expect([200, 201]).toContain(needsServiceAccount(allowed) ? 201 : allowed.code);
  });

  it.each([
    ["an outbox Secret", {}],
    ["any other Secret", { metadata: { name: "a" }, type: "Opaque" }],
    [
      "the token of a service account",
      {
        metadata: { name: "a", annotations: { "kubernetes.io/service-account.name": "default" } },
        type: "kubernetes.io/service-account-token",
      },
    ],
  ])("cannot create %s, not even with connect", async (_what, change) => {
    for (const by of [tenant, connector, admin])
      expect(await dryCreate(by, pathOf(outbox, "secrets"), outboxSecret(change))).toMatchObject(
        answered(403, "only the controller of Latchkey writes Secrets"),
      );
  });

  it("cannot change a Secret of the controller", async () => {
    const stored = await storedOutbox();
    for (const by of [tenant, connector, admin])
      expect(await merge(by, stored, { data: { password: "c2VzYW1l" } })).toMatchObject(
        answered(403, "only the controller of Latchkey writes Secrets"),
      );
  });

  it("can record Events", async () => {
    const event = {
      metadata: { name: unique("event"), namespace: outbox },
      involvedObject: { kind: "ConfigMap", namespace: outbox, name: "report-0" },
      reason: "Tested",
    };
    expect(await dryCreate(tenant, pathOf(outbox, "events"), event)).toMatchObject({ code: 201 });
  });
});

describe("what a tenant does elsewhere", () => {
  it("is as it was: labels and annotations of an outbox mean nothing there", async () => {
    const namespace = unique("elsewhere");
    await api.create("/api/v1/namespaces", { metadata: { name: namespace } });
    const stored = await made(pathOf(namespace, "secrets"), outboxSecret());
    const change = { metadata: { annotations: { [annotations.copyOf]: "east//a/b -> c/d" } } };
    expect(await merge(tenant, stored, change)).toMatchObject({ code: 200 });
    const configMap = await made(pathOf(namespace, "configmaps"), report(0));
    expect(await merge(tenant, configMap, { data: { any: "x" } })).toMatchObject({ code: 200 });
    expect(await as(tenant).delete(stored)).toMatchObject({ code: 200 });
  });
});
