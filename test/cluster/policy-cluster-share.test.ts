import { beforeAll, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { patchTypes } from "../support/cluster-connection.ts";
import { tryKubectl } from "../support/kubectl.ts";
import {
  answered,
  as,
  ask,
  type Answer,
  bind,
  type Caller,
  latchkeyAccount,
  makeNamespace,
  unique,
} from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import {
  dryCreate,
  password,
  type Given,
  grantSharing,
  grantUser,
  made,
  manifest,
  merge,
  shared,
  sharingAdmins,
  withPolicies,
} from "./policy-fixture.ts";

const [web, pay] = [unique("web"), unique("pay")];
const [east, west] = [unique("east"), unique("west")];
const many = Array.from({ length: 17 }, (_, index) => `${east}-${index}`);
const manyProjects = Array.from({ length: 17 }, (_, index) => `${web}-${index}`);
const admins = sharingAdmins();
/** `tenant` may share only with web, east and the numbered ones, `platform` with all. */
const { tenant, platform } = admins;
/** Users who have share on all projects and no cluster, and on all clusters and no project. */
const [projectsOnly, clustersOnly] = [{ user: unique("tenant") }, { user: unique("tenant") }];
const { copyLabels, syncFormat, syncSecretName, syncToClusters, syncToProjects } = annotations;
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  await grantSharing(admins, namespace, [web, ...manyProjects]);
  await grantUser(tenant, `share management.service clusters ${[east, ...many].join()}`);
  for (const { user } of [projectsOnly, clustersOnly])
    await bind({ kind: "User", name: user }, "latchkey-sharedsecret-admin", namespace);
  await bind({ kind: "User", name: projectsOnly.user }, "latchkey-project-sharer");
  for (const { user } of [clustersOnly, platform])
    await bind({ kind: "User", name: user }, "latchkey-cluster-sharer");
});

const to = (clusters: string | null, projects: string | null = web, rest: Given = {}): Given => ({
  [syncToClusters]: clusters,
  ...(projects === null ? {} : { [syncToProjects]: projects }),
  ...rest,
});
const needsShare = "the verb share on clusters.management.service of that name";
const needsAll = "the verb share on all clusters.management.service";
const ofProjects = "the verb share on projects.management.service of that name";

const create = (caller: Caller, given: Given): Promise<Answer> =>
  dryCreate(caller, sharedSecretPath(namespace), shared(given));
/** Creates a SharedSecret as the administrator, and merges other annotations as the caller. */
const update = async (caller: Caller, from: Given, sent: Given): Promise<Answer> =>
  merge(caller, await made(sharedSecretPath(namespace), shared(from)), {
    metadata: { annotations: sent },
  });

withPolicies("a namespace admin who creates a SharedSecret", () => {
  it.each<[rule: string, caller: Caller, given: Given, refusal?: string]>([
    ["can name a cluster on which the admin has the verb share", tenant, to(east)],
    ["can name it twice, with spaces and empty entries", tenant, to(` ${east},, ${east} ,`)],
    ["can name no cluster", tenant, to(" , ")],
    ["can name 16 clusters, each of which is checked", tenant, to(many.slice(0, 16).join())],
    [
      "can name 16 clusters and 16 projects",
      tenant,
      to(many.slice(0, 16).join(), manyProjects.slice(0, 16).join()),
    ],
    ["cannot name another cluster", tenant, to(west), needsShare],
    [
      "cannot name another cluster in addition to the right one",
      tenant,
      to(`${east}, ${west}`),
      `to clusters "${east}", "${west}": each requires ${needsShare}`,
    ],
    [
      "cannot name another cluster in the 16th place",
      tenant,
      to([...many.slice(0, 15), west].join()),
      needsShare,
    ],
    ["cannot name every cluster", tenant, to("*"), needsAll],
    ["cannot name every cluster beside the right one", tenant, to(`${east},*`), needsAll],
    ["cannot name 17 clusters", tenant, to(many.join()), "has 17 entries; must have at most 16"],
    ["cannot name a glob", tenant, to(`${east}*`), "is not the name of a cluster"],
    ["cannot name another project", tenant, to(east, pay), ofProjects],
    ["needs no project for a cluster", tenant, to(east, null)],
    ["cannot name another cluster without a project", tenant, to(west, null), needsShare],
    ["cannot name a cluster with share on projects alone", projectsOnly, to(east), needsShare],
    ["cannot name a project with share on clusters alone", clustersOnly, to(east), ofProjects],
    ["can name every cluster with share on all clusters", platform, to("*")],
    ["can name every cluster and one of them", platform, to(`*, ${west}`)],
    [
      "cannot name 17 clusters with share on all clusters",
      platform,
      to(many.join()),
      "must have at most 16",
    ],
    ["cannot name a glob with share on all clusters", platform, to("e*"), '"e*" is not the name'],
    [
      "cannot write more than 4096 characters",
      platform,
      to(`${east}${",".repeat(4096)}`),
      "must have at most 4096 characters",
    ],
    ["cannot write 2,000 entries", platform, to("p,".repeat(2_000)), "has 2000 entries"],
    ["cannot name the right one in capitals", tenant, to(east.toUpperCase()), needsShare],
    ["can name clusters one a line", platform, to(`${east}\n${west}\n`)],
    ["cannot name another cluster on another line", tenant, to(`${east}\n\t${west}`), needsShare],
    ["cannot write a space inside a name", platform, to("east west"), '"east west" is invalid'],
  ])("%s", async (_rule, caller, given, refusal) => {
    const answer = await create(caller, given);
    expect(answer).toMatchObject(answered(refusal === undefined ? 201 : 403, refusal ?? ""));
    expect(answer.message ?? "").not.toContain(password);
  });

  it("gets an error with the user, the clusters and the missing permission", async () => {
    const { message } = await create(tenant, to(west));
    expect(message).toMatch(
      new RegExp(
        `${tenant.user} is not allowed to sync SharedSecret ${namespace}/shared-\\w+ to clusters "${west}": each requires ${needsShare}; ask an administrator`,
      ),
    );
  });
});

withPolicies("the admin of a namespace who changes a SharedSecret", () => {
  const renamed = { [syncSecretName]: "database" };
  const both = `${east}, ${west}`;
  it.each<[rule: string, caller: Caller, from: Given, sent: Given, refusal?: string]>([
    ["can add a cluster with share on it, regardless of others", tenant, to(west), to(both)],
    ["cannot add another cluster", tenant, to(east), to(both), needsShare],
    ["cannot replace a cluster with another one", tenant, to(east), to(west), needsShare],
    ["cannot name clusters if there were none", tenant, to(null), to(west), needsShare],
    ["cannot replace names with all clusters", tenant, to(both), to("*"), needsAll],
    ["cannot name a cluster that only * covered", tenant, to("*"), to(`*, ${west}`), needsShare],
    ["can remove clusters", tenant, to(`${both}, *`), to(west)],
    ["can remove the list", tenant, to(both), to(null)],
    ["can remove the projects", tenant, to(both, pay), { [syncToProjects]: null }],
    ["can write the same names with another syntax", tenant, to(both), to(`${west},,${both}`)],
    ["can change other annotations", tenant, to(west), { "example.com/note": "a" }],
    ["can pause the sync", tenant, to(west), { [annotations.disableSync]: "true" }],
    ["cannot rename the copies in another cluster", tenant, to(both), renamed, needsShare],
    ["can rename the copies with share on all", tenant, to(east), renamed],
    ["cannot derive their data", tenant, to(west), { [syncFormat]: "json" }, needsShare],
    ["cannot add a copy- annotation", tenant, to(west), { [copyLabels]: "a=b" }, needsShare],
    [
      "cannot remove a copy- annotation",
      tenant,
      to(west, web, { [copyLabels]: "a=b" }),
      { [copyLabels]: null },
      needsShare,
    ],
    // Each cluster that is added is a new target of all projects, and the other way around.
    [
      "cannot add a cluster to a project that was there before",
      tenant,
      to(null, `${web}, ${pay}`),
      to(east, null),
      `to projects "${web}", "${pay}": each requires ${ofProjects}`,
    ],
    ["cannot do so with share on clusters alone", clustersOnly, to(west), to(both), ofProjects],
    [
      "cannot add a cluster to a glob of projects",
      tenant,
      to(west, "*"),
      to(both, null),
      "a glob, or more than 16 new names, requires the verb share on all projects",
    ],
    [
      "cannot add a cluster to 17 projects",
      tenant,
      to(west, manyProjects.join()),
      to(both, null),
      "more than 16 new names",
    ],
    [
      "can add a cluster to 16 projects",
      tenant,
      to(west, manyProjects.slice(1).join()),
      to(both, null),
    ],
    [
      "cannot add a project to another cluster that was there before",
      tenant,
      to(both, pay),
      to(both, `${pay}, ${web}`),
      `to clusters "${east}", "${west}": each requires ${needsShare}`,
    ],
    [
      "cannot do so with share on projects alone",
      projectsOnly,
      to(east),
      to(east, pay),
      needsShare,
    ],
    ["can remove a project", tenant, to(both, `${web}, ${pay}`), to(both, pay)],
    ["can replace 16 clusters", tenant, to(many.slice(1).join()), to(many.slice(0, 16).join())],
    ["can name * again instead of names with share", platform, to(both), to("*")],
  ])("%s", async (_rule, caller, from, sent, refusal) => {
    expect(await update(caller, from, sent)).toMatchObject(
      answered(refusal === undefined ? 200 : 403, refusal ?? ""),
    );
  });

  it.each([
    ["client-side", []],
    ["server-side", ["--server-side", "--force-conflicts"]],
  ])("is asked by kubectl apply as by a patch: %s", async (_how, flags) => {
    const object = (name: string, clusters: string) => {
      const { apiVersion, kind } = manifest("SharedSecret");
      return { apiVersion, kind, metadata: { name, namespace, annotations: to(clusters) } };
    };
    const apply = (applied: object) =>
      tryKubectl(
        inject("controlPlane"),
        ["apply", `--as=${tenant.user}`, ...flags, "--filename=-"],
        { input: JSON.stringify(applied) },
      );
    const [created, refused] = [unique("applied"), unique("applied")];
    expect(await apply(object(created, east))).toMatchObject({ code: 0 });
    for (const name of [created, refused])
      expect(await apply(object(name, `${east},${west}`))).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(needsShare),
      });
    expect(await apply(object(created, ` ${east} `))).toMatchObject({ code: 0 });
  });

  const marks = "/metadata/annotations/management.service~1sync-to-clusters";
  const patchedAs = (type: string, body: unknown) => (path: string) =>
    ask(tenant, { method: "PATCH", path, type, body });
  it.each<[how: string, write: (path: string) => Promise<Answer>]>([
    [
      "a new object with a generated name",
      () =>
        dryCreate(tenant, sharedSecretPath(namespace), {
          ...shared(to(west)),
          metadata: { generateName: "shared-", annotations: to(west) },
        }),
    ],
    [
      "a new object that pretends to be deleted",
      () => {
        const object = shared(to(west));
        return dryCreate(tenant, sharedSecretPath(namespace), {
          ...object,
          metadata: { ...object.metadata, deletionTimestamp: "2020-01-01T00:00:00Z" },
        });
      },
    ],
    ["a JSON patch", patchedAs(patchTypes.json, [{ op: "add", path: marks, value: west }])],
    [
      "a JSON patch that copies another annotation",
      patchedAs(patchTypes.json, [
        { op: "copy", from: "/metadata/annotations/example.com~1note", path: marks },
      ]),
    ],
  ])("is asked about %s", async (_how, write) => {
    const path = await made(
      sharedSecretPath(namespace),
      shared(to(east, web, { "example.com/note": west })),
    );
    expect(await write(path)).toMatchObject(answered(403, needsShare));
    await merge(tenant, `${path}/status`, { metadata: { annotations: to(west) } });
    expect((await as(tenant).get(path)).metadata.annotations).toMatchObject(to(east));
  });

  it("can change data of a SharedSecret that another user shares", async () => {
    const path = await made(sharedSecretPath(namespace), shared(to("*", "*")));
    const body = { metadata: { labels: { a: "b" } }, spec: { data: { password: "c2VzYW1l" } } };
    expect(await merge(tenant, path, body)).toMatchObject({ code: 200 });
  });

  it("does not block the controller, nor the end of a deletion", async () => {
    const controller = latchkeyAccount("latchkey-controller");
    const path = await made(sharedSecretPath(namespace), shared(to(west)));
    const finalizers = ["management.service/cleanup"];
    expect(await merge(controller, path, { metadata: { finalizers } })).toMatchObject({
      code: 200,
    });
    expect(await as(tenant).delete(path)).toMatchObject({ code: 200 });
    const renaming = { metadata: { annotations: renamed } };
    expect(await merge(tenant, path, renaming)).toMatchObject({ code: 200 });
    expect(await merge(controller, path, { metadata: { finalizers: null } })).toMatchObject({
      code: 200,
    });
  });
});
