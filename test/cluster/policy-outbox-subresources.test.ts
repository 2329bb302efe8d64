import { beforeAll, expect, it } from "vitest";
import { group as ownGroup, ownLabel } from "../../src/api/names.ts";
import { isTrueAt, listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import { guardingManifests } from "../support/connected-policies.ts";
import { answered, api, as, unique } from "../support/policy-request.ts";
import { grantUser, withPolicies } from "./policy-fixture.ts";

/*
 * The resources `*` of a policy do not include subresources, and with all of them every status that
 * is written in the cluster would be evaluated. So each subresource of a namespaced resource is named
 * in latchkey-outbox, or here with the reason why it decides nothing in the namespace of an outbox.
 */
const reasons: Readonly<Record<string, readonly string[]>> = {
  "needs a Pod, which only a user with connect creates": [
    ...["pods/attach", "pods/binding", "pods/ephemeralcontainers", "pods/eviction", "pods/exec"],
    ...["pods/portforward", "pods/proxy", "pods/resize", "pods/status", "services/proxy"],
  ],
  "makes Pods of an object that only a user with connect creates": [
    ...["deployments.apps/scale", "replicasets.apps/scale", "statefulsets.apps/scale"],
    "replicationcontrollers/scale",
  ],
  "is the status of an object that only a user with connect creates": [
    ...["daemonsets.apps/status", "deployments.apps/status", "replicasets.apps/status"],
    ...["statefulsets.apps/status", "horizontalpodautoscalers.autoscaling/status"],
    ...["cronjobs.batch/status", "jobs.batch/status", "ingresses.networking.k8s.io/status"],
    ...["poddisruptionbudgets.policy/status", "persistentvolumeclaims/status"],
    ...["replicationcontrollers/status", "services/status"],
    ...["resourceclaims.resource.k8s.io/status", "resourceclaims.resource.k8s.io/binding"],
    "podcertificaterequests.certificates.k8s.io/status",
  ],
  "is locked by latchkey-status-lock": [
    ...["sharedsecrets.management.service/status", "ownedaccesskeys.management.service/status"],
    "directclusterendpointtokens.management.service/status",
  ],
};
const undecided = Object.values(reasons).flat();
const writing: readonly string[] = ["create", "update", "patch", "delete"];

/** Whether a group is served by kube-apiserver itself, or by Latchkey's CRDs. */
function isKnown(group: string): boolean {
  return !group.includes(".") || group.endsWith(".k8s.io") || group === ownGroup;
}

/** The namespaced subresources that can be written, as `plural.group/subresource`. */
async function servedSubresources(): Promise<readonly string[]> {
  const groups = listAt(await api.get("/apis"), "groups").filter((group) =>
    isKnown(stringAt(group, "name") ?? ""),
  );
  const versions = groups.map((group) =>
    stringAt(recordAt(group, "preferredVersion"), "groupVersion"),
  );
  const served = await Promise.all(
    ["/api/v1", ...versions.map((version) => `/apis/${version}`)].map(subresourcesAt),
  );
  return served.flat().toSorted();
}

async function subresourcesAt(path: string): Promise<readonly string[]> {
  const [, , group = ""] = path.startsWith("/apis/") ? path.split("/") : [];
  return listAt(await api.get(path), "resources").flatMap((resource) => {
    const [plural = "", subresource] = (stringAt(resource, "name") ?? "").split("/");
    const isWritten = stringsAt(resource, "verbs").some((verb) => writing.includes(verb));
    return subresource !== undefined && isWritten && isTrueAt(resource, "namespaced")
      ? [`${plural}${group === "" ? "" : `.${group}`}/${subresource}`]
      : [];
  });
}

/** The subresources in the rules of the policy for namespaced resources. */
function namedInPolicy(): readonly string[] {
  const policy = guardingManifests().find(({ name }) => name === "latchkey-outbox")?.policy;
  const spec = recordAt(policy, "spec");
  return listAt(recordAt(spec, "matchConstraints"), "resourceRules")
    .filter((rule) => stringAt(rule, "scope") === "Namespaced")
    .flatMap((rule) => stringsAt(rule, "resources"))
    .filter((resource) => resource.includes("/"));
}

it("every subresource is named in the policy, or has a reason why not", async () => {
  const served = await servedSubresources();
  const named = namedInPolicy();
  expect(served.filter((one) => !named.includes(one) && !undecided.includes(one))).toEqual([]);
  expect(named.filter((one) => undecided.includes(one) || !served.includes(one))).toEqual([]);
});

withPolicies("the status of a quota in the namespace of an outbox", () => {
  const cluster = unique("quota");
  const namespace = outboxNamespace(cluster);
  const [tenant, connector] = [{ user: unique("tenant") }, { user: unique("connector") }];
  const path = `/api/v1/namespaces/${namespace}/resourcequotas/outbox/status?dryRun=All`;

  beforeAll(async () => {
    await api.create("/api/v1/namespaces", { metadata: { name: namespace, labels: ownLabel } });
    const spec = { hard: { secrets: "100" } };
    await api.create(`/api/v1/namespaces/${namespace}/resourcequotas`, {
      metadata: { name: "outbox" },
      spec,
    });
    const rights = "get,update,patch core resourcequotas,resourcequotas/status";
    for (const caller of [tenant, connector]) await grantUser(caller, rights);
    await grantUser(connector, `connect management.service clusters ${cluster}`);
  });

  it.each([
    ["a user with every right on quotas", tenant, 403],
    ["a user with connect", connector, 200],
  ] as const)("is written by %s: %3$j", async (_who, caller, code) => {
    const status = { used: { secrets: "20000" } };
    expect(await as(caller).merge(path, { status })).toMatchObject(
      code === 403 ? answered(403, "") : { code },
    );
  });
});
