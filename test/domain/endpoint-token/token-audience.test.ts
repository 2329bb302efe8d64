import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import {
  acceptedAudiences,
  tokenAudience,
} from "../../../src/domain/endpoint-token/token-audience.ts";
import { clusterName } from "../../../src/authn/token-options.ts";
import { clusterNames, noClusterNames } from "../../support/cluster-names.ts";
import { runs } from "../../support/property-runs.ts";
import { isAlwaysAllowed } from "../../../src/domain/scope/always-allowed.ts";
import { anyRequest, anyScope } from "../scope/arbitraries.ts";
import { isAllowed } from "../scope/verdict-of.ts";

const common = "management.service/direct";
const field = 'metadata.annotations["management.service/audience-cluster"]';
const audienceOf = (annotation: string | undefined, ...scopes: readonly unknown[]) =>
  tokenAudience(common, { annotation, scopes: scopes.map(parseScopeLimit) });
const east = { clusters: [{ cluster: "east" }] };
const west = { clusters: [{ cluster: "west" }] };
const only = (cluster: string) => ({ kind: "valid", audience: `${common}/${cluster}` });
const every = { kind: "valid", audience: common };

describe("the audience of a token", () => {
  test.each<[string, string | undefined, readonly unknown[], object]>([
    ["without annotation and scope", undefined, [], every],
    ["with an annotation", "east", [], only("east")],
    ["with an annotation for a virtual cluster", "web/dev", [], only("web/dev")],
    ["with an annotation and a scope of many clusters", "east", [{ projects: [] }], only("east")],
    ["with an annotation and a scope of the same cluster", "east", [east], only("east")],
    ["with a scope of one cluster", undefined, [east], only("east")],
    [
      "with that cluster twice",
      undefined,
      [{ clusters: [...east.clusters, ...east.clusters] }],
      only("east"),
    ],
    [
      "with rules for that cluster",
      undefined,
      [{ ...east, rules: [{ cluster: "east" }] }],
      only("east"),
    ],
    [
      "with rules for one cluster alone",
      undefined,
      [{ rules: [{ cluster: "east" }] }],
      only("east"),
    ],
    ["with the scope of a key that covers one cluster", undefined, [undefined, east], only("east")],
    ["with two scopes of the same cluster", undefined, [east, { ...east }], only("east")],
    [
      "with one scope of many clusters and one of one",
      undefined,
      [{ rules: [{}] }, east],
      only("east"),
    ],
    [
      "with a scope of two clusters",
      undefined,
      [{ clusters: [...east.clusters, ...west.clusters] }],
      every,
    ],
    ["with a scope of all clusters", undefined, [{ clusters: [{ cluster: "*" }] }], every],
    ["with a scope of a cluster that has no name", undefined, [{ clusters: [{}] }], every],
    [
      "with a scope of a name that no cluster has",
      undefined,
      [{ clusters: [{ cluster: "East" }] }],
      every,
    ],
    ["with an empty scope, which covers nothing", undefined, [{}], every],
    ["with a rule for everything", undefined, [{ ...east, rules: [{ verbs: ["get"] }] }], every],
    [
      "with a rule for another cluster",
      undefined,
      [{ ...east, rules: [{ cluster: "west" }] }],
      every,
    ],
    ["with a project", undefined, [{ ...east, projects: [{ project: "web" }] }], every],
    ["with a space", undefined, [{ ...east, spaces: [{ project: "web", space: "a" }] }], every],
    [
      "with a virtual cluster",
      undefined,
      [{ ...east, virtualClusters: [{ project: "web", virtualCluster: "dev" }] }],
      every,
    ],
    ["with a role", undefined, [{ ...east, roles: [{ role: "viewer" }] }], every],
    ["with allowServiceCli", undefined, [{ ...east, allowServiceCli: true }], every],
    ["with an invalid scope", undefined, [{ ...east, more: 1 }], every],
  ])("%s", (_rule, annotation, scopes, expected) => {
    expect(audienceOf(annotation, ...scopes)).toEqual(expected);
  });

  test.each<[string, string | undefined, readonly unknown[], string]>([
    ["an annotation and a scope", "east", [west], '"east" and "west"'],
    ["the scopes of a token and its key", undefined, [east, west], '"east" and "west"'],
    ["a virtual cluster and a scope", "web/dev", [east], '"web/dev" and "east"'],
  ])("is none if %s name different clusters", (_rule, annotation, scopes, names) => {
    expect(audienceOf(annotation, ...scopes)).toEqual({
      kind: "invalid",
      message: `The token is for clusters ${names} at once: ${field}, spec.scope and the scopes of its access key must not name different clusters. Create another token.`,
    });
  });

  test.each(noClusterNames)("is none with the annotation %j, also with a scope", (text) => {
    for (const scopes of [[], [east]])
      expect(audienceOf(text, ...scopes)).toEqual({
        kind: "invalid",
        message: expect.stringMatching(/^metadata\.annotations.* is ".*; must be the name of a/s),
      });
    expect(() => clusterName(text, "--cluster-name")).toThrow("must be the name of a");
  });

  test.each(clusterNames)("is that of %j, which a cluster can have as its name", (name) => {
    expect(audienceOf(name)).toEqual(only(name));
    expect(acceptedBy(clusterName(name, "--cluster-name"))).toContain(`${common}/${name}`);
  });
});

const acceptedBy = (name: string, ownAudienceOnly = false) =>
  acceptedAudiences({ audience: common, clusterName: name, ownAudienceOnly });

describe("a cluster accepts", () => {
  test("its own audience and that of every cluster", () => {
    expect(acceptedBy("east")).toEqual([`${common}/east`, common]);
    expect(acceptedBy("web/dev")).toEqual([`${common}/web/dev`, common]);
  });

  test("its own audience alone with --own-audience-only", () => {
    expect(acceptedBy("east", true)).toEqual([`${common}/east`]);
  });
});

const clusters = ["c1", "c2"];

test("a scope that decides the audience allows nothing outside of that cluster", () => {
  const named = fc.array(fc.record({ cluster: fc.constantFrom(...clusters) }), { maxLength: 2 });
  const scope = fc.oneof(anyScope, fc.record({ clusters: named, rules: named }));
  const often = runs(1_000);
  let decided = 0;
  fc.assert(
    fc.property(scope, anyRequest, (raw, request) => {
      const result = audienceOf(undefined, raw);
      const cluster = clusters.find((name) => isDeepStrictEqual(result, only(name)));
      if (cluster === undefined) return;
      decided += 1;
      const isThere = request.target !== "Management" && request.cluster === cluster;
      expect(isThere || isAlwaysAllowed(request) || !isAllowed(raw, request)).toBe(true);
    }),
    often,
  );
  expect(decided).toBeGreaterThan(often.numRuns / 20);
});

test("a token is accepted by every cluster, or by at most the one that it is for", () => {
  const name = fc.option(fc.constantFrom(...clusterNames), { nil: undefined });
  const scopes = fc.array(
    anyScope.map((raw) => parseScopeLimit(raw)),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(name, scopes, (annotation, limits) => {
      const result = tokenAudience(common, { annotation, scopes: limits });
      const audience = result.kind === "valid" ? result.audience : "none";
      const accepting = clusterNames.filter((each) => acceptedBy(each).includes(audience));
      const isForEvery = annotation === undefined && audience === common;
      const most = isForEvery ? clusterNames : accepting.slice(0, 1);
      expect(accepting).toEqual(most);
      expect(audience === "none" || annotation === undefined || annotation === most[0]).toBe(true);
    }),
    runs(500),
  );
});
