import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { nextSecond } from "../support/eventually.ts";
import { expectNoTrouble, writesTo } from "./controller-oracle.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, makeNamespace, unique, type Answer } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  secretPath,
  view,
  type Place,
} from "../support/shared-secret-requests.ts";
import {
  afterAnotherReconcile,
  becomesCurrent,
  dataOf,
  makeSecret,
  makeSynced,
  stateOf,
  to,
} from "./sync-fixture.ts";

afterAll(expectNoTrouble);

/**
 * A conflict at a target: reported in the status, in Synced and in the message of Ready, while
 * Ready stays True.
 */
function conflictAt(namespace: string, name: string, reason = "NotManaged"): object {
  return {
    settled: true,
    conditions: {
      Ready: {
        status: "True",
        reason: "Ready",
        message: expect.stringContaining(`${namespace}/${name}`),
      },
      Synced: {
        status: "False",
        reason: "Conflict",
        message: expect.stringContaining(`${namespace}/${name}`),
      },
    },
    sync: { conflicts: 1, failures: [{ namespace, name, reason }] },
  };
}

describe.concurrent("a Secret that Latchkey did not create", () => {
  it("is reported and not changed, does not block other targets, and its deletion resolves the conflict", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const [target, free] = [
      await makeTarget(project, namespace),
      await makeTarget(project, namespace),
    ];
    await makeSecret(target, name, {
      metadata: { name, labels: { team: "a" } },
      type: "example.com/theirs",
    });
    const foreign = secretPath(target, name);
    const before = await stateOf(foreign);
    const source = await makeSharedSecret({
      namespace,
      name,
      annotations: to(project),
      spec: { data: dataOf("first", "second") },
    });
    await becomes("the conflict to be reported", () => view(source), conflictAt(target, name));
    await becomesCurrent({ source, copy: secretPath(free, name) });
    expect((await view(source)).sync).toMatchObject({ desired: 2, synced: 1, failed: 0 });

    await api.merge(source.path, { spec: { data: dataOf("third") } });
    await becomesCurrent(
      { source, copy: secretPath(free, name) },
      dataOf("first", "second", "third"),
    );
    await afterAnotherReconcile({ source, project, target, copy: foreign });
    expect(await stateOf(foreign)).toEqual(before);
    const touched = (writesTo(target, name) ?? []).filter((verb) => verb !== "create");
    expect(touched).toEqual([]);

    await api.delete(foreign);
    await becomesCurrent({ source, copy: foreign }, dataOf("first", "second", "third"));
    await becomes("the conflict to be over", () => view(source), {
      conditions: { Synced: { status: "True" } },
      sync: { conflicts: 0, synced: 2 },
    });
    expect((await view(source)).sync).not.toHaveProperty("failures");
  });

  it("is kept when the SharedSecret is deleted, and when the namespace leaves the project", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const target = await makeTarget(project, namespace);
    await makeSecret(target, name);
    const before = await stateOf(secretPath(target, name));
    const source = await makeSharedSecret({
      namespace,
      name,
      annotations: to(project),
      spec: { data: dataOf("first") },
    });
    await becomes("the conflict to be reported", () => view(source), conflictAt(target, name));
    await api.merge(`/api/v1/namespaces/${target}`, {
      metadata: { labels: { [labels.project]: null } },
    });
    await becomes("the conflict to be over", () => view(source), {
      conditions: { Synced: { status: "False", reason: "NoTargets" } },
      sync: { conflicts: 0, desired: 0 },
    });
    await api.delete(source.path);
    await becomesGone(source.path);
    expect(await stateOf(secretPath(target, name))).toEqual(before);
  });

  it("can be a former copy without label and annotation", async () => {
    const { source, target, copy } = await makeSynced();
    await api.merge(copy, {
      metadata: { labels: null, annotations: null },
      data: { own: base64("canary-own") },
    });
    const before = await stateOf(copy);
    await becomes(
      "the conflict to be reported",
      () => view(source),
      conflictAt(target, source.name),
    );
    expect(await stateOf(copy)).toEqual(before);
    await api.delete(source.path);
    await becomesGone(source.path);
    expect(await stateOf(copy)).toEqual(before);
  });

  it("is not overwritten when it is created while a copy is paused or deleted", async () => {
    const { source, target, copy } = await makeSynced();
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.disableSync]: "true" } },
    });
    await becomes("the pause to be reported", () => view(source), {
      conditions: { Synced: { reason: "Paused" } },
    });
    await api.delete(copy);
    await makeSecret(target, source.name);
    const before = await stateOf(copy);
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.disableSync]: "false" } },
    });
    await becomes(
      "the conflict to be reported",
      () => view(source),
      conflictAt(target, source.name),
    );
    expect(await stateOf(copy)).toEqual(before);
  });
});

describe.concurrent("a copy that a user created with the label and annotation of another one", () => {
  const pasted = ({ metadata, data, type }: Answer, name: string) => ({
    metadata: { name, labels: metadata.labels, annotations: metadata.annotations },
    data,
    type,
  });

  it("with another name is neither updated nor deleted", async () => {
    const synced = await makeSynced();
    const { source, target, copy } = synced;
    await makeSecret(target, "pasted", pasted(await api.find(copy), "pasted"));
    const before = await stateOf(secretPath(target, "pasted"));
    await api.merge(source.path, { spec: { data: dataOf("third") } });
    await becomesCurrent({ source, copy }, dataOf("first", "second", "third"));
    await afterAnotherReconcile(synced);
    await api.delete(source.path);
    await becomesGone(source.path);
    expect(await api.find(copy)).toMatchObject({ code: 404 });
    expect(await stateOf(secretPath(target, "pasted"))).toEqual(before);
  });

  it("in another namespace that accepts a copy blocks that copy", async () => {
    const { source, project, copy } = await makeSynced();
    const elsewhere = await makeTarget(`${project}-more`, source.namespace);
    await makeSecret(elsewhere, source.name, pasted(await api.find(copy), source.name));
    const before = await stateOf(secretPath(elsewhere, source.name));
    await api.merge(source.path, { metadata: { annotations: to(`${project}*`) } });
    await becomes(
      "the conflict to be reported",
      () => view(source),
      conflictAt(elsewhere, source.name),
    );
    expect((await view(source)).sync).toMatchObject({ desired: 2, synced: 1 });
    expect(await stateOf(secretPath(elsewhere, source.name))).toEqual(before);
  });

  it("of a deleted source is kept, while a real copy of that source is deleted", async () => {
    const { source, target, copy } = await makeSynced();
    const left = await api.find(copy);
    await api.delete(source.path);
    await becomesGone(source.path);
    await makeSecret(target, "pasted", pasted(left, "pasted"));
    await makeSecret(target, source.name, pasted(left, source.name));
    await becomesGone(copy);
    expect(await api.find(secretPath(target, "pasted"))).toMatchObject({
      code: 200,
      data: dataOf("first", "second"),
    });
  });
});

describe.concurrent("two sources with the same target", () => {
  /**
   * Creates the older one first; creation timestamps have whole seconds, so the newer one waits for
   * the next.
   */
  async function conflictingSources(): Promise<{
    older: Place;
    younger: Place;
    target: string;
    copy: string;
  }> {
    const [name, project, first, second] = [
      unique("shared"),
      unique("project"),
      await makeNamespace(),
      await makeNamespace(),
    ];
    const target = await makeTarget(project, `${first},${second}`);
    const older = await makeSharedSecret({
      namespace: first,
      name,
      annotations: to(project),
      spec: { data: dataOf("older") },
    });
    await nextSecond();
    const younger = await makeSharedSecret({
      namespace: second,
      name,
      annotations: to(project),
      spec: { data: dataOf("younger") },
    });
    return { older, younger, target, copy: secretPath(target, name) };
  }

  it("are both reported: the older one owns the target, and the newer one takes over when the older one is deleted", async () => {
    const { older, younger, target, copy } = await conflictingSources();
    await becomes(
      "the younger to say so",
      () => view(younger),
      conflictAt(target, younger.name, "OlderSource"),
    );
    expect((await view(younger)).conditions.Ready?.message).toContain(
      `${older.namespace}/${older.name}`,
    );
    await becomes("the older to say so", () => view(older), {
      conditions: {
        Ready: {
          status: "True",
          message: expect.stringContaining(`${younger.namespace}/${younger.name}`),
        },
        Synced: { status: "True" },
      },
      sync: { synced: 1 },
    });
    await becomesCurrent({ source: older, copy }, dataOf("older"));
    await api.merge(younger.path, { spec: { data: dataOf("again") } });
    await becomes(
      "the change to be seen",
      () => view(younger),
      conflictAt(target, younger.name, "OlderSource"),
    );
    await becomesCurrent({ source: older, copy }, dataOf("older"));

    await api.delete(older.path);
    await becomesCurrent({ source: younger, copy }, dataOf("again", "younger"));
    await becomes("the conflict to be over", () => view(younger), {
      conditions: { Synced: { status: "True" } },
      sync: { synced: 1, conflicts: 0 },
    });
  });

  it("the newer one takes over if the older one changes its target, and yields if that is reverted", async () => {
    const { older, younger, copy } = await conflictingSources();
    await api.merge(older.path, {
      metadata: { annotations: { [annotations.syncSecretName]: "elsewhere" } },
    });
    await becomesCurrent({ source: younger, copy }, dataOf("younger"));
    await becomes(
      "the older to report no conflict",
      async () => (await view(older)).conditions.Ready?.message.includes("younger"),
      false,
    );
    await api.merge(older.path, {
      metadata: { annotations: { [annotations.syncSecretName]: null } },
    });
    await becomesCurrent({ source: older, copy }, dataOf("older"));
  });

  it("are ordered by creation time even if one sets the name by an option", async () => {
    const { source, project, target, copy } = await makeSynced();
    await api.merge(`/api/v1/namespaces/${target}`, {
      metadata: { annotations: { [annotations.syncFrom]: null } },
    });
    await nextSecond();
    const given = to(project, { [annotations.syncSecretName]: source.name });
    const younger = await makeSharedSecret({
      namespace: await makeNamespace(),
      annotations: given,
      spec: { data: dataOf("younger") },
    });
    await becomes(
      "the younger to say so",
      () => view(younger),
      conflictAt(target, source.name, "OlderSource"),
    );
    await becomesCurrent({ source, copy });
    await becomesReady(source);
  });
});
