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
        "rules that fit no target",
        {
          rules: [
            { cluster: "east" },
            { cluster: "east", requestTargets: ["Management", "ProjectVirtualCluster"] },
            { virtualClusters: [{ name: "vc", namespace: "home" }] },
            { virtualClusters: [{ name: "vc" }], requestTargets: ["ProjectSpace"] },
            { virtualClusters: [{ name: "vc" }], cluster: "east" },
          ],
        },
        "spec.scope.rules[1], spec.scope.rules[3], spec.scope.rules[4]: the rule covers nothing, because no request with this credential has a target (Management, Cluster, ProjectSpace, ProjectVirtualCluster) that fits its requestTargets, cluster and virtualClusters",
      ],
      [
        "more than five rules that fit no target",
        {
          rules: Array.from({ length: 6 }, () => ({
            cluster: "a",
            requestTargets: ["Management"],
          })),
        },
        "spec.scope.rules[4]: the rule covers nothing",
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

    it.each<[string, unknown, string, string]>([
      [
        "rules about other targets, for any cluster",
        { rules: [{}, { requestTargets: ["Management", "ProjectSpace"] }] },
        "",
        "spec.scope.rules[1]: the rule covers nothing, because no request with this credential has a target (Cluster, ProjectVirtualCluster)",
      ],
      [
        "other clusters, for a cluster",
        { clusters: [{ cluster: "west" }, { cluster: "east" }, { cluster: "*" }] },
        "east",
        "spec.scope.clusters[0]: covers nothing, because the token is for east alone; remove the entry",
      ],
      [
        "rules about virtual clusters and other clusters, for a cluster",
        {
          rules: [
            { cluster: "east", requestTargets: ["Cluster"] },
            { cluster: "west" },
            { virtualClusters: [{ name: "vc" }] },
            { requestTargets: ["ProjectVirtualCluster"] },
          ],
        },
        "east",
        "spec.scope.rules[1], spec.scope.rules[2], spec.scope.rules[3]: the rule covers nothing, because no request with this credential has a target (Cluster)",
      ],
      [
        "clusters and spaces, for a virtual cluster",
        {
          clusters: [{ cluster: "*" }, { cluster: "web/dev" }],
          spaces: [{ project: "web", space: "blue" }],
        },
        "web/dev",
        "spec.scope.clusters[0], spec.scope.clusters[1], spec.scope.spaces[0]: covers nothing, because the token is for web/dev alone",
      ],
      [
        "rules about clusters, for a virtual cluster",
        { rules: [{ cluster: "web/dev" }, { virtualClusters: [{ name: "dev" }] }] },
        "web/dev",
        "spec.scope.rules[0]: the rule covers nothing, because no request with this credential has a target (ProjectVirtualCluster)",
      ],
    ])("%s, in a direct token", async (_what, scope, cluster, warning) => {
      const annotations = cluster === "" ? {} : { "management.service/audience-cluster": cluster };
      const found = await warningsOf("DirectClusterEndpointToken", scope, annotations);
      expect(found).toEqual([expect.stringContaining(warning), enforced]);
      expect(await warningsOf("OwnedAccessKey", scope, annotations)).toEqual([]);
    });

    const placed = {
      roles: [{ role: "serviceCLI" }],
      projects: [{ project: "web" }],
      virtualClusters: [{ project: "web", virtualCluster: "dev" }],
      allowServiceCli: true,
    };

    it.each<[string, unknown, string]>([
      ["any cluster", { ...placed, spaces: [{ project: "web", space: "blue" }] }, ""],
      ["a cluster", { ...placed, spaces: [{ project: "web", space: "blue" }] }, "east"],
      ["a virtual cluster", placed, "web/dev"],
    ])(
      "roles and projects in a direct token for %s, which they cover",
      async (_of, scope, cluster) => {
        const annotations =
          cluster === "" ? {} : { "management.service/audience-cluster": cluster };
        expect(await warningsOf("DirectClusterEndpointToken", scope, annotations)).toEqual([
          enforced,
        ]);
      },
    );

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
