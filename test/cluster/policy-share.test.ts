import { beforeAll, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import {
  admin,
  answered,
  type Answer,
  type Caller,
  latchkeyAccount,
  makeNamespace,
  unique,
} from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import {
  dryCreate,
  password,
  forceApply,
  gone,
  type Given,
  grantSharing,
  made,
  manifest,
  merge,
  shared,
  sharingAdmins,
  withPolicies,
} from "./policy-fixture.ts";

const [web, pay] = [unique("web"), unique("pay")];
const many = Array.from({ length: 17 }, (_, index) => `${web}-${index}`);
const admins = sharingAdmins();
/** `tenant` may share only with the project web and with the 17 projects of the list. */
const { tenant, platform } = admins;
const { copyAnnotations, copyLabels, syncFormat, syncFormatFrom, syncFormatKey } = annotations;
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  await grantSharing(admins, namespace, [web, ...many]);
});

const to = (projects: string | null, rest: Given = {}): Given => ({
  [annotations.syncToProjects]: projects,
  ...rest,
});
const needsShare = "the verb share on projects.management.service of that name";
const needsAll = "the verb share on all projects.management.service";

const create = (caller: Caller, given: Given): Promise<Answer> =>
  dryCreate(caller, sharedSecretPath(namespace), shared(given));
/**
 * Creates a SharedSecret with some annotations as the administrator, and merges others as the
 * caller.
 */
const update = async (caller: Caller, from: Given, body: object): Promise<Answer> =>
  merge(caller, await made(sharedSecretPath(namespace), shared(from)), body);

withPolicies("a namespace admin who creates a SharedSecret", () => {
  const numbered = (length: number) => Array.from({ length }, (_, index) => `p${index}`).join();
  const creations: readonly (readonly [rule: string, list: string, refusal?: string])[] = [
    ["can name a project on which the admin has the verb share", web],
    ["can name it twice, with spaces and empty entries", ` ${web},, ${web} ,`],
    ["can name no project", " , "],
    ["can name 16 projects, each of which is checked", many.slice(0, 16).join()],
    ["cannot name another project", pay, needsShare],
    [
      "cannot name another project in addition to the right one",
      `${web}, ${pay}`,
      `to projects "${web}", "${pay}": each requires ${needsShare}`,
    ],
    [
      "cannot name another project in the 16th place",
      [...many.slice(0, 15), pay].join(),
      needsShare,
    ],
    ["cannot use a glob that covers the right one", `${web}*`, needsAll],
    ["cannot name every project", "*", needsAll],
    ["cannot name more than 16 projects", many.join(), needsAll],
    ["can name projects one a line", `${web}\n${many[0]}\n`],
    ["cannot name another project on another line", `${web}\n${pay}\n`, needsShare],
  ];
  const creationsWithShareOnAll: typeof creations = [
    ["can name every project with share on all projects", `*, ${pay}`],
    ["can name 64 projects with share on all projects", numbered(64)],
    ["cannot name 65 projects", numbered(65), "has 65 entries; must have at most 64"],
    [
      "cannot write more than 4096 characters",
      `${web}${",".repeat(4096)}`,
      "must have at most 4096 characters",
    ],
    ["cannot write 4,000 entries", "p,".repeat(2_000), "has 2000 entries"],
  ];
  it.each([
    ...creations.map((row) => ({ row, caller: tenant })),
    ...creationsWithShareOnAll.map((row) => ({ row, caller: platform })),
  ])("$row.0", async ({ row: [, list, refusal], caller }) => {
    const answer = await create(caller, to(list));
    expect(answer).toMatchObject(answered(refusal === undefined ? 201 : 403, refusal ?? ""));
    expect(answer.message ?? "").not.toContain(password);
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

withPolicies("the admin of a namespace who changes a SharedSecret", () => {
  const renamed = { [annotations.syncSecretName]: "database" };
  const others = {
    "example.com/note": "a",
    "management.service/refresh-now": "1",
    [annotations.disableSync]: "true",
  };
  const webAndPay = to(`${web}, ${pay}`);
  const json = { [syncFormat]: "json" };
  it.each<[rule: string, from: Given, to: Given, code: 200 | 403]>([
    ["can add a project with share on it, regardless of others", to(pay), to(`${pay},${web}`), 200],
    ["cannot add another project", to(web), to(`${web},${pay}`), 403],
    ["cannot replace a project with another one", to(web), to(pay), 403],
    ["cannot name projects if there were none", {}, to(pay), 403],
    ["cannot replace its names with a glob", webAndPay, to("*"), 403],
    ["cannot name a project that only a glob covered", to("*"), to(`*, ${pay}`), 403],
    ["can remove projects", to(`${web}, ${pay}, *`), to(pay), 200],
    ["can remove the list", to(pay), to(null), 200],
    ["can write the same names with another syntax", to(`${pay}, *`), to(`*,${pay},${pay}`), 200],
    ["can change other annotations", to(pay), others, 200],
    ["can rename the copies with share on all their projects", to(web), renamed, 200],
    ["cannot rename the copies of another project", webAndPay, renamed, 403],
    [
      "cannot reset the name of the copies",
      to(pay, renamed),
      { [annotations.syncSecretName]: null },
      403,
    ],
    [
      "cannot change the type of the copies",
      to(pay),
      { [annotations.syncSecretType]: "kubernetes.io/tls" },
      403,
    ],
    [
      "cannot derive the data of the copies of another project",
      to(pay),
      { [syncFormat]: "dockerconfigjson" },
      403,
    ],
    [
      "cannot change what is derived for another project",
      to(pay, json),
      { [syncFormatFrom]: "a=b" },
      403,
    ],
    [
      "can derive the data of the copies with share on all their projects",
      to(web),
      { ...json, [syncFormatKey]: "x" },
      200,
    ],
    [
      "cannot change the value of a copy- annotation",
      to(pay, { [copyLabels]: "a" }),
      { [copyLabels]: "b" },
      403,
    ],
    [
      "cannot add a copy- annotation for another project",
      webAndPay,
      { [copyAnnotations]: "a=b" },
      403,
    ],
    [
      "can add a copy- annotation with share on all projects",
      to(web),
      { [copyAnnotations]: "a=b", [copyLabels]: "c=d" },
      200,
    ],
    [
      "cannot remove a copy- annotation",
      to(pay, { [copyLabels]: "a" }),
      { [copyLabels]: null },
      403,
    ],
    ["can rename copies that do not exist, but then cannot share them", {}, renamed, 200],
    ["can remove all other projects and rename in one request", webAndPay, to(web, renamed), 200],
  ])("%s", async (_rule, from, sent, code) => {
    expect(await update(tenant, from, { metadata: { annotations: sent } })).toMatchObject(
      answered(code, "the verb share on"),
    );
  });

  it("can change data and labels of a SharedSecret that another user shares", async () => {
    const body = { metadata: { labels: { a: "b" } }, spec: { data: { password: "c2VzYW1l" } } };
    expect(await update(tenant, to(`${pay}, *`), body)).toMatchObject({ code: 200 });
  });

  it("does not block the controller, which writes finalizers and status", async () => {
    const metadata = { finalizers: ["management.service/cleanup"] };
    const controller = latchkeyAccount("latchkey-controller");
    expect(await update(controller, to(`${pay}, *`), { metadata })).toMatchObject({
      code: 200,
      metadata,
    });
  });
});

it("metadata of a SharedSecret cannot be changed through its status", async () => {
  const kept = { annotations: to(web), finalizers: ["management.service/cleanup"] };
  const path = await made(sharedSecretPath(namespace), manifest("SharedSecret", kept));
  const metadata = { annotations: to(pay), finalizers: null, ownerReferences: [gone] };
  const { apiVersion, kind } = manifest("SharedSecret");
  for (const write of [merge, forceApply]) {
    const answer = await write(admin, `${path}/status`, { apiVersion, kind, metadata });
    expect(answer).toMatchObject({ code: 200, metadata: kept });
    expect(answer.metadata.ownerReferences).toBeUndefined();
  }
});

withPolicies("the list of namespaces that a namespace accepts copies from", () => {
  it.each<[rule: string, list: string, refusal?: string]>([
    ["can contain names", "team-a, team-b"],
    ["can be empty", ""],
    ["can contain a glob, which has no effect and causes a warning of another policy", "team-*"],
    ["cannot have more than 64 names", "a,".repeat(65), "at most 64 entries"],
    ["cannot have more than 4096 characters", ",".repeat(4097), "at most 4096 characters"],
  ])("%s", async (_rule, list, refusal) => {
    const metadata = { annotations: { [annotations.syncFrom]: list } };
    const answer = await merge(admin, `/api/v1/namespaces/${namespace}?dryRun=All`, { metadata });
    expect(answer).toMatchObject(answered(refusal === undefined ? 200 : 403, refusal ?? ""));
  });
});
