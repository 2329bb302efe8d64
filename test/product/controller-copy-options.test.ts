import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { expectNoTrouble, expectWrites } from "./controller-oracle.ts";
import { becomes, becomesExactly } from "../support/becomes.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  type Place,
  secretPath,
  view,
} from "../support/shared-secret-requests.ts";
import { afterAnotherReconcile, dataOf, makeSynced, stateOf } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

const { allowCopyKeys, copiedAnnotations, copiedLabels, copyAnnotations, copyLabels } = annotations;

const namespacePath = (name: string) => `/api/v1/namespaces/${name}`;
const annotate = (given: Readonly<Record<string, string | null>>) => ({
  metadata: { annotations: given },
});
const relabel = (given: Readonly<Record<string, string | null>>) => ({
  metadata: { labels: given },
});

/** The labels and annotations of a copy, without those that every copy has. */
async function marksOf(copy: string): Promise<object> {
  const { metadata } = await api.find(copy);
  const { [labels.sourceUid]: _uid, ...others } = { ...metadata.labels };
  const { [annotations.copyOf]: _copyOf, ...notes } = { ...metadata.annotations };
  return { labels: others, annotations: notes };
}

/** Waits until a copy has exactly these labels and annotations besides those of every copy. */
async function becomesMarked(copy: string, marks: object): Promise<void> {
  await becomesExactly("the labels and annotations to follow", () => marksOf(copy), marks);
}

describe.concurrent("labels and annotations of copies", () => {
  const list = {
    [copyLabels]: "tier=gold, example.com/team=web",
    [copyAnnotations]: "reloader.example.com/match=true\nexample.com/list=a\\,b",
  };
  const marks = {
    labels: { tier: "gold", "example.com/team": "web" },
    annotations: {
      "reloader.example.com/match": "true",
      "example.com/list": "a,b",
      [copiedLabels]: "example.com/team,tier",
      [copiedAnnotations]: "example.com/list,reloader.example.com/match",
    },
  };

  const allowed = { [allowCopyKeys]: "tier, example.com/*, reloader.example.com/match" };

  it("are on a copy from its first write, and no further write follows", async () => {
    const synced = await makeSynced(list, allowed);
    const { source, target, copy } = synced;
    await becomesMarked(copy, marks);
    const written = await stateOf(copy);
    await api.merge(source.path, relabel({ unrelated: "yes" }));
    await api.merge(namespacePath(target), annotate({ unrelated: "yes" }));
    await afterAnotherReconcile(synced);
    expect(await stateOf(copy)).toEqual(written);
    await expectWrites({ target, name: source.name }, ["create"]);
  });

  it("follow the list: items come, change and go in one write each, and what others added stays", async () => {
    const synced = await makeSynced({}, allowed);
    const { source, target, copy } = synced;
    await api.merge(copy, {
      metadata: { labels: { theirs: "kept" }, annotations: { "example.com/theirs": "kept" } },
    });
    // Otherwise the first write may conflict with this edit.
    await afterAnotherReconcile(synced);
    await api.merge(source.path, annotate(list));
    const [theirLabels, theirNotes] = [{ theirs: "kept" }, { "example.com/theirs": "kept" }];
    await becomesMarked(copy, {
      labels: { ...marks.labels, ...theirLabels },
      annotations: { ...marks.annotations, ...theirNotes },
    });
    await api.merge(source.path, annotate({ [copyLabels]: "tier=tin" }));
    const { [copiedLabels]: _, ...others } = marks.annotations;
    await becomesMarked(copy, {
      labels: { tier: "tin", ...theirLabels },
      annotations: { ...others, [copiedLabels]: "tier", ...theirNotes },
    });
    await api.merge(source.path, annotate({ [copyLabels]: null, [copyAnnotations]: " , " }));
    await becomesMarked(copy, { labels: theirLabels, annotations: theirNotes });
    expect(await api.find(copy)).toMatchObject({ code: 200, data: dataOf("first", "second") });
    const writes = ["create", "update", "update", "update"];
    await expectWrites({ target, name: source.name }, writes);
  });

  const drifts: { rule: string; edit: object }[] = [
    { rule: "a label is changed", edit: relabel({ tier: "tin" }) },
    { rule: "a label is removed", edit: relabel({ "example.com/team": null }) },
    { rule: "an annotation is changed", edit: annotate({ "example.com/list": "c" }) },
    { rule: "an annotation is removed", edit: annotate({ "reloader.example.com/match": null }) },
    { rule: "the record of labels is changed", edit: annotate({ [copiedLabels]: "tier" }) },
    { rule: "the record of annotations is removed", edit: annotate({ [copiedAnnotations]: null }) },
    {
      rule: "the record names what Latchkey never sets",
      edit: annotate({
        [copiedLabels]: `${labels.sourceUid},tier`,
        [copiedAnnotations]: annotations.copyOf,
      }),
    },
  ];
  it.each(drifts)("are restored if $rule", async ({ edit }) => {
    const { copy } = await makeSynced(list, allowed);
    await becomesMarked(copy, marks);
    const { uid } = (await api.find(copy)).metadata;
    await api.merge(copy, edit);
    await becomesMarked(copy, marks);
    expect((await api.find(copy)).metadata.uid).toBe(uid);
  });

  it("are on a copy that is created again because its type changes", async () => {
    const { source, copy } = await makeSynced(list, allowed);
    await api.merge(source.path, annotate({ [annotations.syncSecretType]: "example.com/new" }));
    await becomes("the type to follow", () => api.find(copy), { type: "example.com/new" });
    await becomesMarked(copy, marks);
  });

  it("that no list names are left out, arrive when the namespace allows them, and leave with the list", async () => {
    const acting = "istio/multiCluster";
    const { source, project, target, copy } = await makeSynced({
      ...list,
      [copyLabels]: `${list[copyLabels]}, ${acting}=true`,
    });
    const other = secretPath(await makeTarget(project, source.namespace), source.name);
    const nothing = { labels: {}, annotations: {} };
    const saysWhy = () =>
      becomes("the status to name the key and both fixes", () => view(source), {
        settled: true,
        conditions: {
          Synced: {
            status: "True",
            message: expect.stringContaining(
              `2 without key "tier", which is not allowed; add it to --copy-keys of latchkey controller, or to annotation ${allowCopyKeys} of the namespace`,
            ),
          },
        },
      });
    await saysWhy();
    await becomesMarked(copy, nothing);
    await api.merge(namespacePath(target), annotate({ [allowCopyKeys]: "istio/*" }));
    const acts = { labels: { [acting]: "true" }, annotations: { [copiedLabels]: acting } };
    await becomesMarked(copy, acts);
    await becomesMarked(other, nothing);
    await saysWhy();
    await api.merge(namespacePath(target), annotate(allowed));
    await becomesMarked(copy, marks);
    await api.merge(namespacePath(target), annotate({ [allowCopyKeys]: "*" }));
    await becomesMarked(copy, nothing);
  });

  const wrong: { rule: string; given: Readonly<Record<string, string>>; says: string }[] = [
    {
      rule: "a label of Kubernetes",
      given: { [copyLabels]: "app.kubernetes.io/instance=x" },
      says: '"app.kubernetes.io/instance=x" is invalid',
    },
    {
      rule: "an annotation of Latchkey",
      given: { [copyAnnotations]: `${annotations.copyOf}=x/y -> z/w` },
      says: "management.service are reserved",
    },
    {
      rule: "a label value that Kubernetes rejects",
      given: { [copyLabels]: "tier=a b" },
      says: "the value of a label must have",
    },
    {
      rule: "too many items",
      given: { [copyLabels]: Array.from({ length: 17 }, (_, at) => `k${at}=`).join() },
      says: "has 17 items",
    },
  ];
  it.each(wrong)(
    "with $rule stall the source, and its copies stay as they are",
    async ({ given, says }) => {
      const { source, copy } = await makeSynced(list, allowed);
      await becomesMarked(copy, marks);
      await api.merge(source.path, annotate(given));
      const trouble = { reason: "InvalidSyncOption", message: expect.stringContaining(says) };
      await becomes("the mistake to be reported", () => view(source), {
        settled: true,
        conditions: { Ready: { status: "False", ...trouble }, Stalled: { status: "True" } },
      });
      await becomes("the copy to say why", () => marksOf(copy), {
        ...marks,
        annotations: { ...marks.annotations, [annotations.syncError]: expect.any(String) },
      });
      await api.merge(source.path, annotate(list));
      await becomesReady(source);
      await becomesMarked(copy, marks);
    },
  );
});

describe.concurrent("the marks by which Argo CD tracks a SharedSecret", () => {
  const instance = "app.kubernetes.io/instance";
  const tracking = "argocd.argoproj.io/tracking-id";

  /** Both marks on a SharedSecret, as the methods `label` and `annotation+label` of Argo CD set them. */
  function tracked({ namespace, name }: Place): object {
    const id = `shop:management.service/SharedSecret:${namespace}/${name}`;
    return { metadata: { labels: { [instance]: "shop" }, annotations: { [tracking]: id } } };
  }

  it("are not on its copies, and cause no write", async () => {
    const synced = await makeSynced();
    const written = await stateOf(synced.copy);
    await api.merge(synced.source.path, tracked(synced.source));
    await afterAnotherReconcile(synced);
    expect(await stateOf(synced.copy)).toEqual(written);
    expect(await marksOf(synced.copy)).toEqual({ labels: {}, annotations: {} });
  });

  it("stay off the copies if copy-annotations lists the annotation", async () => {
    const { source, copy } = await makeSynced(
      { [copyAnnotations]: `${tracking}=shop,ours=yes` },
      { [allowCopyKeys]: "ours" },
    );
    await api.merge(source.path, tracked(source));
    await becomes("the status to name the key", () => view(source), {
      settled: true,
      conditions: {
        Synced: {
          status: "True",
          message: expect.stringContaining(`1 without key "${tracking}"`),
        },
      },
    });
    await becomesMarked(copy, {
      labels: {},
      annotations: { ours: "yes", [copiedAnnotations]: "ours" },
    });
  });

  it.each([
    ["copy-labels", copyLabels],
    ["copy-annotations", copyAnnotations],
  ])("stay off the copies if %s lists the label, in any namespace", async (_, list) => {
    const { source, target, copy } = await makeSynced();
    await api.merge(namespacePath(target), annotate({ [allowCopyKeys]: `${instance}, *` }));
    await api.merge(source.path, tracked(source));
    await api.merge(source.path, annotate({ [list]: `${instance}=shop` }));
    await becomes("the mistake to be reported", () => view(source), {
      settled: true,
      conditions: { Ready: { status: "False", reason: "InvalidSyncOption" } },
    });
    await becomes("the copy to say why", () => marksOf(copy), {
      annotations: { [annotations.syncError]: expect.stringContaining("reserved") },
    });
    const { labels: marked } = { labels: {}, ...(await marksOf(copy)) };
    expect(marked).toEqual({});
  });
});

describe.concurrent("sync-format", () => {
  const { syncFormat, syncFormatFrom, syncFormatKey, syncToProjects } = annotations;

  /** The data of a copy, decoded. */
  async function textsOf(copy: string): Promise<object> {
    const data = recordAt(await api.find(copy), "data");
    return Object.fromEntries(
      Object.keys(data).map((key) => [
        key,
        Buffer.from(stringAt(data, key) ?? "", "base64").toString(),
      ]),
    );
  }

  async function becomesText(copy: string, texts: object): Promise<void> {
    await becomesExactly("the derived text", () => textsOf(copy), texts);
  }

  it("replaces the data of copies with one key, follows the data, and gives the data back", async () => {
    const synced = await makeSynced();
    const { source, target, copy } = synced;
    await api.merge(
      source.path,
      annotate({ [syncFormat]: "dotenv", [syncFormatFrom]: "PASSWORD=first" }),
    );
    await becomesText(copy, { ".env": "PASSWORD='canary-first'\n" });
    await api.merge(source.path, { spec: { data: { first: base64("canary-it's") } } });
    await becomesText(copy, { ".env": `PASSWORD="canary-it's"\n` });
    const written = await stateOf(copy);
    await api.merge(source.path, { spec: { data: dataOf("second", "other") } });
    await becomesReady(source);
    await afterAnotherReconcile(synced);
    expect(await stateOf(copy)).toEqual(written);
    await api.merge(copy, { data: { ".env": base64("edited") } });
    await becomesText(copy, { ".env": `PASSWORD="canary-it's"\n` });
    await api.merge(
      source.path,
      annotate({ [syncFormat]: "json", [syncFormatKey]: "x.json", [syncFormatFrom]: "a=second" }),
    );
    await becomesText(copy, { "x.json": '{"a":"canary-second"}' });
    await api.merge(
      source.path,
      annotate({ [syncFormat]: null, [syncFormatKey]: null, [syncFormatFrom]: null }),
    );
    await becomes("the data itself", () => api.find(copy), { data: dataOf("second", "other") });
    const writes = ["create", "update", "update", "update", "update", "update"];
    await expectWrites({ target, name: source.name }, writes);
  });

  it("makes registry credentials of the type that pods pull images with", async () => {
    const project = unique("project");
    const namespace = await makeNamespace();
    const target = await makeTarget(project, namespace);
    const source = await makeSharedSecret({
      namespace,
      annotations: { [syncToProjects]: project, [syncFormat]: "dockerconfigjson" },
      spec: {
        data: {
          server: base64("images.example.com"),
          username: base64("pull"),
          password: base64("canary-1"),
        },
      },
    });
    const copy = secretPath(target, source.name);
    await becomes("the copy", () => api.find(copy), {
      code: 200,
      type: "kubernetes.io/dockerconfigjson",
    });
    const auth = base64("pull:canary-1");
    expect(await textsOf(copy)).toEqual({
      ".dockerconfigjson": `{"auths":{"images.example.com":{"username":"pull","password":"canary-1","auth":"${auth}"}}}`,
    });
  });

  it("derives data that is too large to stay in memory", async () => {
    const { source, copy } = await makeSynced();
    const long = `canary-${"x".repeat(100_000)}`;
    await api.merge(source.path, {
      ...annotate({ [syncFormat]: "json", [syncFormatFrom]: "first" }),
      spec: { data: { first: base64(long) } },
    });
    await becomesText(copy, { "data.json": JSON.stringify({ first: long }) });
  });

  it("with a value that the form cannot hold keeps the copies, and names the key without the value", async () => {
    const { source, copy } = await makeSynced();
    await api.merge(source.path, {
      ...annotate({ [syncFormat]: "dotenv" }),
      spec: { data: { first: base64("canary-\u0000") } },
    });
    const message = expect.stringMatching(/key "first" of spec.data has a value with a NUL byte/);
    await becomes("the refusal to be reported", () => view(source), {
      settled: true,
      conditions: { Ready: { status: "False", reason: "InvalidSyncOption", message } },
    });
    expect(JSON.stringify(await view(source))).not.toContain("canary");
    await becomes("the copy to say why", () => marksOf(copy), {
      annotations: { [annotations.syncError]: message },
    });
    expect(await api.find(copy)).toMatchObject({ data: dataOf("first", "second") });
    await api.merge(source.path, { spec: { data: dataOf("first") } });
    await becomesText(copy, { ".env": "first='canary-first'\nsecond='canary-second'\n" });
    await becomesReady(source);
  });
});

describe.concurrent("refresh-now", () => {
  const { refreshNow } = annotations;

  it("is complete when the status has its value, and writes no copy that is right", async () => {
    const synced = await makeSynced();
    const { source, copy } = synced;
    const written = await stateOf(copy);
    for (const value of ["first", "second"]) {
      await api.merge(source.path, annotate({ [refreshNow]: value }));
      await becomes("the refresh", () => view(source), { sync: { refreshed: value } });
    }
    const { metadata } = await api.find(source.path);
    await api.merge(source.path, annotate({ [refreshNow]: "second" }));
    await afterAnotherReconcile(synced);
    expect((await api.find(source.path)).metadata.resourceVersion).toBe(metadata.resourceVersion);
    expect(await stateOf(copy)).toEqual(written);
  });

  it("is complete without targets, and forgotten without the annotation", async () => {
    const source = await makeSharedSecret({
      namespace: await makeNamespace(),
      annotations: { [refreshNow]: "x".repeat(1_000) },
    });
    await becomes("the refresh", () => view(source), { sync: { refreshed: "x".repeat(256) } });
    await api.merge(source.path, annotate({ [refreshNow]: null }));
    await becomes(
      "the status to forget it",
      async () => "refreshed" in recordAt(await view(source), "sync"),
      false,
    );
  });
});
