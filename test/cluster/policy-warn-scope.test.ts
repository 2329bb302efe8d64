import { describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { unique } from "../support/policy-request.ts";

const scopeOf = {
  OwnedAccessKey: (scope: unknown) => ({ user: "alice", key: "0123456789abcdef", scope }),
  DirectClusterEndpointToken: (scope: unknown) => ({ scope }),
} as const;

async function warningsOf(
  kind: keyof typeof scopeOf,
  scope: unknown,
  annotations: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const input = JSON.stringify({
    apiVersion,
    kind,
    metadata: { name: unique("warned"), annotations },
    spec: scope === undefined ? {} : scopeOf[kind](scope),
  });
  const { code, stderr } = await tryKubectl(
    inject("controlPlane"),
    ["create", "--dry-run=server", "-f", "-"],
    { input },
  );
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stderr
    .split("\n")
    .filter((line) => line.startsWith("Warning: ") && line.includes("latchkey-warn-scope"));
}

const enforced: unknown = expect.stringMatching(
  /only a direct endpoint, or latchkey webhook --direct, enforces the scope of a direct token.*valid until it expires, even when this object is deleted/,
);

describe
  .skipIf(!inject("hasPolicies"))
  .concurrent("a scope with a probable mistake is accepted with a warning", () => {
    it.each<[string, unknown, string]>([
      ["a glob of projects", { projects: [{ project: "web-*" }] }, '"web-*" covers nothing'],
      ["a glob of spaces", { spaces: [{ project: "web", space: "b*" }] }, '"b*" covers nothing'],
      [
        "a glob of virtual clusters",
        { virtualClusters: [{ project: "**", virtualCluster: "vc" }] },
        '"**" covers nothing',
      ],
      ["a glob of clusters", { clusters: [{ cluster: "*-prod" }] }, '"*-prod" covers nothing'],
      ["the verb *", { rules: [{ verbs: ["*"] }] }, 'the verb "*" is not supported'],
      ["a glob of namespaces", { rules: [{ namespaces: ["team-*"] }] }, '"team-*" in namespaces'],
      [
        "paths with resources that are not namespaced",
        { rules: [{ nonResourceURLs: ["/metrics"], namespaces: [""] }] },
        "every resource that is not namespaced",
      ],
      [
        "namespaces of virtual clusters",
        {
          rules: [
            { virtualClusters: [{ name: "a" }, { name: "b", namespace: "" }] },
            { virtualClusters: [{ name: "a" }, { name: "b", namespace: "c" }] },
          ],
        },
        "spec.scope.rules[1].virtualClusters[1].namespace: covers nothing, because this version knows no namespaces of virtual clusters; remove the namespace",
      ],
      [
        "more than five namespaces of virtual clusters",
        { rules: [{ virtualClusters: Array.from({ length: 6 }, () => ({ namespace: "c" })) }] },
        "spec.scope.rules[0].virtualClusters[4].namespace: covers nothing",
      ],
    ])("%s", async (_what, scope, warning) => {
      expect(await warningsOf("OwnedAccessKey", scope)).toEqual([expect.stringContaining(warning)]);
    });

    it("the scope of a direct token, which only a direct endpoint enforces", async () => {
      expect(
        await warningsOf("DirectClusterEndpointToken", {
          clusters: [{ cluster: "east" }],
          rules: [{ requestTargets: ["Management", "Cluster"] }, { verbs: ["get"] }],
        }),
      ).toEqual([enforced]);
    });

    it.each<[string, unknown, string]>([
      [
        "roles, projects, spaces and virtual clusters",
        {
          roles: [{ role: "serviceCLI" }],
          projects: [{ project: "web" }],
          spaces: [{ project: "web", space: "blue" }],
          virtualClusters: [{ project: "web", virtualCluster: "vc" }],
        },
        "spec.scope.roles[0], spec.scope.projects[0], spec.scope.spaces[0], spec.scope.virtualClusters[0]: covers nothing in a direct token, because direct endpoints and authorizers of connected clusters allow requests only by clusters and rules; use spec.scope.clusters or spec.scope.rules",
      ],
      [
        "allowServiceCli",
        { allowServiceCli: true },
        "spec.scope.allowServiceCli: covers nothing in a direct token",
      ],
      [
        "rules about virtual clusters and other targets",
        {
          rules: [
            {},
            { requestTargets: ["Management", "ProjectSpace"] },
            { virtualClusters: [{ name: "vc" }] },
          ],
        },
        "spec.scope.rules[2].virtualClusters, spec.scope.rules[1].requestTargets: the rule covers nothing in a direct token, because every request with it has the target Cluster; remove the field",
      ],
    ])("%s in a direct token, which cover nothing there", async (_what, scope, warning) => {
      const found = await warningsOf("DirectClusterEndpointToken", scope);
      expect(found).toEqual([expect.stringContaining(warning), enforced]);
      expect(await warningsOf("OwnedAccessKey", scope)).toEqual([]);
    });

    it("a project in a direct token of a virtual cluster, whose endpoint it covers", async () => {
      const scope = { projects: [{ project: "web" }] };
      const audience = { "management.service/audience-cluster": "web/dev" };
      expect(await warningsOf("DirectClusterEndpointToken", scope, audience)).toEqual([enforced]);
    });

    it("a valid scope is accepted without a warning", async () => {
      const scope = {
        projects: [{ project: "*" }],
        rules: [
          {
            verbs: ["get"],
            resources: [{ group: "", resources: ["pods/*"] }],
            namespaces: ["", "web"],
          },
        ],
      };
      expect(
        await Promise.all([
          warningsOf("OwnedAccessKey", scope),
          warningsOf("DirectClusterEndpointToken", undefined),
        ]),
      ).toEqual([[], []]);
    });
  });
