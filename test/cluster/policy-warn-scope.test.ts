import { describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { unique } from "../support/policy-request.ts";

const scopeOf = {
  OwnedAccessKey: (scope: unknown) => ({ user: "alice", key: "0123456789abcdef", scope }),
  DirectClusterEndpointToken: (scope: unknown) => ({ scope }),
} as const;

async function warningsOf(kind: keyof typeof scopeOf, scope: unknown): Promise<readonly string[]> {
  const input = JSON.stringify({
    apiVersion,
    kind,
    metadata: { name: unique("warned") },
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
    ])("%s", async (_what, scope, warning) => {
      expect(await warningsOf("OwnedAccessKey", scope)).toEqual([expect.stringContaining(warning)]);
    });

    it("the scope of a direct token, which only a direct endpoint enforces", async () => {
      expect(
        await warningsOf("DirectClusterEndpointToken", { projects: [{ project: "web" }] }),
      ).toEqual([
        expect.stringMatching(
          /only a direct endpoint, or latchkey webhook --direct, enforces the scope of a direct token.*valid until it expires, even when this object is deleted/,
        ),
      ]);
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
