import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { dataCopyRef } from "../../src/domain/sync/data-copy.ts";
import { canary, expectNoTrouble } from "./controller-oracle.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, as, makeNamespace, unique } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  type Place,
  secretPath,
  view,
} from "../support/shared-secret-requests.ts";
import { becomesCurrent, dataOf, eventAbout, makeSynced, stateOf, to } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

/** A Secret that a SharedSecret follows. */
interface SourceSecret {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

/** A SharedSecret that follows a Secret, and the path of its one copy. */
interface Following {
  readonly source: Place;
  readonly secret: string;
  readonly copy: string;
  readonly target: string;
  readonly project: string;
}

const secretsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;

/** Creates a Secret that consents to these SharedSecrets. */
async function makeSource(
  namespace: string,
  name: string,
  { dataFor, ...secret }: SourceSecret & { readonly dataFor?: string },
): Promise<void> {
  const marks = dataFor === undefined ? {} : { annotations: { [annotations.dataFor]: dataFor } };
  await api.create(secretsIn(namespace), { metadata: { name, ...marks }, ...secret });
}

/** Creates a SharedSecret that follows a Secret, which may exist already, and a target. */
async function follow(
  {
    namespace,
    secret,
    name = unique("shared"),
  }: Readonly<Record<"namespace" | "secret", string>> & {
    readonly name?: string;
  },
  others: Readonly<Record<string, string>> = {},
  spec: Readonly<Record<string, unknown>> = {},
): Promise<Following> {
  const project = unique("project");
  const target = await makeTarget(project, namespace);
  const source = await makeSharedSecret({
    namespace,
    name,
    annotations: to(project, { [annotations.dataFrom]: secret, ...others }),
    spec,
  });
  return {
    source,
    secret: secretPath(namespace, secret),
    copy: secretPath(target, name),
    target,
    project,
  };
}

/** Waits until Ready and Synced are False for a reason, with a sentence. */
function becomesTroubled(source: Place, reason: string, says: string): Promise<void> {
  const trouble = { status: "False", reason, message: expect.stringContaining(says) };
  return becomes(`${source.name} to be ${reason}`, () => view(source), {
    settled: true,
    conditions: { Ready: trouble, Synced: trouble },
  });
}

function becomesCopy(
  { source, copy }: Pick<Following, "source" | "copy">,
  { type = "Opaque", data = {} }: SourceSecret,
): Promise<void> {
  const see = async () => {
    const { code, type: found, data: has, metadata } = await api.find(copy);
    return { code, type: found, data: has ?? {}, uid: Object(metadata).labels?.[labels.sourceUid] };
  };
  return becomes("the copy to follow", see, { code: 200, type, data, uid: source.uid });
}

const certificate = { "tls.crt": base64(`${canary}crt`), "tls.key": base64(`${canary}key`) };
const registry = { ".dockerconfigjson": base64(`{"auths":{"${canary}":{}}}`) };

const copied = (data: Readonly<Record<string, string>>) => ({ ...data });

interface Row {
  readonly what: string;
  readonly secret: SourceSecret;
  readonly changed: SourceSecret["data"];
  readonly options?: Readonly<Record<string, string>>;
  readonly has?: (data: Readonly<Record<string, string>>) => Record<string, string>;
}

const opaque = dataOf("password", "other");
const renamed = { [annotations.dataFromKeys]: "secret=password" };
const rows: readonly Row[] = [
  { what: "Opaque", secret: { data: opaque }, changed: dataOf("password") },
  {
    what: "a certificate",
    secret: { type: "kubernetes.io/tls", data: certificate },
    changed: { ...certificate, "ca.crt": base64(`${canary}ca`) },
  },
  {
    what: "a login of a registry",
    secret: { type: "kubernetes.io/dockerconfigjson", data: registry },
    changed: { ".dockerconfigjson": base64("{}") },
  },
  {
    what: "a user and a password",
    secret: { type: "kubernetes.io/basic-auth", data: dataOf("username", "password") },
    changed: dataOf("username"),
  },
  {
    what: "a Secret that becomes immutable",
    secret: { data: opaque },
    changed: dataOf("once"),
  },
  {
    what: "1 MiB",
    secret: { data: { big: Buffer.alloc(1_000_000, 1).toString("base64") } },
    changed: { big: Buffer.alloc(1_000_000, 2).toString("base64") },
  },
  { what: "no data", secret: { data: {} }, changed: dataOf("first") },
  {
    what: "bytes that are no text",
    secret: { data: { bytes: Buffer.from([0, 255, 128, 10]).toString("base64") } },
    changed: { bytes: Buffer.from([255, 0]).toString("base64") },
  },
  {
    what: "renamed keys",
    secret: { data: opaque },
    changed: { ...dataOf("other"), password: base64(`${canary}new`) },
    options: renamed,
    has: ({ password = "" }) => ({ secret: password }),
  },
  {
    what: "another type, which an option names",
    secret: { type: "example.com/any", data: opaque },
    changed: dataOf("password"),
    options: { [annotations.syncSecretType]: "example.com/any" },
  },
  {
    what: "a form",
    secret: { data: { NAME: base64("value") } },
    changed: { NAME: base64("changed") },
    options: { [annotations.syncFormat]: "dotenv" },
    has: ({ NAME = "" }) => ({
      ".env": base64(`NAME='${Buffer.from(NAME, "base64").toString()}'\n`),
    }),
  },
];

describe.concurrent("a SharedSecret follows a Secret:", () => {
  it.each(rows)("$what", async ({ secret, changed = {}, options, has = copied }) => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    const following = await follow({ namespace, secret: name, name: dataFor }, options);
    const { source, copy, secret: path } = following;
    await becomesTroubled(source, "SourceMissing", `Secret "${namespace}/${name}" does not exist`);
    expect((await api.find(copy)).code).toBe(404);

    await makeSource(namespace, name, { ...secret, dataFor });
    await becomesCopy(following, { ...secret, data: has(secret.data ?? {}) });
    await becomesReady(source);
    expect(await view(source)).toMatchObject({ keys: Object.keys(has(secret.data ?? {})).length });

    await api.replace(path, { ...(await api.get(path)), data: changed });
    await becomesCopy(following, { ...secret, data: has(changed) });

    await api.delete(path);
    await becomesTroubled(source, "SourceMissing", "does not exist");
    await becomesCopy(following, { ...secret, data: has(changed) });

    await makeSource(namespace, name, { ...secret, immutable: true, dataFor: `other, ${dataFor}` });
    await becomesCopy(following, { ...secret, data: has(secret.data ?? {}) });
    await becomesReady(source);

    await api.delete(path);
    await makeSource(namespace, name, secret);
    await becomesTroubled(source, "SourceNotAllowed", `annotation ${annotations.dataFor}`);
    await becomesGone(copy);
    await eventAbout(source, "SourceNotAllowed");
  });

  it("changes the type of its copies with that of the Secret", async () => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    await makeSource(namespace, name, { data: certificate, dataFor });
    const following = await follow({ namespace, secret: name, name: dataFor });
    await becomesCopy(following, { data: certificate });
    await api.delete(following.secret);
    await makeSource(namespace, name, { type: "kubernetes.io/tls", data: certificate, dataFor });
    await becomesCopy(following, { type: "kubernetes.io/tls", data: certificate });
  });
});

describe.concurrent("consent and trouble of the Secret:", () => {
  it("a consent that is taken back removes the copy, and given again makes it", async () => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    await makeSource(namespace, name, { data: opaque, dataFor });
    const following = await follow({ namespace, secret: name, name: dataFor });
    await becomesCopy(following, { data: opaque });
    const says = (text: string | null) =>
      api.merge(following.secret, { metadata: { annotations: { [annotations.dataFor]: text } } });
    await says("somebody-else");
    await becomesGone(following.copy);
    await says(dataFor);
    await becomesCopy(following, { data: opaque });
    await says(null);
    await becomesGone(following.copy);
  });

  it("a key that is missing keeps the copies, and names the key", async () => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    await makeSource(namespace, name, { data: opaque, dataFor });
    const following = await follow({ namespace, secret: name, name: dataFor }, renamed);
    const { password = "" } = opaque;
    await becomesCopy(following, { data: { secret: password } });
    await api.merge(following.secret, { data: { password: null } });
    await becomesTroubled(following.source, "SourceInvalid", 'has no data key "password"');
    await becomesCopy(following, { data: { secret: password } });
    await api.merge(following.secret, { data: { password: base64(`${canary}next`) } });
    await becomesCopy(following, { data: { secret: base64(`${canary}next`) } });
  });

  it("nothing is repaired while the Secret is missing, and a project that goes still removes", async () => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    await makeSource(namespace, name, { data: opaque, dataFor });
    const following = await follow({ namespace, secret: name, name: dataFor });
    await becomesCopy(following, { data: opaque });
    await api.delete(following.secret);
    await becomesTroubled(following.source, "SourceMissing", "does not exist");
    const before = await stateOf(following.copy);
    const second = await makeTarget(following.project, namespace);
    const other = await makeSynced();
    await becomesCurrent(other);
    expect(await stateOf(following.copy)).toEqual(before);
    expect((await api.find(secretPath(second, dataFor))).code).toBe(404);
    await api.merge(following.source.path, {
      metadata: { annotations: { [annotations.syncToProjects]: "another" } },
    });
    await becomesGone(following.copy);
  });

  it("a copy, a placeholder and a Secret that Kubernetes interprets are no sources", async () => {
    const synced = await makeSynced();
    const dataFor = unique("shared");
    await api.merge(synced.copy, { metadata: { annotations: { [annotations.dataFor]: dataFor } } });
    const chained = await follow({
      namespace: synced.target,
      secret: synced.source.name,
      name: dataFor,
    });
    await becomesTroubled(chained.source, "SourceInvalid", "is managed by Latchkey");

    const namespace = await makeNamespace();
    const placeholder = unique("placeholder");
    await api.create(secretsIn(namespace), {
      metadata: {
        name: placeholder,
        labels: { [labels.sharedSecretName]: "x", [labels.sharedSecretNamespace]: "y" },
        annotations: { [annotations.dataFor]: dataFor },
      },
    });
    const asking = await follow({ namespace, secret: placeholder, name: dataFor });
    await becomesTroubled(asking.source, "SourceInvalid", "is managed by Latchkey");

    const token = unique("token");
    await api.create(secretsIn(namespace), {
      type: "bootstrap.kubernetes.io/token",
      metadata: { name: token, annotations: { [annotations.dataFor]: `${dataFor}-2` } },
    });
    const interpreted = await follow({ namespace, secret: token, name: `${dataFor}-2` });
    await becomesTroubled(
      interpreted.source,
      "SourceInvalid",
      "which Kubernetes or Helm interprets",
    );

    const strange = unique("strange");
    await makeSource(namespace, strange, { type: "example.com/any", dataFor: `${dataFor}-3` });
    const untyped = await follow({ namespace, secret: strange, name: `${dataFor}-3` });
    await becomesTroubled(untyped.source, "SourceInvalid", annotations.syncSecretType);
  });

  it("a source that becomes a copy is none any more, and its copies stay", async () => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    await makeSource(namespace, name, { data: opaque, dataFor });
    const following = await follow({ namespace, secret: name, name: dataFor });
    await becomesCopy(following, { data: opaque });
    await api.merge(following.secret, {
      metadata: { labels: { [labels.sharedSecretName]: "x", [labels.sharedSecretNamespace]: "y" } },
    });
    await becomesTroubled(following.source, "SourceInvalid", "is managed by Latchkey");
    await becomesCopy(following, { data: opaque });
  });
});

describe.concurrent("a name that a SharedSecret follows", () => {
  it("is nobody's target, and a copy that is there stays one", async () => {
    const project = unique("project");
    const target = await makeTarget(project);
    const [free, taken] = [unique("free"), unique("taken")];
    const follower = await follow({ namespace: target, secret: free });
    await becomesTroubled(follower.source, "SourceMissing", "does not exist");
    const source = await makeSharedSecret({
      namespace: await makeNamespace(),
      name: free,
      annotations: to(project),
      spec: { data: dataOf("first") },
    });
    await becomes("the conflict", () => view(source), {
      conditions: { Synced: { status: "False", reason: "Conflict" } },
      sync: { failures: [{ reason: "Followed", message: expect.stringContaining("follows") }] },
    });
    expect((await api.find(secretPath(target, free))).code).toBe(404);
    await makeSource(target, free, { data: opaque, dataFor: follower.source.name });
    await becomesCopy(follower, { data: opaque });

    const other = await makeSharedSecret({
      namespace: await makeNamespace(),
      name: taken,
      annotations: to(project),
      spec: { data: dataOf("second") },
    });
    const copy = secretPath(target, taken);
    await becomesCurrent({ source: other, copy }, dataOf("second"));
    const late = await follow({ namespace: target, secret: taken });
    await becomesTroubled(late.source, "SourceInvalid", "is managed by Latchkey");
    await api.merge(copy, { data: dataOf("edited") });
    await becomesCurrent({ source: other, copy }, dataOf("second"));
  });
});

describe.concurrent("who reads a SharedSecret that follows a Secret", () => {
  const reader = { user: "rita", groups: ["system:authenticated"] };
  const spec = { access: [{ name: "readers", verbs: ["get"], users: [reader.user] }] };
  const dataCopyOf = ({ source }: Pick<Following, "source">) => {
    const { namespace, uid } = source;
    return secretPath(namespace, dataCopyRef({ namespace, uid }).name);
  };

  async function makeRead(others: Readonly<Record<string, string>> = {}) {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    await makeSource(namespace, name, { data: opaque, dataFor });
    const following = await follow({ namespace, secret: name, name: dataFor }, others, spec);
    const copy = dataCopyOf(following);
    return { ...following, namespace, dataCopy: copy };
  }

  it("reads the picked keys from the copy beside it, and not the Secret", async () => {
    const { source, secret, dataCopy, copy } = await makeRead({
      ...renamed,
      [annotations.syncFormat]: "json",
    });
    const { password = "" } = opaque;
    await becomes("the copy for readers", () => as(reader).get(dataCopy), {
      code: 200,
      type: "Opaque",
      data: { secret: password },
    });
    expect(await as(reader).get(secret)).toMatchObject({ code: 403 });
    await becomesCopy({ source, copy }, { data: { "data.json": expect.any(String) } });
    await becomes("the counts", () => view(source), { sync: { desired: 1 }, access: { roles: 1 } });

    await api.merge(dataCopy, { data: { secret: base64(`${canary}edited`) } });
    await becomes("the repair", () => api.find(dataCopy), { data: { secret: password } });
    await api.delete(dataCopy);
    await becomes("the repair", () => as(reader).get(dataCopy), {
      code: 200,
      data: { secret: password },
    });

    await api.merge(source.path, { spec: { access: [] } });
    await becomesGone(dataCopy);
    await becomes("the right to end", () => as(reader).get(dataCopy), { code: 403 });
  });

  it("loses the copy with the consent of the Secret, and keeps it while the Secret is missing", async () => {
    const { source, secret, dataCopy } = await makeRead();
    await becomes("the copy for readers", () => as(reader).get(dataCopy), { code: 200 });
    await api.delete(secret);
    await becomesTroubled(source, "SourceMissing", "does not exist");
    expect(await as(reader).get(dataCopy)).toMatchObject({ code: 200, data: opaque });
    const [, namespace = "", name = ""] = /namespaces\/([^/]+)\/secrets\/(.+)$/.exec(secret) ?? [];
    await makeSource(namespace, name, { data: opaque });
    await becomesGone(dataCopy);
  });

  it("has no right to a foreign Secret of that name, which is a conflict", async () => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    const following = await follow({ namespace, secret: name, name: dataFor }, {}, spec);
    await becomesTroubled(following.source, "SourceMissing", "does not exist");
    const dataCopy = dataCopyOf(following);
    const foreign = dataCopyRef({ namespace, uid: following.source.uid }).name;
    await api.create(secretsIn(namespace), { metadata: { name: foreign }, data: dataOf("bait") });
    await makeSource(namespace, name, { data: opaque, dataFor });
    await becomes("the conflict", () => view(following.source), {
      conditions: {
        AccessApplied: {
          status: "False",
          reason: "NameConflict",
          message: expect.stringContaining(`Secret "${foreign}" already exists`),
        },
      },
    });
    expect(await as(reader).get(dataCopy)).toMatchObject({ code: 403 });
    expect(await api.get(dataCopy)).toMatchObject({ data: dataOf("bait") });
    await api.delete(dataCopy);
    await becomes("the copy for readers", () => as(reader).get(dataCopy), {
      code: 200,
      data: opaque,
    });
  });

  it("leaves the Secret as it is when the SharedSecret is deleted", async () => {
    const { source, secret, dataCopy, copy } = await makeRead();
    await becomes("the copy for readers", () => as(reader).get(dataCopy), { code: 200 });
    const before = await stateOf(secret);
    await api.delete(source.path);
    for (const path of [source.path, copy, dataCopy]) await becomesGone(path);
    expect(await stateOf(secret)).toEqual(before);
  });

  it("has nothing of spec.data after data-from is taken out", async () => {
    const { source, dataCopy, copy } = await makeRead();
    await becomes("the copy for readers", () => as(reader).get(dataCopy), { code: 200 });
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.dataFrom]: null } },
      spec: { data: dataOf("own") },
    });
    await becomesCopy({ source, copy }, { data: dataOf("own") });
    await becomesGone(dataCopy);
  });
});

describe("a Secret that changes often", () => {
  it("is followed slowly, with its latest value, and that is said", async () => {
    const namespace = await makeNamespace();
    const [name, dataFor] = [unique("source"), unique("shared")];
    await makeSource(namespace, name, { data: opaque, dataFor });
    const following = await follow({ namespace, secret: name, name: dataFor });
    await becomesCopy(following, { data: opaque });
    const versions = new Set<unknown>();
    for (let change = 0; change < 40; change += 1) {
      await api.merge(following.secret, { data: { password: base64(`${canary}${change}`) } });
      versions.add((await api.get(following.copy)).metadata.resourceVersion);
    }
    const last = { ...opaque, password: base64(`${canary}39`) };
    await becomesCopy(following, { data: last });
    expect(versions.size).toBeLessThan(30);
    await becomes("that it is said", () => view(following.source), {
      conditions: {
        Ready: { status: "True" },
        Synced: { status: "False", reason: "SourceChangesOften" },
      },
    });
  });
});
