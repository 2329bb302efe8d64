import { describe, expect, test } from "vitest";
import { parseOwnedAccessKeySpec } from "../../../src/api/owned-access-key.ts";
import { listAt } from "../../../src/api/parse.ts";
import { resources } from "../../../src/api/resources.ts";
import { agentKeySpec, outboxObjects } from "../../../src/domain/outbox/outbox-objects.ts";
import { longestClusterName, outboxNamespace } from "../../../src/domain/outbox/outbox-names.ts";

const reports = Array.from({ length: 16 }, (_, number) => `report-${number}`);
const lease = ["latchkey-cluster-agent"];
/** The group, resource, names and verbs of each right. */
const wanted = [
  ["", "secrets", [], ["get", "list", "watch"]],
  ["", "configmaps", reports, ["get", "update"]],
  ["coordination.k8s.io", "leases", lease, ["get", "update"]],
];

const rules = (of: object): readonly unknown[] =>
  listAt(of, "rules").map((rule) => {
    const {
      apiGroups,
      resources: plurals,
      resourceNames,
      verbs,
    } = { resourceNames: [], ...Object(rule) };
    return [apiGroups.join(), plurals.join(), resourceNames, verbs];
  });

describe("an outbox", () => {
  test("gives its agent a Role for its Secrets, reports and Lease, and nothing else", () => {
    const [role] = outboxObjects("east").filter(({ resource }) => resource === resources.roles);
    expect(rules(role!.manifest)).toEqual(wanted);
  });

  test("has a key with the rights of that Role in that namespace of the central cluster", () => {
    const { scope, ...spec } = parseOwnedAccessKeySpec(agentKeySpec("east"));
    expect(spec).toMatchObject({ subject: "latchkey-cluster-agent:east" });
    if (scope === "none" || scope === "unreadable") throw new Error(`the scope is ${scope}`);
    const { rules: found, ...others } = scope;
    expect(Object.values(others).flat()).toEqual([]);
    expect(
      found.map(({ resources: [one], resourceNames, verbs }) => [
        ...[one?.group, one?.resources.join(), resourceNames, verbs],
      ]),
    ).toEqual(wanted);
    for (const { namespaces, requestTargets } of found)
      expect([namespaces, requestTargets]).toEqual([["latchkey-cluster-east"], ["Management"]]);
  });

  test("begins with what guards it, and ends with its quota", () => {
    const kinds = outboxObjects("east").map(({ manifest }) => manifest.kind);
    expect([kinds.slice(0, 2), kinds.at(-1)]).toEqual([["Role", "RoleBinding"], "ResourceQuota"]);
  });

  test("has a name that a namespace can have, for the longest name of a cluster", () => {
    expect(outboxNamespace("e".repeat(longestClusterName))).toHaveLength(63);
  });
});
