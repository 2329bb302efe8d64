import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import {
  becomesReady,
  makeSharedSecret,
  makeTarget,
  secretPath,
  view,
} from "../support/shared-secret-requests.ts";
import {
  afterAnotherReconcile,
  becomesCurrent,
  becomesStalled,
  currentCopy,
  dataOf,
  makeSynced,
  stateOf,
  to,
} from "./sync-fixture.ts";

afterAll(expectNoTrouble);

const namespacePath = (name: string) => `/api/v1/namespaces/${name}`;

describe.concurrent("a copy exists only while source and namespace agree:", () => {
  const ends: { rule: string; end: (source: string) => object }[] = [
    {
      rule: "the namespace leaves its project",
      end: () => ({ labels: { [labels.project]: null } }),
    },
    {
      rule: "the namespace moves to another project",
      end: () => ({ labels: { [labels.project]: "another" } }),
    },
    {
      rule: "the namespace no longer accepts copies",
      end: () => ({ annotations: { [annotations.sync]: null } }),
    },
    {
      rule: "the namespace has a sync value other than enabled",
      end: () => ({ annotations: { [annotations.sync]: "true" } }),
    },
    {
      rule: "the namespace accepts copies only from another namespace",
      end: () => ({ annotations: { [annotations.syncFrom]: "elsewhere" } }),
    },
    {
      rule: "the namespace accepts copies from no namespace",
      end: () => ({ annotations: { [annotations.syncFrom]: "" } }),
    },
  ];
  it.each(ends)("$rule", async ({ end }) => {
    const { source, project, target, copy } = await makeSynced();
    await api.merge(namespacePath(target), { metadata: end(source.namespace) });
    await becomesGone(copy);
    await becomes("the status to follow", () => view(source), {
      conditions: { Ready: { status: "True" } },
      sync: { desired: 0, synced: 0 },
    });
    const again = {
      labels: { [labels.project]: project },
      annotations: {
        [annotations.sync]: "enabled",
        [annotations.syncFrom]: ` x, ${source.namespace} ,,y`,
      },
    };
    await api.merge(namespacePath(target), { metadata: again });
    await becomesCurrent({ source, copy });
    await becomes("the status to follow", () => view(source), {
      conditions: { Synced: { status: "True", reason: "Synced" } },
      sync: { desired: 1, synced: 1 },
    });
  });

  it("a namespace joins a project after the creation of the SharedSecret", async () => {
    const [namespace, target, project] = [
      await makeNamespace(),
      await makeNamespace(),
      unique("project"),
    ];
    const source = await makeSharedSecret({
      namespace,
      annotations: to(project),
      spec: { data: dataOf("first", "second") },
    });
    await becomesReady(source);
    const copy = secretPath(target, source.name);
    await api.merge(namespacePath(target), { metadata: { labels: { [labels.project]: project } } });
    await api.merge(namespacePath(target), { metadata: { annotations: { note: "nothing yet" } } });
    expect(await api.find(copy)).toMatchObject({ code: 404 });
    await api.merge(namespacePath(target), {
      metadata: { annotations: { [annotations.sync]: "enabled" } },
    });
    await becomesCurrent({ source, copy });
  });

  it("the SharedSecret removes the project from its list, and adds it again", async () => {
    const { source, project, copy } = await makeSynced();
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncToProjects]: `not-${project}` } },
    });
    await becomesGone(copy);
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncToProjects]: null } },
    });
    await becomes("the status to follow", () => view(source), {
      conditions: { Synced: { reason: "NotRequested" } },
      sync: { desired: 0 },
    });
    await api.merge(source.path, { metadata: { annotations: to(project) } });
    await becomesCurrent({ source, copy });
  });
});

describe.concurrent("the projects of a SharedSecret", () => {
  const suffixes = ["web", "webshop", "pay", "pay-eu", "pay-us.1", "shop"];
  const globs: { globs: (p: string) => string; hit: string[] }[] = [
    { globs: (p) => `${p}-web, ${p}-pay-*`, hit: ["web", "pay-eu", "pay-us.1"] },
    { globs: (p) => `${p}-*s*`, hit: ["webshop", "pay-us.1", "shop"] },
    { globs: (p) => ` ,${p}-w*b,`, hit: ["web"] },
    { globs: () => "*", hit: suffixes },
    { globs: (p) => `${p.toUpperCase()}-*, ${p}`, hit: [] },
  ];
  it.each(globs)(
    "are those whose whole name matches a glob: $hit",
    async ({ globs: write, hit }) => {
      const [prefix, namespace] = [unique("p"), await makeNamespace()];
      const targets = await Promise.all(
        suffixes.map(async (suffix) => ({
          suffix,
          target: await makeTarget(`${prefix}-${suffix}`, namespace),
        })),
      );
      const source = await makeSharedSecret({
        namespace,
        annotations: to(write(prefix)),
        spec: { data: dataOf("first") },
      });
      await becomesReady(source);
      const found = await Promise.all(
        targets.map(async ({ suffix, target }) =>
          (await api.find(secretPath(target, source.name))).code === 200 ? [suffix] : [],
        ),
      );
      expect(found.flat()).toEqual(
        hit.toSorted((one, other) => suffixes.indexOf(one) - suffixes.indexOf(other)),
      );
    },
  );
});

describe.concurrent("the options of a SharedSecret:", () => {
  it("the copy has the name of the option, and is renamed if the option changes", async () => {
    const { source, target, copy } = await makeSynced({
      [annotations.syncSecretName]: "db.credentials",
    });
    expect(await api.find(secretPath(target, source.name))).toMatchObject({ code: 404 });
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretName]: "another" } },
    });
    await becomesGone(copy);
    await becomesCurrent({ source, copy: secretPath(target, "another") });
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretName]: null } },
    });
    await becomesGone(secretPath(target, "another"));
    await becomesCurrent({ source, copy: secretPath(target, source.name) });
  });

  it("the copy is Opaque, and is recreated if the option sets another type", async () => {
    const { source, copy } = await makeSynced();
    const { type, metadata } = await api.find(copy);
    expect(type).toBe("Opaque");
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretType]: "example.com/credential" } },
    });
    await becomes("the type to follow", () => api.find(copy), {
      ...currentCopy(source, dataOf("first", "second")),
      type: "example.com/credential",
    });
    expect((await api.find(copy)).metadata.uid).not.toBe(metadata.uid);
    await becomesReady(source);
  });

  it("a type with missing keys is reported for the target, keeps the existing copy, and recovers", async () => {
    const { source, target, copy } = await makeSynced();
    const before = await stateOf(copy);
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretType]: "kubernetes.io/tls" } },
    });
    const failure = {
      namespace: target,
      name: source.name,
      reason: "Invalid",
      message: expect.stringContaining("tls.crt"),
    };
    await becomes("the refusal to be reported", () => view(source), {
      conditions: { Ready: { status: "True" }, Synced: { status: "False", reason: "Failed" } },
      sync: { desired: 1, synced: 0, failed: 1, failures: [failure] },
    });
    const says = { [annotations.syncError]: expect.stringContaining("tls.crt") };
    await becomes(
      "the copy to say why",
      async () => (await api.find(copy)).metadata.annotations,
      says,
    );
    expect(await stateOf(copy)).toMatchObject({
      ...before,
      resourceVersion: expect.any(String),
      annotations: says,
    });
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretType]: null } },
    });
    await becomesCurrent({ source, copy });
    await becomes(
      "the copy to say so no more",
      async () => annotations.syncError in ((await api.find(copy)).metadata.annotations ?? {}),
      false,
    );
    await becomes("the status to follow", () => view(source), {
      conditions: { Synced: { status: "True" } },
      sync: { failed: 0, synced: 1 },
    });
  });

  it("a type with missing keys does not keep the data of a source that may not sync here any more", async () => {
    const { source, project, copy } = await makeSynced();
    // Of two SharedSecrets of the same second, the one with the lower uid is the older one.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const next = await makeSharedSecret({
      namespace: source.namespace,
      annotations: to(project, {
        [annotations.syncSecretName]: source.name,
        [annotations.syncSecretType]: "kubernetes.io/tls",
      }),
      spec: { data: dataOf("third") },
    });
    await becomes("the conflict to be reported", () => view(next), {
      sync: { failures: [expect.objectContaining({ reason: "OlderSource" })] },
    });
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncToProjects]: null } },
    });
    await becomesGone(copy);
    await becomes("the refusal to be reported", () => view(next), {
      sync: { desired: 1, synced: 0, failed: 1, failures: [{ reason: "Invalid" }] },
    });
    await api.merge(next.path, {
      metadata: { annotations: { [annotations.syncSecretType]: null } },
    });
    await becomesCurrent({ source: next, copy }, dataOf("third"));
  });

  const wrong: { option: string; value: string }[] = [
    { option: annotations.syncSecretType, value: "kubernetes.io/service-account-token" },
    { option: annotations.syncSecretType, value: "bootstrap.kubernetes.io/token" },
    { option: annotations.syncSecretType, value: "helm.sh/release.v1" },
    { option: annotations.syncSecretType, value: "" },
    { option: annotations.syncSecretName, value: "No Name" },
    { option: annotations.disableSync, value: "yes" },
  ];
  it.each(wrong)(
    "$option: $value stalls the source, and the copy is kept with an error annotation until it is fixed",
    async ({ option, value }) => {
      const { source, copy } = await makeSynced();
      const { uid } = (await api.find(copy)).metadata;
      await api.merge(source.path, {
        metadata: { annotations: { [option]: value } },
        spec: { data: { first: null } },
      });
      await becomesStalled({ source, copy }, "InvalidSyncOption", option);
      expect(await api.find(copy)).toMatchObject({
        metadata: { uid },
        type: "Opaque",
        data: dataOf("first", "second"),
      });

      await api.merge(source.path, { metadata: { annotations: { [option]: null } } });
      await becomesCurrent({ source, copy }, dataOf("second"));
      await becomesReady(source);
      expect((await api.find(copy)).metadata.annotations).not.toHaveProperty([
        annotations.syncError,
      ]);
    },
  );
});

describe.concurrent("disable-sync pauses", () => {
  const pause = { metadata: { annotations: { [annotations.disableSync]: "true" } } };
  const resume = { metadata: { annotations: { [annotations.disableSync]: null } } };

  it("on a SharedSecret: no new copy, no change, no repair", async () => {
    const synced = await makeSynced();
    const { source, project, copy } = synced;
    await api.merge(source.path, { ...pause, spec: { data: dataOf("third") } });
    await becomes("the pause to be reported", () => view(source), {
      settled: true,
      conditions: { Ready: { status: "True" }, Synced: { status: "False", reason: "Paused" } },
    });
    await api.merge(copy, { data: { first: null } });
    const [edited, late] = [await stateOf(copy), await makeTarget(project, source.namespace)];
    await afterAnotherReconcile({ ...synced, target: late });
    await afterAnotherReconcile(synced);
    expect(await stateOf(copy)).toEqual(edited);
    expect(await api.find(secretPath(late, source.name))).toMatchObject({ code: 404 });

    await api.merge(source.path, resume);
    const data = dataOf("first", "second", "third");
    await becomesCurrent({ source, copy }, data);
    await becomesCurrent({ source, copy: secretPath(late, source.name) }, data);
  });

  it("on a copy: only that copy", async () => {
    const synced = await makeSynced();
    const { source, project, copy } = synced;
    const other = secretPath(await makeTarget(project, source.namespace), source.name);
    await becomesCurrent({ source, copy: other });
    await api.merge(copy, { ...pause, data: { first: null, own: dataOf("own").own } });
    const paused = await stateOf(copy);
    await api.merge(source.path, { spec: { data: dataOf("third") } });
    await becomesCurrent({ source, copy: other }, dataOf("first", "second", "third"));
    await afterAnotherReconcile(synced);
    expect(await stateOf(copy)).toEqual(paused);
    await becomes("the paused copy not to count", () => view(source), {
      settled: true,
      conditions: { Synced: { status: "True" } },
      sync: { desired: 1, synced: 1 },
    });

    await api.merge(copy, resume);
    await becomesCurrent({ source, copy }, dataOf("first", "second", "third"));
  });
});
