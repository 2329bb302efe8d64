import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { isRecord, listAt, recordAt } from "../../../src/api/parse.ts";
import type { ScopedRequest } from "../../../src/domain/scope/request.ts";
import { pathRequest, resourceRequest } from "./requests.ts";
import { isAllowed } from "./verdict-of.ts";

/**
 * Shows that a field is not ignored: the decision about the request is different with and without
 * the field.
 */
interface Witness {
  readonly scope: object;
  readonly request: ScopedRequest;
}

const space = resourceRequest({ project: "web", space: "blue" });
const virtualCluster = resourceRequest({
  target: "ProjectVirtualCluster",
  project: "web",
  virtualCluster: "vc",
  virtualClusterNamespace: "home",
});
const pod = resourceRequest();
const ofRules = (fields: object, request: ScopedRequest): Witness => ({
  scope: { rules: [fields] },
  request,
});

const witnesses: Readonly<Record<string, Witness>> = {
  allowServiceCli: {
    scope: { allowServiceCli: true },
    request: resourceRequest({ group: "management.service", resource: "sharedsecrets" }),
  },
  clusters: {
    scope: { clusters: [{ cluster: "c1" }] },
    request: resourceRequest({ target: "Cluster", cluster: "c1" }),
  },
  "clusters[].cluster": {
    scope: { clusters: [{ cluster: "c1" }] },
    request: resourceRequest({ target: "Cluster", cluster: "c1" }),
  },
  projects: { scope: { projects: [{ project: "web" }] }, request: space },
  "projects[].project": { scope: { projects: [{ project: "web" }] }, request: space },
  roles: { scope: { roles: [{ role: "viewer" }] }, request: pod },
  "roles[].role": { scope: { roles: [{ role: "viewer" }] }, request: pod },
  "roles[].projects": { scope: { roles: [{ role: "viewer", projects: ["pay"] }] }, request: space },
  "roles[].virtualClusters": {
    scope: { roles: [{ role: "viewer", virtualClusters: ["vc"] }] },
    request: space,
  },
  spaces: { scope: { spaces: [{ project: "web", space: "blue" }] }, request: space },
  "spaces[].project": { scope: { spaces: [{ project: "web", space: "blue" }] }, request: space },
  "spaces[].space": { scope: { spaces: [{ project: "web", space: "blue" }] }, request: space },
  virtualClusters: {
    scope: { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
    request: virtualCluster,
  },
  "virtualClusters[].project": {
    scope: { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
    request: virtualCluster,
  },
  "virtualClusters[].virtualCluster": {
    scope: { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
    request: virtualCluster,
  },
  rules: ofRules({}, pod),
  "rules[].verbs": ofRules({ verbs: ["list"] }, pod),
  "rules[].resources": ofRules({ resources: [{ group: "apps" }] }, pod),
  "rules[].resources[].group": ofRules({ resources: [{ group: "apps" }] }, pod),
  "rules[].resources[].resources": ofRules(
    { resources: [{ group: "", resources: ["secrets"] }] },
    pod,
  ),
  "rules[].resourceNames": ofRules({ resources: [{ group: "" }], resourceNames: ["other"] }, pod),
  "rules[].namespaces": ofRules({ namespaces: ["other"] }, pod),
  "rules[].nonResourceURLs": ofRules({ nonResourceURLs: ["/logs"] }, pathRequest("/metrics")),
  "rules[].requestTargets": ofRules({ requestTargets: ["Cluster"] }, pod),
  "rules[].cluster": ofRules({ cluster: "c1" }, pod),
  "rules[].virtualClusters": ofRules({ virtualClusters: [{ name: "wc" }] }, virtualCluster),
  "rules[].virtualClusters[].name": ofRules({ virtualClusters: [{ name: "wc" }] }, virtualCluster),
  "rules[].virtualClusters[].namespace": ofRules(
    { virtualClusters: [{ namespace: "away" }] },
    virtualCluster,
  ),
};

const kinds = ["ownedaccesskeys", "directclusterendpointtokens"];

/** The paths of all fields in the schema of `spec.scope` of a CRD. */
function fieldsOf(crd: unknown): readonly string[] {
  const [version] = listAt(recordAt(crd, "spec"), "versions");
  const root = [
    "schema",
    "openAPIV3Schema",
    "properties",
    "spec",
    "properties",
    "scope",
  ].reduce<unknown>((at, step) => recordAt(at, step), version);
  return inside(root, "");
}

function inside(schema: unknown, prefix: string): readonly string[] {
  return Object.entries(recordAt(schema, "properties")).flatMap(([field, inner]) => [
    `${prefix}${field}`,
    ...inside(recordAt(inner, "items"), `${prefix}${field}[].`),
  ]);
}

/** The object without the field at a path, in every entry of the lists on the path. */
function without(value: unknown, path: readonly string[]): unknown {
  const [step = "", ...rest] = path;
  if (!isRecord(value)) return value;
  const field = step.replace("[]", "");
  if (rest.length === 0)
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== field));
  return { ...value, [field]: listAt(value, field).map((entry) => without(entry, rest)) };
}

describe("no field of a scope is ignored", () => {
  test.each(kinds)("every field of %s has a witness", (kind) => {
    const crd = load(readFileSync(`crds/${kind}.yaml`, "utf8"));
    expect([...fieldsOf(crd)].toSorted()).toEqual(Object.keys(witnesses).toSorted());
  });

  test.each(Object.entries(witnesses))("%s", (path, { scope, request }) => {
    expect(isAllowed(without(scope, path.split(".")), request)).not.toBe(isAllowed(scope, request));
  });
});
