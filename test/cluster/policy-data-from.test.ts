import { readFileSync } from "node:fs";
import fc from "fast-check";
import { load, loadAll } from "js-yaml";
import { beforeAll, expect, inject, it } from "vitest";
import { annotations, group } from "../../src/api/names.ts";
import { stringAt } from "../../src/api/parse.ts";
import { secretToGet } from "../../src/domain/access-key/data-from-change.ts";
import { patchTypes } from "../support/cluster-connection.ts";
import {
  followed,
  nearChanges,
  type Sharing,
  sharingChanges,
} from "../support/data-from-changes.ts";
import { eventually } from "../support/eventually.ts";
import { tryKubectl } from "../support/kubectl.ts";
import {
  admin,
  answered,
  api,
  as,
  ask,
  type Answer,
  bind,
  type Caller,
  latchkeyAccount,
  makeNamespace,
  unique,
} from "../support/policy-request.ts";
import { isAtLength, runs } from "../support/property-runs.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import {
  dryCreate,
  forceApply,
  type Given,
  grantUser,
  made,
  manifest,
  merge,
  password,
  withPolicies,
} from "./policy-fixture.ts";

const { dataFrom, dataFromKeys, syncToClusters, syncToProjects } = annotations;
/**
 * Users with all rights on SharedSecrets and projects: `reader` may also get the Secrets of the
 * tests, `tenant` another one.
 */
const reader = { user: unique("reader") };
const tenant = { user: unique("tenant") };
const from = { [dataFrom]: followed };
const needsGet = "which requires the verb get on that Secret";
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  for (const caller of [reader, tenant]) {
    await bind({ kind: "User", name: caller.user }, "latchkey-sharedsecret-admin", namespace);
    await grantUser(caller, "share management.service projects,clusters");
  }
  await grantUser(reader, `get core secrets ${followed},other`);
  await grantUser(tenant, "list,watch,update,delete core secrets", "get core secrets mine");
});

const objectOf = ({ annotations: given, spec }: Sharing, name = unique("shared")) =>
  manifest("SharedSecret", { name, annotations: given }, spec);
const shared = (given: Given, spec: object = {}) =>
  manifest("SharedSecret", { annotations: given }, spec);
const stored = (given: Given, spec: object = {}): Promise<string> =>
  made(sharedSecretPath(namespace), shared(given, spec));

/** Creates the state before as the administrator, and the one after as the caller, in a dry run. */
async function change(by: Caller, before: Sharing | undefined, after: Sharing): Promise<Answer> {
  const path = sharedSecretPath(namespace);
  if (before === undefined) return dryCreate(by, path, objectOf(after));
  const name = unique("shared");
  const { metadata } = await api.create(path, objectOf(before, name));
  const body = objectOf(after, name);
  const sent = { ...body.metadata, resourceVersion: metadata.resourceVersion };
  return as(by).replace(`${path}/${name}?dryRun=All`, { ...body, metadata: sent });
}

withPolicies("a write that gives the data of a Secret to more requires get on it:", () => {
  const rows = sharingChanges.filter(({ gives }) => gives);
  it.each(rows)("$what", async ({ before, after }) => {
    expect(await change(tenant, before, after)).toMatchObject(answered(403, needsGet));
    expect((await change(reader, before, after)).code).toBeLessThan(300);
  });
});

withPolicies("a write that only takes away requires no get:", () => {
  const rows = sharingChanges.filter(({ gives }) => !gives);
  it.each(rows)("$what", async ({ before, after }) => {
    expect(await change(tenant, before, after)).toMatchObject({ code: 200 });
  });
});

withPolicies("the policy and the webhook agree", () => {
  it("when they decide whether a change gives more", async () => {
    await fc.assert(
      fc.asyncProperty(nearChanges, async ([before, after]) => {
        const { code, message } = await change(tenant, before, after);
        const asked = secretToGet(objectOf(after), objectOf(before));
        expect([code, message?.includes(needsGet) ?? false]).toEqual(
          asked === undefined ? [200, false] : [403, true],
        );
      }),
      runs(600),
    );
  });

  it("when they decide whether an annotation names a Secret", async () => {
    const parts = fc.constantFrom("a", "0", "-", ".", "A", "_", " ", "\n", "/", "*", ",", "é");
    const names = fc.oneof(
      fc.array(parts, { maxLength: 6 }).map((all) => all.join("")),
      fc.integer({ min: 250, max: 256 }).map((length) => "a".repeat(length)),
    );
    await fc.assert(
      fc.asyncProperty(names, async (name) => {
        const object = shared({ [dataFrom]: name });
        const { code } = await dryCreate(admin, sharedSecretPath(namespace), object);
        expect(code).toBe(secretToGet(object, undefined) === name ? 201 : 403);
      }),
      runs(300),
    );
  });
});

withPolicies("a SharedSecret that follows a Secret", () => {
  const creating = (given: Given, spec: object = {}): Promise<Answer> =>
    dryCreate(tenant, sharedSecretPath(namespace), shared(given, spec));

  it("tells the user, the fields, the Secret and the missing verb", async () => {
    const path = await stored(from, { access: [{ verbs: ["get"], users: ["ann"] }] });
    const name = path.slice(path.lastIndexOf("/") + 1);
    const patch = {
      metadata: { annotations: { [dataFromKeys]: "a", [syncToProjects]: "web" } },
      spec: { owner: { user: "eve" }, access: [{ verbs: ["get"], users: ["eve"] }] },
    };
    const { message } = await merge(tenant, path, patch);
    expect(message).toContain(
      `${tenant.user} may not set metadata.annotations[${dataFromKeys}], spec.access, spec.owner, ` +
        `metadata.annotations[${syncToProjects}] of SharedSecret ${namespace}/${name}: it gives the ` +
        `data of Secret ${namespace}/${followed} to others, ${needsGet}; ask an administrator for it, ` +
        "or leave the field unchanged; taking out users, teams, rules, projects or clusters requires no get",
    );
  });

  it("is asked about the Secret that it names, in its own namespace", async () => {
    expect(await creating({ [dataFrom]: "mine" })).toMatchObject({ code: 201 });
    expect(await creating(from)).toMatchObject(answered(403, "or name a Secret that you may get"));
    const there = await makeNamespace();
    const near = { user: unique("near") };
    await bind({ kind: "User", name: near.user }, "latchkey-sharedsecret-admin", namespace);
    await bind({ kind: "User", name: near.user }, "admin", there);
    const answers = [there, namespace].map((place) =>
      dryCreate(near, sharedSecretPath(place), shared(from)),
    );
    expect((await Promise.all(answers)).map(({ code }) => code)).toEqual([201, 403]);
  });

  it.each<[what: string, name: string]>([
    ["empty", ""],
    ["two names", "a,b"],
    ["a name and a blank", "a "],
    ["a namespace and a name", "team/a"],
    ["upper case", "A"],
    ["a glob", "*"],
    ["254 characters", "a".repeat(254)],
    ["a line", "a\n"],
  ])("names one Secret: %s is rejected", async (_what, name) => {
    const refused = answered(403, `metadata.annotations[${dataFrom}]`);
    const answer = await dryCreate(
      admin,
      sharedSecretPath(namespace),
      shared({ [dataFrom]: name }),
    );
    expect(answer).toMatchObject(refused);
    expect(answer.message).toContain("must be the name of one Secret in the same namespace");
    const path = await stored(from);
    expect(
      await merge(admin, path, { metadata: { annotations: { [dataFrom]: name } } }),
    ).toMatchObject(refused);
  });

  it("has no data of its own", async () => {
    const says = `spec.data must be empty while metadata.annotations[${dataFrom}] is set`;
    const data = { password };
    const both = await dryCreate(admin, sharedSecretPath(namespace), shared(from, { data }));
    expect(both).toMatchObject(answered(403, says));
    expect(both.message).not.toContain(password);
    const own = await stored({}, { data });
    expect(await merge(admin, own, { metadata: { annotations: from } })).toMatchObject(
      answered(403, says),
    );
    const following = await stored(from);
    expect(await merge(admin, following, { spec: { data } })).toMatchObject(answered(403, says));
    expect(
      await merge(reader, own, { metadata: { annotations: from }, spec: { data: null } }),
    ).toMatchObject({ code: 200 });
    const back = { metadata: { annotations: { [dataFrom]: null } }, spec: { data } };
    expect(await merge(tenant, following, back)).toMatchObject({ code: 200 });
    expect(
      (await dryCreate(admin, sharedSecretPath(namespace), shared(from, { data: {} }))).code,
    ).toBe(201);
  });

  const marks = "/metadata/annotations/management.service~1data-from";
  const patchedAs = (type: string, body: unknown) => (path: string) =>
    ask(tenant, { method: "PATCH", path, type, body });
  it.each<[how: string, write: (path: string) => Promise<Answer>]>([
    [
      "a new object with a generated name",
      () =>
        dryCreate(tenant, sharedSecretPath(namespace), {
          ...shared({}),
          metadata: { generateName: "shared-", annotations: from },
        }),
    ],
    [
      "a new object that pretends to be deleted",
      () =>
        dryCreate(tenant, sharedSecretPath(namespace), {
          ...shared({}),
          metadata: {
            name: unique("a"),
            annotations: from,
            deletionTimestamp: "2020-01-01T00:00:00Z",
          },
        }),
    ],
    ["a JSON patch", patchedAs(patchTypes.json, [{ op: "add", path: marks, value: followed }])],
    [
      "a JSON patch that copies another annotation",
      patchedAs(patchTypes.json, [
        { op: "copy", from: "/metadata/annotations/example.com~1note", path: marks },
      ]),
    ],
    [
      "server-side apply of the annotation alone",
      (path) => {
        const { apiVersion, kind } = shared({});
        return forceApply(tenant, path, { apiVersion, kind, metadata: { annotations: from } });
      },
    ],
  ])("is asked about %s", async (_how, write) => {
    const path = await stored({ "example.com/note": followed });
    expect(await write(path)).toMatchObject(answered(403, needsGet));
    await merge(tenant, `${path}/status`, { metadata: { annotations: from } });
    expect((await api.get(path)).metadata.annotations).not.toHaveProperty([dataFrom]);
  });

  it("cannot be redirected by kubectl edit of a colleague's object", async () => {
    const path = await stored(from, { access: [{ verbs: ["get"], users: ["ann", "eve"] }] });
    const name = path.slice(path.lastIndexOf("/") + 1);
    const controlPlane = inject("controlPlane");
    const edit = async (user: string, script: string): Promise<number> => {
      const args = ["edit", "sharedsecret", name, `--namespace=${namespace}`, `--as=${user}`];
      // kubectl keeps a copy of rejected changes.
      const env = { KUBE_EDITOR: `sed -i ${script}`, TMPDIR: controlPlane.directory };
      return (await tryKubectl(controlPlane, args, { env })).code;
    };
    const access = async () => (await api.get(path)).spec;
    for (const script of ["s/ann$/bob/", "s/followed$/other/"]) {
      expect(await edit(tenant.user, script)).toBe(1);
      expect(await access()).toMatchObject({ access: [{ users: ["ann", "eve"] }] });
      expect((await api.get(path)).metadata.annotations).toMatchObject(from);
    }
    expect(await edit(tenant.user, "/eve$/d")).toBe(0);
    expect(await edit(reader.user, "s/followed$/other/")).toBe(0);
  });

  it("does not block the controller, nor the end of a deletion", async () => {
    const controller = latchkeyAccount("latchkey-controller");
    const path = await stored(from);
    const finalizers = ["management.service/cleanup"];
    expect(await merge(controller, path, { metadata: { finalizers } })).toMatchObject({
      code: 200,
    });
    expect(await as(tenant).delete(path)).toMatchObject({ code: 200 });
    expect(await merge(tenant, path, { spec: { owner: { user: "eve" } } })).toMatchObject({
      code: 200,
    });
    expect(await merge(controller, path, { metadata: { finalizers: null } })).toMatchObject({
      code: 200,
    });
  });

  it("is not asked where it follows nothing", async () => {
    const keys = { [dataFromKeys]: "a" };
    expect(await creating(keys, { data: { password } })).toMatchObject({ code: 201 });
    const path = await stored({}, { data: { password } });
    expect(await merge(tenant, path, { metadata: { annotations: keys } })).toMatchObject({
      code: 200,
    });
  });

  it.each([
    ["projects", syncToProjects],
    ["clusters", syncToClusters],
  ])("needs share on the %s at every change of the annotation", async (resource, annotation) => {
    const sharer = { user: unique("sharer") };
    await bind({ kind: "User", name: sharer.user }, "latchkey-sharedsecret-admin", namespace);
    await grantUser(sharer, `get core secrets ${followed},other`);
    const path = await stored({ [annotation]: "web" });
    const says = answered(403, `the verb share on ${resource}.management.service of that name`);
    const annotate = (by: Caller, given: Given) =>
      merge(by, path, { metadata: { annotations: given } });
    for (const given of [from, { ...from, [dataFromKeys]: "a" }])
      expect(await annotate(sharer, given)).toMatchObject(says);
    expect(await annotate(reader, from)).toMatchObject({ code: 200 });
    for (const given of [{ [dataFrom]: null }, { [dataFromKeys]: "a" }])
      expect(await annotate(sharer, given)).toMatchObject(says);
  });

  it("needs delete on the SharedSecret, too, as all that grants access", async () => {
    const updater = { user: unique("updater") };
    await grantUser(
      updater,
      "get,update,patch management.service sharedsecrets",
      `get core secrets ${followed}`,
    );
    const path = await stored({});
    for (const given of [from, { [dataFromKeys]: "a" }])
      expect(await merge(updater, path, { metadata: { annotations: given } })).toMatchObject(
        answered(403, "a change of access requires the verb delete on this object"),
      );
  });
});

withPolicies("a big SharedSecret", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `user-${at}`);
  const verbs = ["get", "list", "watch", "update", "patch", "delete"];
  const rules = (count: number, users: readonly string[]) =>
    Array.from({ length: count }, () => ({ verbs, users }));

  it.each<[what: string, rules: number, users: number]>([
    ["one rule with many users", 1, 500],
    ["many rules with few users", 64, 2],
    ["as many rules as the schema allows", 256, 7],
  ])(
    "can be changed within the cost that the API server allows: %s",
    async (_what, count, users) => {
      const path = await stored(from, { access: rules(count, names(users)) });
      const access = rules(count, [...names(users).toReversed().slice(1), "eve"]);
      expect(await merge(tenant, path, { spec: { access } })).toMatchObject(
        answered(403, needsGet),
      );
      expect(await merge(reader, path, { spec: { access } })).toMatchObject({ code: 200 });
    },
  );

  it("with thousands of annotations, too", async () => {
    const many = Array.from({ length: isAtLength ? 8_000 : 1_500 }, (_, at) => [
      `management.service/sync-${at}`,
      "",
    ]);
    const path = await stored({ ...Object.fromEntries(many), ...from });
    const set = (value: string | null) =>
      merge(tenant, `${path}?dryRun=All`, {
        metadata: { annotations: { "management.service/sync-a": value } },
      });
    expect(await set("a")).toMatchObject(answered(403, needsGet));
    expect(await set(null)).toMatchObject({ code: 200 });
  });
});

/** The same kind and policy in another API group, where a test stores objects before the policy. */
withPolicies("an object that was stored before the policy exists", () => {
  const own = `${unique("planted")}.example`;
  const renamed = (text: string): string =>
    text
      .replaceAll(group, own)
      .replaceAll("sharedsecret", "plantedsecret")
      .replaceAll("SharedSecret", "PlantedSecret")
      .replaceAll("latchkey-", `${own}-`);
  const text = (path: string): string => renamed(readFileSync(path, "utf8"));
  const path = (name = "") => `/apis/${own}/v1/namespaces/${namespace}/plantedsecrets/${name}`;
  const data = { password };
  const both = { ...from, "example.com/note": "a" };
  const ownNames = (given: object) => JSON.parse(renamed(JSON.stringify(given)));
  const plant = (name: string, given: object, spec: object = {}) =>
    ask(admin, {
      method: "POST",
      path: path(),
      body: {
        apiVersion: `${own}/v1`,
        kind: "PlantedSecret",
        metadata: { name, annotations: ownNames(given) },
        spec,
      },
    });

  beforeAll(async () => {
    const crd = JSON.parse(JSON.stringify(load(text("crds/sharedsecrets.yaml"))));
    const { shortNames: _, categories: __, ...kindNames } = crd.spec.names;
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      ...crd,
      spec: { ...crd.spec, names: kindNames },
    });
    await eventually(async () => (await plant("both", both, { data })).code === 201, {
      what: "the planted object to be stored",
    });
    await plant("wide", from, { access: [{ verbs: ["get"], users: ["eve"] }] });
    await plant("invalid", { [dataFrom]: "a, b" });
    await plant("empty", { [dataFrom]: "" });
    await plant("list", { ...from, [syncToProjects]: "web, a b" });
    for (const caller of [reader, tenant])
      await grantUser(caller, `get,update,patch,delete ${own} plantedsecrets`);
    for (const policy of loadAll(text("config/policies/data-from.yaml"))) {
      const kind = stringAt(policy, "kind") ?? "";
      const plural = kind.endsWith("Binding")
        ? "validatingadmissionpolicybindings"
        : "validatingadmissionpolicies";
      await api.create(`/apis/admissionregistration.k8s.io/v1/${plural}`, policy);
    }
    await eventually(async () => (await plant(unique("again"), both, { data })).code === 403, {
      what: "the policy to deny",
    });
  });

  const mark = (given: object) => ({ metadata: { annotations: ownNames(given) } });

  it("gets the finalizer of the controller, although it has both kinds of data", async () => {
    const controller = { ...latchkeyAccount("latchkey-controller"), groups: ["system:masters"] };
    const finalizers = [`${own}/cleanup`];
    expect(await merge(controller, path("both"), { metadata: { finalizers } })).toMatchObject({
      code: 200,
    });
    expect(await merge(tenant, path("both"), { spec: { displayName: "a" } })).toMatchObject({
      code: 200,
    });
    expect(await merge(admin, path("both"), { spec: { data: { a: "" } } })).toMatchObject(
      answered(403, "spec.data must be empty"),
    );
    expect(await merge(tenant, path("both"), { spec: { data: null } })).toMatchObject({
      code: 200,
    });
  });

  it.each<[what: string, body: object]>([
    ["another user", { spec: { access: [{ verbs: ["get"], users: ["eve", "bob"] }] } }],
    ["an owner", { spec: { owner: { user: "bob" } } }],
    ["a project", mark({ [syncToProjects]: "web" })],
    ["other keys", mark({ [dataFromKeys]: "a" })],
  ])("is not widened without get: %s", async (_what, body) => {
    expect(await merge(tenant, path("wide"), body)).toMatchObject(answered(403, needsGet));
    expect(await merge(reader, `${path("wide")}?dryRun=All`, body)).toMatchObject({ code: 200 });
  });

  it("is narrowed without get", async () => {
    expect(await merge(tenant, path("wide"), { spec: { access: [] } })).toMatchObject({
      code: 200,
    });
  });

  it("with an invalid list of projects names none of them", async () => {
    expect(await merge(tenant, path("list"), mark({ [syncToProjects]: "web" }))).toMatchObject(
      answered(403, needsGet),
    );
    expect(await merge(tenant, path("list"), mark({ [syncToProjects]: null }))).toMatchObject({
      code: 200,
    });
  });

  it.each(["invalid", "empty"])(
    "with an %s name follows nothing until it is changed",
    async (name) => {
      const widened = { spec: { owner: { user: "bob" } } };
      expect(await merge(tenant, path(name), widened)).toMatchObject({ code: 200 });
      expect(await merge(tenant, path(name), mark(from))).toMatchObject(answered(403, needsGet));
      expect(await merge(admin, path(name), mark({ [dataFrom]: "c d" }))).toMatchObject(
        answered(403, "must be the name of one Secret"),
      );
    },
  );
});
