import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, inject, it } from "vitest";
import { annotations, cleanupFinalizer } from "../../src/api/names.ts";
import { stringMapAt } from "../../src/api/parse.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { eventually } from "../support/eventually.ts";
import { api, arrange, makeNamespace, patchTypes, unique } from "../support/policy-request.ts";
import {
  becomesReady,
  makeSharedSecret,
  makeTarget,
  secretPath,
  view,
  type Place,
} from "../support/shared-secret-requests.ts";
import {
  becomesCurrent,
  becomesStalled,
  dataOf,
  makeSecret,
  makeSynced,
  to,
} from "./sync-fixture.ts";

afterAll(expectNoTrouble);

const hasControllerManager = inject("controlPlane").hasControllerManager;

function replaceData({ path }: Place, value: object): Promise<unknown> {
  return arrange({
    method: "PATCH",
    path,
    type: patchTypes.json,
    body: [{ op: "replace", path: "/spec/data", value }],
  });
}

describe.concurrent("data that no Secret can contain", () => {
  const most = 1024 * 1024;
  const misfits = [
    {
      rule: "one byte more than a Secret can have",
      reason: "TooLarge",
      data: () => ({ big: randomBytes(most + 1).toString("base64") }),
      says: `${most + 1} bytes`,
    },
    {
      rule: "values that are too large together",
      reason: "TooLarge",
      data: () => ({ a: randomBytes(most).toString("base64"), b: "QQ==" }),
      says: `${most + 1} bytes`,
    },
    {
      rule: "a key of two dots",
      reason: "InvalidKey",
      data: () => ({ "..": "QQ==" }),
      says: '".."',
    },
    {
      rule: "a key that begins with two dots",
      reason: "InvalidKey",
      data: () => ({ "..data": "QQ==", good: "QQ==" }),
      says: '"..data"',
    },
    { rule: "a key of one dot", reason: "InvalidKey", data: () => ({ ".": "QQ==" }), says: '"."' },
    {
      rule: "a key of 254 characters",
      reason: "InvalidKey",
      data: () => ({ ["k".repeat(254)]: "QQ==" }),
      says: '"kkk',
    },
  ];
  it.each(misfits)(
    "stalls the source and keeps its copies: $rule",
    async ({ reason, data, says }) => {
      const { source, copy } = await makeSynced();
      await replaceData(source, data());
      await becomesStalled({ source, copy }, reason, says);
      expect((await api.find(copy)).data).toEqual(dataOf("first", "second"));
      await replaceData(source, dataOf("third"));
      await becomesCurrent({ source, copy }, dataOf("third"));
      await becomesReady(source);
    },
  );

  it("does not keep a copy in a namespace that has left the project", async () => {
    const { source, project, target, copy } = await makeSynced();
    const other = secretPath(await makeTarget(project, source.namespace), source.name);
    await becomesCurrent({ source, copy: other });
    await replaceData(source, { "..": "QQ==" });
    await becomes("the copy to say why", async () => (await api.find(copy)).metadata.annotations, {
      [annotations.syncError]: expect.any(String),
    });
    await api.merge(`/api/v1/namespaces/${target}`, {
      metadata: { labels: { "management.service/project": null } },
    });
    await becomesGone(copy);
    expect(await api.find(other)).toMatchObject({ code: 200, data: dataOf("first", "second") });
  });

  it("does not keep a copy in a project that the source no longer names", async () => {
    const { source, copy } = await makeSynced();
    await api.merge(source.path, {
      metadata: { annotations: to("another") },
      spec: { data: { "..": "QQ==" } },
    });
    await becomesGone(copy);
  });

  it("does not lose a copy whose label is removed", async () => {
    const { source, copy } = await makeSynced();
    const { uid } = (await api.find(copy)).metadata;
    await replaceData(source, { "..": "QQ==" });
    await becomes("the mistake to be reported", () => view(source), {
      settled: true,
      conditions: { Stalled: { reason: "InvalidKey" } },
    });
    await api.merge(copy, {
      metadata: { labels: null, annotations: { [annotations.syncError]: null } },
    });
    await becomesCurrent({ source, copy });
    expect((await api.find(copy)).metadata.uid).toBe(uid);
  });

  it("can have the maximum size of a Secret, with a key of the maximum length", async () => {
    const { source, copy } = await makeSynced();
    const data = { ["k".repeat(253)]: randomBytes(most).toString("base64") };
    await replaceData(source, data);
    await becomesReady(source);
    expect((await api.find(copy)).data).toEqual(data);
  });

  it("is not reported if nothing is synced", async () => {
    const source = await makeSharedSecret({
      namespace: await makeNamespace(),
      spec: { data: { "..": "QQ==" } },
    });
    await becomesReady(source);
  });
});

describe.skipIf(!hasControllerManager).concurrent("a namespace whose quota is exhausted", () => {
  it("is reported in the status, does not block other targets, and is synced when the quota is raised", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const target = await makeTarget(project, namespace);
    const free = await makeTarget(project, namespace);
    const quotas = `/api/v1/namespaces/${target}/resourcequotas`;
    await makeSecret(target, "the-only-one");
    await api.create(quotas, { metadata: { name: "few" }, spec: { hard: { secrets: "1" } } });
    let counts = 0;
    const isCounted = async (): Promise<boolean> => {
      const { status } = await api.get(`${quotas}/few`);
      if (stringMapAt(status, "used")["secrets"] === "1") return true;
      // The controller of quotas may count before it sees the Secret, and again after a change.
      await api.merge(`${quotas}/few`, { spec: { hard: { pods: String((counts += 1)) } } });
      return false;
    };
    await eventually(isCounted, { what: "the quota to count", every: 1_000 });

    const source = await makeSharedSecret({
      namespace,
      name,
      annotations: to(project),
      spec: { data: dataOf("first") },
    });
    const copy = secretPath(target, name);
    const failure = {
      namespace: target,
      name,
      reason: "Forbidden",
      message: expect.stringContaining("exceeded quota: few"),
    };
    await becomes("the refusal to be reported", () => view(source), {
      conditions: {
        Ready: { status: "True", message: expect.stringContaining(target) },
        Synced: { status: "False", reason: "Failed" },
      },
      sync: { desired: 2, synced: 1, failed: 1, failures: [failure] },
    });
    await becomesCurrent({ source, copy: secretPath(free, name) }, dataOf("first"));
    expect(await api.find(copy)).toMatchObject({ code: 404 });

    await api.merge(`${quotas}/few`, { spec: { hard: { secrets: "2" } } });
    await becomesCurrent({ source, copy }, dataOf("first"));
    await becomes("the status to follow", () => view(source), {
      conditions: { Synced: { status: "True" } },
      sync: { synced: 2, failed: 0 },
    });
  });
});

describe.skipIf(!hasControllerManager).concurrent("a terminating namespace", () => {
  /** Keeps a namespace in its terminating state until the returned function is called. */
  async function hold(namespace: string): Promise<() => Promise<unknown>> {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await api.create(path, { metadata: { name: "hold", finalizers: ["example.com/hold"] } });
    return () => api.merge(`${path}/hold`, { metadata: { finalizers: null } });
  }

  it("is no longer a target and does not block other targets", async () => {
    const { source, project, target, copy } = await makeSynced();
    const letGo = await hold(target);
    await api.delete(`/api/v1/namespaces/${target}`);
    await becomes("the target not to count", () => view(source), {
      conditions: { Ready: { status: "True" }, Synced: { status: "False", reason: "NoTargets" } },
      sync: { desired: 0, failed: 0 },
    });
    await becomesGone(copy);
    await api.merge(source.path, { spec: { data: dataOf("third") } });
    const fresh = await makeTarget(project, source.namespace);
    await becomesCurrent(
      { source, copy: secretPath(fresh, source.name) },
      dataOf("first", "second", "third"),
    );
    await becomes("the status to follow", () => view(source), {
      settled: true,
      conditions: { Ready: { status: "True" } },
      sync: { desired: 1, synced: 1, failed: 0 },
    });
    expect(await api.find(copy)).toMatchObject({ code: 404 });
    await api.delete(source.path);
    await becomesGone(source.path);
    await letGo();
    await becomesGone(`/api/v1/namespaces/${target}`);
  });

  it("with the source is deleted with all copies", async () => {
    const { source, copy } = await makeSynced();
    await api.delete(`/api/v1/namespaces/${source.namespace}`);
    await becomesGone(copy);
    await becomesGone(`/api/v1/namespaces/${source.namespace}`);
  });

  it("is a target again when it is created again", async () => {
    const { source, target, copy } = await makeSynced();
    const { metadata } = await api.find(`/api/v1/namespaces/${target}`);
    await api.delete(`/api/v1/namespaces/${target}`);
    await becomesGone(`/api/v1/namespaces/${target}`);
    const { labels, annotations: given } = metadata;
    await api.create("/api/v1/namespaces", {
      metadata: { name: target, labels, annotations: given },
    });
    await becomesCurrent({ source, copy });
  });
});

describe.concurrent("a deleted source", () => {
  it("removes its copies, also those that lost the label, are paused or are immutable", async () => {
    const { source, project, copy } = await makeSynced();
    const targets = await Promise.all([1, 2, 3].map(() => makeTarget(project, source.namespace)));
    const copies = targets.map((target) => secretPath(target, source.name));
    for (const path of copies) await becomesCurrent({ source, copy: path });
    const [paused = "", sealed = "", unlabelled = ""] = copies;
    await api.merge(paused, { metadata: { annotations: { [annotations.disableSync]: "true" } } });
    await api.merge(sealed, { immutable: true });
    await api.merge(unlabelled, { metadata: { labels: null } });
    await api.delete(source.path);
    await becomesGone(source.path);
    for (const path of [copy, ...copies]) await becomesGone(path);
  });

  it("removes its copies while it is paused or stalled", async () => {
    const [paused, stalled] = [await makeSynced(), await makeSynced()];
    await api.merge(paused.source.path, {
      metadata: { annotations: { [annotations.disableSync]: "true" } },
    });
    await api.merge(stalled.source.path, {
      metadata: { annotations: { [annotations.disableSync]: "perhaps" } },
    });
    for (const { source, copy } of [paused, stalled]) {
      await becomes("the option to be seen", () => view(source), {
        conditions: { Synced: { status: "False" } },
      });
      await api.delete(source.path);
      await becomesGone(source.path);
      await becomesGone(copy);
    }
  });

  it("does not wait for copies with finalizers of other controllers", async () => {
    const { source, copy } = await makeSynced();
    await api.merge(copy, { metadata: { finalizers: ["example.com/hold"] } });
    await api.delete(source.path);
    await becomesGone(source.path);
    expect(await api.find(copy)).toMatchObject({
      code: 200,
      metadata: { deletionTimestamp: expect.any(String) },
    });
    await api.merge(copy, { metadata: { finalizers: null } });
    await becomesGone(copy);
  });

  it("that is created again with the same name updates its former copies", async () => {
    const { source, project, copy } = await makeSynced();
    await api.delete(source.path);
    await becomesGone(source.path);
    const again = await makeSharedSecret({
      ...source,
      annotations: to(project),
      spec: { data: dataOf("again") },
    });
    await becomesCurrent({ source: again, copy }, dataOf("again"));
  });

  it("leaves no copy behind if a user removed its finalizer", async () => {
    const { source, copy } = await makeSynced();
    expect((await api.find(source.path)).metadata.finalizers).toEqual([cleanupFinalizer]);
    await api.merge(source.path, { metadata: { finalizers: null } });
    await api.orphan(source.path);
    await becomesGone(source.path);
    await becomesGone(copy);
  });
});
