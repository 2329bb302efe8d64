import { afterAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { dataCopyRef } from "../../src/domain/sync/data-copy.ts";
import { becomes } from "../support/becomes.ts";
import {
  allow,
  answered,
  api,
  as,
  bind,
  type Caller,
  makeNamespace,
  unique,
} from "../support/policy-request.ts";
import {
  makeSharedSecret,
  makeTarget,
  may,
  secretPath,
  sharedSecretPath,
  view,
} from "../support/shared-secret-requests.ts";
import { connectCluster } from "./cluster-fixture.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { dataOf, makeSecret, to } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

const data = dataOf("password", "other");
const { dataFor, dataFrom, dataFromKeys, syncToClusters, syncToProjects } = annotations;
const needsGet = answered(403, "which requires the verb get on that Secret");
const user = (name: string) => ({ user: unique(name), groups: ["system:authenticated"] });
const annotated = (given: object) => ({ metadata: { annotations: given } });

/** A Secret that a SharedSecret follows for one reader and one owner, who may not get the Secret. */
async function makeShared() {
  const [namespace, name] = [await makeNamespace(), unique("shared")];
  const [reader, owner] = [user("reader"), user("owner")];
  const metadata = { name: "source", annotations: { [dataFor]: `${name}, ${name}-2` } };
  await makeSecret(namespace, "source", { metadata, data });
  const source = await makeSharedSecret({
    namespace,
    name,
    annotations: { [dataFrom]: "source", [dataFromKeys]: "password" },
    spec: { owner: { user: owner.user }, access: [{ verbs: ["get"], users: [reader.user] }] },
  });
  const readable = secretPath(namespace, dataCopyRef(source).name);
  for (const caller of [reader, owner])
    await becomes("the copy for readers", () => as(caller).get(readable), {
      code: 200,
      data: { password: data["password"] },
    });
  await allow({ kind: "User", name: owner.user }, [
    {
      apiGroups: ["management.service"],
      resources: ["projects", "clusters"],
      verbs: ["share"],
    },
  ]);
  return { namespace, name, source, readable, reader, owner };
}

/** Creates a SharedSecret as the caller, who may write SharedSecrets in the namespace. */
async function follow(
  by: Caller,
  { namespace, name = unique("own") }: { readonly namespace: string; readonly name?: string },
  secret: string,
) {
  const project = unique("project");
  const target = await makeTarget(project, namespace);
  const metadata = { name, annotations: to(project, { [dataFrom]: secret }) };
  const body = { apiVersion, kind: "SharedSecret", metadata };
  const answer = await as(by).create(sharedSecretPath(namespace), body);
  return { answer, path: sharedSecretPath(namespace, name), copy: secretPath(target, name) };
}

describe.concurrent("a user with access to a SharedSecret that follows a Secret", () => {
  it("does not get the Secret, nor a data key that is left out", async () => {
    const { namespace, source, reader, owner } = await makeShared();
    for (const caller of [reader, owner]) {
      const secret = secretPath(namespace, "source");
      expect(await as(caller).get(secret)).toMatchObject({ code: 403 });
      expect(await as(caller).merge(secret, annotated({ [dataFor]: "*" }))).toMatchObject({
        code: 403,
      });
    }
    for (const keys of ["other", "password=other", "password,other", null])
      expect(await as(owner).merge(source.path, annotated({ [dataFromKeys]: keys }))).toMatchObject(
        needsGet,
      );
    expect(await as(owner).merge(source.path, annotated({ [dataFrom]: "other" }))).toMatchObject(
      needsGet,
    );
  });

  it("shares it with a SharedSecret of his own neither by the Secret nor by the copy", async () => {
    const { namespace, name, readable, reader } = await makeShared();
    await bind({ kind: "User", name: reader.user }, "latchkey-sharedsecret-admin", namespace);
    await bind({ kind: "User", name: reader.user }, "latchkey-project-sharer");
    // The Secret names this one, too.
    const bySource = await follow(reader, { namespace, name: `${name}-2` }, "source");
    expect(bySource.answer).toMatchObject(needsGet);
    const copyName = readable.slice(readable.lastIndexOf("/") + 1);
    const byCopy = await follow(reader, { namespace }, copyName);
    expect(byCopy.answer).toMatchObject({ code: 201 });
    await becomes("the copy to be refused", () => view(byCopy), {
      settled: true,
      conditions: {
        Ready: { reason: "SourceInvalid", message: expect.stringContaining("managed by Latchkey") },
      },
    });
    expect((await api.find(byCopy.copy)).code).toBe(404);
  });

  it("gives it to nobody else, although its owner may do everything to the SharedSecret", async () => {
    const { namespace, source, readable, reader, owner } = await makeShared();
    const eve = user("eve");
    const rule = { verbs: ["get"], users: [reader.user] };
    for (const access of [
      [{ ...rule, users: [reader.user, eve.user] }],
      [rule, { verbs: ["get"], users: [eve.user] }],
      [{ ...rule, teams: ["*"] }],
    ])
      expect(await as(owner).merge(source.path, { spec: { access } })).toMatchObject(needsGet);
    expect(await as(owner).merge(source.path, { spec: { owner: { team: "eve" } } })).toMatchObject(
      needsGet,
    );
    expect(await as(eve).get(readable)).toMatchObject({ code: 403 });
    // To take a right away needs none.
    expect(await as(owner).merge(source.path, { spec: { access: [] } })).toMatchObject({
      code: 200,
    });
    await becomes("the right of the reader to end", () => as(reader).get(readable), { code: 403 });
    expect(await may(reader, { verb: "get", namespace, name: source.name })).toBe(false);
  });

  it("sends it to no placeholder, namespace or connected cluster", async () => {
    const { namespace, source, owner } = await makeShared();
    const project = unique("project");
    const target = await makeTarget(project, namespace);
    const cluster = await connectCluster("*");
    await makeSecret(target, "asking", {
      metadata: {
        name: "asking",
        labels: {
          [labels.sharedSecretName]: source.name,
          [labels.sharedSecretNamespace]: namespace,
        },
      },
      data: {},
    });
    for (const given of [
      { [syncToProjects]: project },
      { [syncToClusters]: cluster.name },
      { [syncToProjects]: project, [syncToClusters]: cluster.name },
      { [syncToProjects]: "*" },
    ])
      expect(await as(owner).merge(source.path, annotated(given))).toMatchObject(needsGet);
    const asking = secretPath(target, "asking");
    await becomes("the placeholder to be answered", async () => (await api.find(asking)).metadata, {
      annotations: { [annotations.syncError]: expect.any(String) },
    });
    expect(recordAt(await api.find(asking), "data")).toEqual({});
    expect((await api.find(secretPath(target, source.name))).code).toBe(404);
    expect((await api.find(cluster.secretOf(source))).code).toBe(404);
  });
});
