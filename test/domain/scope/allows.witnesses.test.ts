import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { isRecord, listAt, recordAt } from "../../../src/api/parse.ts";
import { requestRows } from "./scope-text.ts";
import { isAllowed } from "./verdict-of.ts";

const inSpace = "pod project=web space=blue";
const inVirtualCluster =
  "pod target=ProjectVirtualCluster project=web virtualCluster=vc virtualClusterNamespace=home";

/**
 * `field | scope | request`: shows that the field is not ignored. The decision about the request is
 * different with and without the field.
 */
const witnesses = requestRows(`
  allowServiceCli | allowServiceCli true | get sharedsecrets.management.service p in ns
  clusters | cluster c1 | pod target=Cluster cluster=c1
  clusters[].cluster | cluster c1 | pod target=Cluster cluster=c1
  projects | project web | ${inSpace}
  projects[].project | project web | ${inSpace}
  roles | role viewer | pod
  roles[].role | role viewer | pod
  roles[].projects | role viewer projects=pay | ${inSpace}
  roles[].virtualClusters | role viewer virtualClusters=vc | ${inSpace}
  spaces | space web/blue | ${inSpace}
  spaces[].project | space web/blue | ${inSpace}
  spaces[].space | space web/blue | ${inSpace}
  virtualClusters | virtualCluster web/vc | ${inVirtualCluster}
  virtualClusters[].project | virtualCluster web/vc | ${inVirtualCluster}
  virtualClusters[].virtualCluster | virtualCluster web/vc | ${inVirtualCluster}
  rules | rule | pod
  rules[].verbs | rule verbs=list | pod
  rules[].resources | rule resources=.apps | pod
  rules[].resources[].group | rule resources=.apps | pod
  rules[].resources[].resources | rule resources=secrets | pod
  rules[].resourceNames | rule resources=. resourceNames=other | pod
  rules[].namespaces | rule namespaces=other | pod
  rules[].nonResourceURLs | rule nonResourceURLs=/logs | get /metrics
  rules[].requestTargets | rule requestTargets=Cluster | pod
  rules[].cluster | rule cluster=c1 | pod
  rules[].virtualClusters | rule virtualClusters=wc | ${inVirtualCluster}
  rules[].virtualClusters[].name | rule virtualClusters=wc | ${inVirtualCluster}
  rules[].virtualClusters[].namespace | rule virtualClusters=away/ | ${inVirtualCluster}
`);

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
    expect([...fieldsOf(crd)].toSorted()).toEqual(witnesses.map(([field]) => field).toSorted());
  });

  test.each(witnesses)("%s", (path, scope, request) => {
    expect(isAllowed(without(scope, path.split(".")), request)).not.toBe(isAllowed(scope, request));
  });
});
