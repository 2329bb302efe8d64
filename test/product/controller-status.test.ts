import { afterAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, cleanupFinalizer } from "../../src/api/names.ts";
import { derivedIn, grantsOf } from "./derived-objects.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import {
  becomesReady,
  makeSharedSecret,
  makeTarget,
  may,
  secretPath,
  sharedSecretPath,
  view,
} from "../support/shared-secret-requests.ts";
import { becomesCurrent, dataOf, makeSecret, makeSynced, stateOf, to } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

describe.concurrent("the status of a SharedSecret", () => {
  it("is restored when a user changes it", async () => {
    const { source } = await makeSynced();
    await becomesReady(source);
    const forged = [
      {
        type: "Ready",
        status: "False",
        reason: "Forged",
        message: "by hand",
        lastTransitionTime: "2020-01-01T00:00:00Z",
      },
    ];
    await api.merge(`${source.path}/status`, {
      status: { conditions: forged, keys: 99, sync: null, access: { roles: 7 } },
    });
    await becomes(
      "the status to be true again",
      async () => JSON.stringify(await view(source)).includes("Forged"),
      false,
    );
    const now = await view(source);
    expect({ keys: now.keys, sync: now.sync, access: now.access }).toEqual({
      keys: 2,
      sync: { desired: 1, synced: 1, conflicts: 0, failed: 0 },
      access: { roles: 0, bindings: 0 },
    });
    expect(Object.values(now.conditions).map(({ status: value }) => value)).toEqual([
      "True",
      "True",
      "True",
    ]);
  });

  it("keeps lastTransitionTime of conditions that have not changed", async () => {
    const { source } = await makeSynced();
    const times = async () => (await view(source)).conditions;
    await becomesReady(source);
    const before = await times();
    await api.merge(source.path, { spec: { access: [{ users: ["carol"], verbs: ["get"] }] } });
    await becomes(
      "the message to change",
      async () => (await times()).AccessApplied?.message.includes("1 Role"),
      true,
    );
    await becomesReady(source);
    expect((await times()).Ready).toMatchObject({
      lastTransitionTime: Object(before.Ready).lastTransitionTime,
    });
  });

  it("is not written again if nothing changes", async () => {
    const { source, copy } = await makeSynced();
    await becomesReady(source);
    const before = await stateOf(source.path);
    await api.merge(copy, { metadata: { labels: { touched: "yes" } } });
    const marker = await makeSharedSecret({ namespace: source.namespace });
    await becomesReady(marker);
    expect(await stateOf(source.path)).toEqual(before);
  });

  it("lists ten failures and counts all", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const targets = await Promise.all(
      Array.from({ length: 12 }, () => makeTarget(project, namespace)),
    );
    await Promise.all(targets.map((target) => makeSecret(target, name)));
    const source = await makeSharedSecret({
      namespace,
      name,
      annotations: to(project),
      spec: { data: dataOf("first") },
    });
    const failures = targets
      .toSorted()
      .slice(0, 10)
      .map((target) => ({ namespace: target, name, reason: "NotManaged" }));
    await becomes("the conflicts to be reported", () => view(source), {
      settled: true,
      sync: { desired: 12, synced: 0, conflicts: 12, failures },
    });
  });
});

describe.concurrent("a SharedSecret", () => {
  it("gets its finalizer back if a user removes it", async () => {
    const { source, copy } = await makeSynced();
    await api.merge(source.path, { metadata: { finalizers: ["example.com/hold"] } });
    await becomes(
      "both finalizers",
      async () => [...((await api.find(source.path)).metadata.finalizers ?? [])].sort(),
      ["example.com/hold", cleanupFinalizer],
    );
    await api.merge(source.path, { metadata: { finalizers: [cleanupFinalizer] } });
    await api.delete(source.path);
    await becomesGone(source.path);
    expect(await api.find(copy)).toMatchObject({ code: 404 });
  });

  it("can have no spec, and can lose it", async () => {
    const [namespace, project, name] = [await makeNamespace(), unique("project"), unique("shared")];
    const copy = secretPath(await makeTarget(project, namespace), name);
    const body = { apiVersion, kind: "SharedSecret", metadata: { name, annotations: to(project) } };
    const { metadata } = await api.create(sharedSecretPath(namespace), body);
    const source = {
      namespace,
      name,
      uid: String(metadata.uid),
      path: sharedSecretPath(namespace, name),
    };
    await becomesReady(source);
    await becomesCurrent({ source, copy }, {});
    await api.merge(source.path, { spec: { data: dataOf("first"), owner: { user: "olga" } } });
    await becomesCurrent({ source, copy }, dataOf("first"));
    await api.merge(source.path, { spec: null });
    await becomesCurrent({ source, copy }, {});
    await becomes("no user to have a grant", () => grantsOf(source), []);
  });

  it.each([253, 63, 52, 51, 50])("can have a name of %i characters", async (length) => {
    const [namespace, project, name] = [
      await makeNamespace(),
      unique("project"),
      `${"long-name.".repeat(26).slice(0, length - 1)}x`,
    ];
    const target = await makeTarget(project, namespace);
    const source = await makeSharedSecret({
      namespace,
      name,
      annotations: to(project),
      spec: { data: dataOf("first"), access: [{ users: ["carol"], verbs: ["get"] }] },
    });
    await becomesReady(source);
    await becomesCurrent({ source, copy: secretPath(target, name) }, dataOf("first"));
    await becomes(
      "carol to be let in",
      () => may({ user: "carol" }, { verb: "get", namespace, name }),
      true,
    );
    const [role] = (await derivedIn(namespace)).roles;
    expect(role?.metadata.name.length).toBeLessThanOrEqual(63);
    expect(role?.metadata.annotations[annotations.source]).toBe(name);
  });

  it("can have 256 rules, with the longest names", async () => {
    const namespace = await makeNamespace();
    const access = Array.from({ length: 256 }, (_, index) => ({
      name: `rule ${index} `.padEnd(253, "x"),
      users: [`user-${index}`],
      verbs: ["get"],
    }));
    const source = await makeSharedSecret({ namespace, spec: { access } });
    await becomesReady(source);
    await becomes(
      "the last user to be let in",
      () => may({ user: "user-255" }, { verb: "get", namespace, name: source.name }),
      true,
    );
    await api.merge(source.path, {
      spec: { access: access.map((rule) => ({ ...rule, verbs: ["fly"] })) },
    });
    await becomes("all to be shut out", () => grantsOf(source), []);
    await becomes("the mistakes to be reported", () => view(source), {
      settled: true,
      conditions: { Stalled: { reason: "InvalidAccessRule" } },
    });
  });
});
