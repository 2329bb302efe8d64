import { beforeAll, expect, it } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { parseScopeLimit } from "../../src/api/scope.ts";
import { tokenAudience } from "../../src/domain/endpoint-token/token-audience.ts";
import { clusterNames, noClusterNames } from "../support/cluster-names.ts";
import {
  answered,
  api,
  bind,
  replace,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";
import {
  collectionOf,
  dryCreate,
  forceApply,
  made,
  manifest,
  merge,
  root,
  withKey,
  withPolicies,
} from "./policy-fixture.ts";

const annotation = "management.service/audience-cluster";
const collection = collectionOf("directclusterendpointtokens");
const requesters = unique("audience");
const alice = { user: "alice", groups: ["devs", requesters] };

beforeAll(() => bind({ kind: "Group", name: requesters }, "latchkey-requester"));

interface Wanted {
  /** The value of the annotation. */
  readonly cluster?: string;
  readonly scope?: object;
}

const tokenFor = ({ cluster, scope }: Wanted) =>
  manifest(
    "DirectClusterEndpointToken",
    cluster === undefined ? {} : { annotations: { [annotation]: cluster } },
    scope === undefined ? {} : { scope },
  );
const create = (wanted: Wanted, by: Caller = alice): Promise<Answer> =>
  dryCreate(by, collection, tokenFor(wanted));
const warningsOf = ({ code, warnings = [] }: Answer): readonly string[] => {
  expect(code).toBe(201);
  return warnings.filter((text) => text.includes("latchkey-warn-token-audience"));
};

const one = (cluster: string) => ({ clusters: [{ cluster }] });

withPolicies.concurrent("the cluster of a direct token, on creation", () => {
  it.each(clusterNames)("may be %s", async (cluster) => {
    const answer = await create({ cluster });
    expect(answer).toMatchObject({ code: 201 });
    expect(answer.metadata.annotations).toMatchObject({ [annotation]: cluster });
    expect(warningsOf(answer)).toEqual([]);
  });

  it.each(noClusterNames)("may not be %j", async (cluster) => {
    expect(await create({ cluster })).toMatchObject(
      answered(403, "must be the name of a connected cluster, such as east, or a project"),
    );
  });

  it("is in the message that refuses it", async () => {
    expect(await create({ cluster: "East" })).toMatchObject(
      answered(403, `metadata.annotations[${annotation}] is "East"; must be the name`),
    );
  });

  it("may not be a value that is longer than a message", async () => {
    expect(await create({ cluster: "a".repeat(6_000) })).toMatchObject(
      answered(403, `metadata.annotations[${annotation}] must be the name of a connected cluster`),
    );
  });

  it("may not be another one than the only one in the scope", async () => {
    expect(await create({ cluster: "east", scope: one("west") })).toMatchObject(
      answered(
        403,
        `metadata.annotations[${annotation}] is "east", but spec.scope covers only cluster "west"; name the same cluster in both, or remove the annotation`,
      ),
    );
  });

  const anywhere = "the token is valid at every connected cluster, so the administrators of one";
  it("is warned of if there is none", async () => {
    const [warning, ...others] = warningsOf(await create({}));
    expect(others).toEqual([]);
    expect(warning).toContain(anywhere);
    expect(warning).toContain(`metadata.annotations[${annotation}] set to the name of the cluster`);
    expect(warning).toContain("--for-cluster=<name>");
  });

  it("may be that of the scope of an access key, which a policy cannot read", async () => {
    expect(warningsOf(await create({}, withKey(alice, "k-17")))).toEqual([
      expect.stringContaining("unless the scope of the access key of this request covers only one"),
    ]);
    expect(warningsOf(await create({ cluster: "east" }, withKey(alice, "k-17")))).toEqual([]);
  });

  it.each<[string, object]>([
    ["one cluster", one("east")],
    ["one cluster twice", { clusters: [{ cluster: "east" }, { cluster: "east" }] }],
    ["rules for one cluster", { rules: [{ cluster: "east" }, { cluster: "east" }] }],
    ["a cluster and its rules", { ...one("east"), rules: [{ cluster: "east" }] }],
    ["two clusters", { clusters: [{ cluster: "east" }, { cluster: "west" }] }],
    ["all clusters", one("*")],
    ["a cluster without a name", { clusters: [{}] }],
    ["a name that no cluster has", one("East")],
    ["a virtual cluster as a cluster", one("web/dev")],
    ["nothing", {}],
    ["a rule for everything", { ...one("east"), rules: [{ verbs: ["get"] }] }],
    ["a rule for another cluster", { ...one("east"), rules: [{ cluster: "west" }] }],
    ["a role", { ...one("east"), roles: [{ role: "viewer" }] }],
    ["a project", { ...one("east"), projects: [{ project: "web" }] }],
    ["a space", { ...one("east"), spaces: [{ project: "web", space: "a" }] }],
    [
      "a virtual cluster",
      { ...one("east"), virtualClusters: [{ project: "web", virtualCluster: "a" }] },
    ],
    ["allowServiceCli", { ...one("east"), allowServiceCli: true }],
    ["allowServiceCli that is false", { ...one("east"), allowServiceCli: false }],
    ["empty lists", { ...one("east"), roles: [], projects: [], rules: [] }],
  ])("is read from a scope of %s as Latchkey reads it", async (_what, scope) => {
    const audience = (cluster?: string) =>
      tokenAudience("common", { annotation: cluster, scopes: [parseScopeLimit(scope)] });
    const isForEvery = JSON.stringify(audience()).includes('"common"');
    expect(warningsOf(await create({ scope })).length).toBe(isForEvery ? 1 : 0);
    for (const cluster of ["east", "other"])
      expect((await create({ cluster, scope })).code).toBe(
        audience(cluster).kind === "valid" ? 201 : 403,
      );
  });
});

withPolicies("the cluster of a direct token, on update", () => {
  const annotated = (cluster: string | null) => ({
    metadata: { annotations: { [annotation]: cluster } },
  });
  const stored = async (path: string) =>
    recordAt((await api.get(path)).metadata, "annotations")[annotation];

  it.each<[string, string | undefined, (path: string) => Promise<Answer>]>([
    ["changes it", "east", (path) => merge(root, path, annotated("west"))],
    ["removes it", "east", (path) => merge(root, path, annotated(null))],
    [
      "changes it by a forced apply",
      "east",
      (path) => {
        const { apiVersion, kind } = tokenFor({});
        return forceApply(root, path, { apiVersion, kind, ...annotated("west") });
      },
    ],
    [
      "replaces the object",
      "east",
      (path) =>
        replace(root, path, ({ metadata, ...object }) => ({
          ...object,
          metadata: { ...metadata, annotations: {} },
        })),
    ],
    ["adds one", undefined, (path) => merge(root, path, annotated("west"))],
  ])("is restored when an administrator %s", async (_what, cluster, write) => {
    const path = await made(collection, tokenFor(cluster === undefined ? {} : { cluster }));
    expect(await write(path)).toMatchObject({ code: 200 });
    expect(await stored(path)).toBe(cluster);
  });
});
