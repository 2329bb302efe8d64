import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import {
  allow,
  answered,
  arrange,
  ask,
  bind,
  latchkeyAccount,
  makeNamespace,
  patchTypes,
  unique,
  type Caller,
} from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";

const [web, pay] = [unique("web"), unique("pay")];
const many = Array.from({ length: 17 }, (_, index) => `${web}-${index}`);
/**
 * The admin of a namespace, who may share only with the project web and with the 17 projects of the
 * list.
 */
const tenant: Caller = { user: unique("tenant") };
/** The admin of a namespace, who may share with every project. */
const platform: Caller = { user: unique("platform") };
const { copyLabels } = annotations;
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  for (const { user = "" } of [tenant, platform])
    await bind({ kind: "User", name: user }, "latchkey-sharedsecret-admin", namespace);
  await allow({ kind: "User", name: tenant.user ?? "" }, [
    {
      apiGroups: ["management.service"],
      resources: ["projects"],
      resourceNames: [web, ...many],
      verbs: ["share"],
    },
  ]);
  await bind({ kind: "User", name: platform.user ?? "" }, "latchkey-project-sharer");
});

type Given = Readonly<Record<string, string | null>>;
const to = (projects: string | null, rest: Given = {}): Given => ({
  [annotations.syncToProjects]: projects,
  ...rest,
});
const needsShare = "the verb share on projects.management.service of that name";
const needsAll = "the verb share on all projects.management.service";

function create(caller: Caller, given: Given): ReturnType<typeof ask> {
  const body = {
    apiVersion: "management.service/v1",
    kind: "SharedSecret",
    metadata: { name: unique("shared"), annotations: given },
    spec: { data: { password: "aHVudGVyMg==" } },
  };
  return ask(caller, { method: "POST", path: `${sharedSecretPath(namespace)}?dryRun=All`, body });
}

/**
 * Creates a SharedSecret with some annotations as the administrator, and merges others as the
 * caller.
 */
async function update(caller: Caller, from: Given, body: object): ReturnType<typeof ask> {
  const name = unique("shared");
  const made = {
    apiVersion: "management.service/v1",
    kind: "SharedSecret",
    metadata: { name, annotations: from },
    spec: { data: { password: "aHVudGVyMg==" } },
  };
  await arrange({ method: "POST", path: sharedSecretPath(namespace), body: made });
  return ask(caller, {
    method: "PATCH",
    path: sharedSecretPath(namespace, name),
    type: patchTypes.merge,
    body,
  });
}

describe.skipIf(!inject("hasPolicies"))("a namespace admin who creates a SharedSecret", () => {
  const creations: {
    rule: string;
    list: string;
    code: number;
    refusal?: string;
    caller?: Caller;
  }[] = [
    { rule: "can name a project on which the admin has the verb share", list: web, code: 201 },
    {
      rule: "can name it twice, with spaces and empty entries",
      list: ` ${web},, ${web} ,`,
      code: 201,
    },
    { rule: "can name no project", list: " , ", code: 201 },
    {
      rule: "can name 16 projects, each of which is checked",
      list: many.slice(0, 16).join(),
      code: 201,
    },
    { rule: "cannot name another project", list: pay, code: 403, refusal: needsShare },
    {
      rule: "cannot name another project in addition to the right one",
      list: `${web}, ${pay}`,
      code: 403,
      refusal: `to projects "${web}", "${pay}": each requires ${needsShare}`,
    },
    {
      rule: "cannot name another project in the 16th place",
      list: [...many.slice(0, 15), pay].join(),
      code: 403,
      refusal: needsShare,
    },
    {
      rule: "cannot use a glob that covers the right one",
      list: `${web}*`,
      code: 403,
      refusal: needsAll,
    },
    { rule: "cannot name every project", list: "*", code: 403, refusal: needsAll },
    { rule: "cannot name more than 16 projects", list: many.join(), code: 403, refusal: needsAll },
    {
      rule: "can name every project with share on all projects",
      list: `*, ${pay}`,
      code: 201,
      caller: platform,
    },
    {
      rule: "can name 64 projects with share on all projects",
      list: Array.from({ length: 64 }, (_, index) => `p${index}`).join(),
      code: 201,
      caller: platform,
    },
    {
      rule: "cannot name 65 projects",
      list: Array.from({ length: 65 }, (_, index) => `p${index}`).join(),
      code: 403,
      refusal: "has 65 entries; must have at most 64",
      caller: platform,
    },
    {
      rule: "cannot write more than 4096 characters",
      list: `${web}${",".repeat(4096)}`,
      code: 403,
      refusal: "must have at most 4096 characters",
      caller: platform,
    },
    {
      rule: "cannot write 4,000 entries",
      list: "p,".repeat(2_000),
      code: 403,
      refusal: "has 2000 entries",
      caller: platform,
    },
    {
      rule: "cannot write a line break",
      list: `${web}\n${pay}`,
      code: 403,
      refusal: "must be a list of project names or globs",
      caller: platform,
    },
    {
      rule: "cannot write a non-ASCII space",
      list: `${web}\u00a0`,
      code: 403,
      refusal: "must be a list of project names or globs",
    },
    {
      rule: "cannot write another separator",
      list: `${web};${pay}`,
      code: 403,
      refusal: "must be a list of project names or globs",
    },
    {
      rule: "cannot write a space inside a name",
      list: "web pay",
      code: 403,
      refusal: '"web pay" contains a space',
      caller: platform,
    },
  ];
  it.each(creations)("$rule", async ({ list, code, refusal = "", caller = tenant }) => {
    const answer = await create(caller, to(list));
    expect(answer).toMatchObject(answered(code, refusal));
    expect(answer.message ?? "").not.toContain("aHVudGVyMg==");
  });

  it("gets an error with the user, the projects and the missing permission", async () => {
    const { message } = await create(tenant, to(pay));
    expect(message).toMatch(
      new RegExp(
        `${tenant.user} is not allowed to sync SharedSecret ${namespace}/shared-\\w+ to projects "${pay}": each requires ${needsShare}; ask an administrator`,
      ),
    );
  });
});

describe.skipIf(!inject("hasPolicies"))(
  "the admin of a namespace who changes a SharedSecret",
  () => {
    const renamed = { [annotations.syncSecretName]: "database" };
    const changes: { rule: string; from: Given; to: object; code: number }[] = [
      {
        rule: "can add a project with share on it, regardless of the existing ones",
        from: to(pay),
        to: to(`${pay},${web}`),
        code: 200,
      },
      { rule: "cannot add another project", from: to(web), to: to(`${web},${pay}`), code: 403 },
      { rule: "cannot replace a project with another one", from: to(web), to: to(pay), code: 403 },
      { rule: "cannot name projects if there were none", from: {}, to: to(pay), code: 403 },
      {
        rule: "cannot replace its names with a glob",
        from: to(`${web}, ${pay}`),
        to: to("*"),
        code: 403,
      },
      {
        rule: "cannot name a project that only a glob covered",
        from: to("*"),
        to: to(`*, ${pay}`),
        code: 403,
      },
      { rule: "can remove projects", from: to(`${web}, ${pay}, *`), to: to(pay), code: 200 },
      { rule: "can remove the list", from: to(pay), to: to(null), code: 200 },
      {
        rule: "can write the same names with another syntax",
        from: to(`${pay}, *`),
        to: to(`*,${pay},${pay}`),
        code: 200,
      },
      {
        rule: "can change other annotations",
        from: to(pay),
        to: {
          "example.com/note": "a",
          "management.service/refresh-now": "1",
          [annotations.disableSync]: "true",
        },
        code: 200,
      },
      {
        rule: "can rename the copies with share on all their projects",
        from: to(web),
        to: renamed,
        code: 200,
      },
      {
        rule: "cannot rename the copies of another project",
        from: to(`${web}, ${pay}`),
        to: renamed,
        code: 403,
      },
      {
        rule: "cannot reset the name of the copies",
        from: to(pay, renamed),
        to: { [annotations.syncSecretName]: null },
        code: 403,
      },
      {
        rule: "cannot change the type of the copies",
        from: to(pay),
        to: { [annotations.syncSecretType]: "kubernetes.io/tls" },
        code: 403,
      },
      {
        rule: "cannot derive the data of the copies of another project",
        from: to(pay),
        to: { [annotations.syncFormat]: "dockerconfigjson" },
        code: 403,
      },
      {
        rule: "cannot change what is derived for another project",
        from: to(pay, { [annotations.syncFormat]: "json" }),
        to: { [annotations.syncFormatFrom]: "a=b" },
        code: 403,
      },
      {
        rule: "can derive the data of the copies with share on all their projects",
        from: to(web),
        to: { [annotations.syncFormat]: "json", [annotations.syncFormatKey]: "x" },
        code: 200,
      },
      {
        rule: "cannot change the value of a copy- annotation",
        from: to(pay, { [copyLabels]: "a" }),
        to: { [copyLabels]: "b" },
        code: 403,
      },
      {
        rule: "cannot add a copy- annotation for another project",
        from: to(`${web}, ${pay}`),
        to: { [annotations.copyAnnotations]: "a=b" },
        code: 403,
      },
      {
        rule: "can add a copy- annotation with share on all projects",
        from: to(web),
        to: { [annotations.copyAnnotations]: "a=b", [annotations.copyLabels]: "c=d" },
        code: 200,
      },
      {
        rule: "cannot remove a copy- annotation",
        from: to(pay, { [copyLabels]: "a" }),
        to: { [copyLabels]: null },
        code: 403,
      },
      {
        rule: "can rename copies that do not exist, but then cannot share them",
        from: {},
        to: renamed,
        code: 200,
      },
      {
        rule: "can remove all other projects and rename in one request",
        from: to(`${web}, ${pay}`),
        to: to(web, renamed),
        code: 200,
      },
    ];
    it.each(changes)("$rule", async ({ from, to: sent, code }) => {
      expect(await update(tenant, from, { metadata: { annotations: sent } })).toMatchObject(
        answered(code, "the verb share on"),
      );
    });

    it("can change data and labels of a SharedSecret that another user shares", async () => {
      const body = { metadata: { labels: { a: "b" } }, spec: { data: { password: "c2VzYW1l" } } };
      expect(await update(tenant, to(`${pay}, *`), body)).toMatchObject({ code: 200 });
    });

    it("does not block the controller, which writes finalizers and status", async () => {
      const controller = latchkeyAccount("latchkey-controller");
      const body = { metadata: { finalizers: ["management.service/cleanup"] } };
      expect(await update(controller, to(`${pay}, *`), body)).toMatchObject({
        code: 200,
        metadata: { finalizers: ["management.service/cleanup"] },
      });
    });
  },
);

it("metadata of a SharedSecret cannot be changed through its status", async () => {
  const name = unique("shared");
  const body = {
    apiVersion: "management.service/v1",
    kind: "SharedSecret",
    metadata: { name, annotations: to(web), finalizers: ["management.service/cleanup"] },
    spec: {},
  };
  await arrange({ method: "POST", path: sharedSecretPath(namespace), body });
  const path = `${sharedSecretPath(namespace, name)}/status`;
  const sent = {
    annotations: to(pay),
    finalizers: null,
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "0" }],
  };
  for (const type of [patchTypes.merge, patchTypes.apply]) {
    const patch = { apiVersion: "management.service/v1", kind: "SharedSecret", metadata: sent };
    const answer = await arrange({
      method: "PATCH",
      path: type === patchTypes.apply ? `${path}?fieldManager=test&force=true` : path,
      type,
      body: patch,
    });
    expect(answer.metadata).toMatchObject({
      annotations: to(web),
      finalizers: body.metadata.finalizers,
    });
    expect(answer.metadata.ownerReferences).toBeUndefined();
  }
});

describe.skipIf(!inject("hasPolicies"))(
  "the list of namespaces that a namespace accepts copies from",
  () => {
    const lists = [
      { rule: "can contain names", list: "team-a, team-b", code: 200 },
      { rule: "can be empty", list: "", code: 200 },
      {
        rule: "can contain a glob, which has no effect and causes a warning of another policy",
        list: "team-*",
        code: 200,
      },
      {
        rule: "cannot contain a line break",
        list: "team-a\nteam-b",
        code: 403,
        refusal: "separated by commas",
      },
      {
        rule: "cannot have more than 64 names",
        list: "a,".repeat(65),
        code: 403,
        refusal: "at most 64 entries",
      },
      {
        rule: "cannot have more than 4096 characters",
        list: ",".repeat(4097),
        code: 403,
        refusal: "at most 4096 characters",
      },
    ];
    it.each(lists)("$rule", async ({ list, code, refusal = "" }) => {
      const body = { metadata: { annotations: { [annotations.syncFrom]: list } } };
      const answer = await ask(
        {},
        {
          method: "PATCH",
          path: `/api/v1/namespaces/${namespace}?dryRun=All`,
          type: patchTypes.merge,
          body,
        },
      );
      expect(answer).toMatchObject(answered(code, refusal));
    });
  },
);
