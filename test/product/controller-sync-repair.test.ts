import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { expectNoTrouble, expectWrites } from "./controller-oracle.ts";
import { becomes } from "../support/becomes.ts";
import { api, makeNamespace, patchTypes, unique, arrange } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  secretPath,
  view,
} from "../support/shared-secret-requests.ts";
import {
  afterAnotherReconcile,
  becomesCurrent,
  currentCopy,
  dataOf,
  makeSecret,
  makeSynced,
  stateOf,
  to,
  type Synced,
} from "./sync-fixture.ts";

afterAll(expectNoTrouble);

interface Edit {
  rule: string;
  edit: (synced: Synced) => Promise<unknown>;
}

const relabel = (given: Record<string, string | null> | null) => ({ metadata: { labels: given } });
const reannotate = (given: Record<string, string | null> | null) => ({
  metadata: { annotations: given },
});

const edits: Edit[] = [
  {
    rule: "a value is changed",
    edit: ({ copy }) =>
      api.merge(copy, { data: dataOf("first", "second"), stringData: { first: "other" } }),
  },
  { rule: "a key is added", edit: ({ copy }) => api.merge(copy, { data: dataOf("third") }) },
  { rule: "a key is removed", edit: ({ copy }) => api.merge(copy, { data: { first: null } }) },
  { rule: "all data is removed", edit: ({ copy }) => api.merge(copy, { data: null }) },
  { rule: "the label is lost", edit: ({ copy }) => api.merge(copy, relabel(null)) },
  {
    rule: "the label is lost and a value changed",
    edit: ({ copy }) => api.merge(copy, { ...relabel(null), data: { first: base64("other") } }),
  },
  {
    rule: "the label has another value",
    edit: ({ copy }) => api.merge(copy, relabel({ [labels.sourceUid]: "another" })),
  },
  { rule: "only the annotation is lost", edit: ({ copy }) => api.merge(copy, reannotate(null)) },
  {
    rule: "the annotation is invalid",
    edit: ({ copy }) => api.merge(copy, reannotate({ [annotations.copyOf]: "nothing" })),
  },
  {
    rule: "it has an outdated error annotation",
    edit: ({ copy }) => api.merge(copy, reannotate({ [annotations.syncError]: "long ago" })),
  },
  { rule: "it is deleted", edit: ({ copy }) => api.delete(copy) },
  {
    rule: "it is created again by a user with another type",
    edit: async ({ source, target, copy }) => {
      const { labels: given, annotations: notes } = (await api.find(copy)).metadata;
      await api.delete(copy);
      // If the controller is faster, there is nothing to repair.
      await makeSecret(target, source.name, {
        metadata: { name: source.name, labels: given, annotations: notes },
        type: "example.com/other",
      }).catch(() => undefined);
    },
  },
];

describe.concurrent("a copy is restored when", () => {
  it.each(edits)("$rule", async ({ edit }) => {
    const synced = await makeSynced();
    await edit(synced);
    await becomesCurrent(synced);
    await becomes(
      "no complaint to be left",
      async () => JSON.stringify(await api.find(synced.copy)).includes(annotations.syncError),
      false,
    );
    expect((await api.find(synced.copy)).type).toBe("Opaque");
    await becomesReady(synced.source);
  });

  it("its source changes and it is immutable: it is recreated", async () => {
    const { source, copy } = await makeSynced();
    const { uid } = (await api.merge(copy, { immutable: true })).metadata;
    await api.merge(copy, relabel({ [labels.sourceUid]: null }));
    await becomesCurrent({ source, copy });
    expect(await api.find(copy)).toMatchObject({ immutable: true, metadata: { uid } });
    await api.merge(source.path, { spec: { data: dataOf("third") } });
    await becomesCurrent({ source, copy }, dataOf("first", "second", "third"));
    expect((await api.find(copy)).metadata.uid).not.toBe(uid);
  });
});

describe.concurrent("a copy with a finalizer of another controller", () => {
  const hold = { metadata: { finalizers: ["example.com/hold"] } };
  const release = { metadata: { finalizers: null } };

  it("is recreated as soon as the finalizer is removed", async () => {
    const { source, copy } = await makeSynced();
    const { uid } = (await api.merge(copy, hold)).metadata;
    await api.delete(copy);
    await api.merge(source.path, { spec: { data: dataOf("third") } });
    await becomesCurrent({ source, copy }, dataOf("first", "second", "third"));
    expect((await api.find(copy)).metadata.uid).toBe(uid);
    await api.merge(copy, release);
    await becomes("another one", async () => (await api.find(copy)).metadata.uid !== uid, true);
    await becomesCurrent({ source, copy }, dataOf("first", "second", "third"));
  });

  it("gets its new type as soon as the finalizer is removed", async () => {
    const { source, copy } = await makeSynced();
    await api.merge(copy, hold);
    await api.merge(source.path, {
      metadata: { annotations: { [annotations.syncSecretType]: "example.com/other" } },
    });
    await becomes(
      "the deletion to be asked for",
      async () => (await api.find(copy)).metadata.deletionTimestamp !== undefined,
      true,
    );
    await becomes("the status to say that work is left", () => view(source), {
      conditions: {
        Ready: { status: "False", reason: "Progressing" },
        Reconciling: { status: "True" },
      },
    });
    await api.merge(copy, release);
    await becomes("the other type", () => api.find(copy), {
      ...currentCopy(source, dataOf("first", "second")),
      type: "example.com/other",
    });
    await becomesReady(source);
  });
});

describe.concurrent("labels and annotations that other users add to a copy", () => {
  const theirs = { labels: { team: "a" }, annotations: { "example.com/note": "b" } };

  it("are kept and cause no write", async () => {
    const synced = await makeSynced();
    await api.merge(synced.copy, { metadata: theirs });
    const before = await stateOf(synced.copy);
    await afterAnotherReconcile(synced);
    expect(await stateOf(synced.copy)).toEqual(before);
    await expectWrites({ target: synced.target, name: synced.source.name }, ["create"]);
  });

  it("are kept by a repair and by a change of the source", async () => {
    const { source, copy } = await makeSynced();
    await api.merge(copy, {
      metadata: { ...theirs, finalizers: ["example.com/hold"] },
      data: { first: null },
    });
    await becomesCurrent({ source, copy });
    await api.merge(source.path, { spec: { data: dataOf("third") } });
    await becomesCurrent({ source, copy }, dataOf("first", "second", "third"));
    expect(await api.find(copy)).toMatchObject({
      metadata: { ...theirs, finalizers: ["example.com/hold"] },
    });
    await api.merge(copy, { metadata: { finalizers: null } });
  });

  it("are not copied from the source", async () => {
    const synced = await makeSynced({ "example.com/note": "mine" });
    await api.merge(synced.source.path, { metadata: { labels: { mine: "yes" } } });
    await afterAnotherReconcile(synced);
    const {
      labels: given,
      annotations: notes,
      ownerReferences,
    } = (await api.find(synced.copy)).metadata;
    expect(Object.keys(given ?? {})).toEqual([labels.sourceUid]);
    expect(Object.keys(notes ?? {})).toEqual([annotations.copyOf]);
    expect(ownerReferences).toBeUndefined();
    await expectWrites({ target: synced.target, name: synced.source.name }, ["create"]);
  });
});

describe.concurrent("the data of a copy", () => {
  const binary = {
    "every.byte": Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString("base64"),
    random: randomBytes(10_001).toString("base64"),
    "not-utf8": Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28]).toString("base64"),
    line_breaks: base64("canary-one\r\ncanary-two\n\n"),
    ".dots..inside.": base64("canary-dots"),
    empty: "",
    "-": base64("canary-dash"),
  };

  it("is equal to that of its source, byte for byte", async () => {
    const [namespace, project] = [await makeNamespace(), unique("project")];
    const copy = secretPath(await makeTarget(project, namespace), "binary");
    const source = await makeSharedSecret({
      namespace,
      name: "binary",
      annotations: to(project),
      spec: { data: binary },
    });
    await becomesReady(source);
    expect((await api.find(copy)).data).toEqual(binary);
    expect(await view(source)).toMatchObject({ keys: Object.keys(binary).length });
  });

  it("changes in one write, regardless of the number of keys", async () => {
    const synced = await makeSynced();
    const { source, target, copy } = synced;
    const body = [{ op: "replace", path: "/spec/data", value: dataOf("third", "fourth", "fifth") }];
    await arrange({ method: "PATCH", path: source.path, type: patchTypes.json, body });
    await becomesCurrent({ source, copy }, dataOf("third", "fourth", "fifth"));
    await api.merge(source.path, { spec: { data: null } });
    await becomesCurrent({ source, copy }, {});
    await afterAnotherReconcile(synced);
    await expectWrites({ target, name: source.name }, ["create", "update", "update"]);
  });

  it("is not written again if only descriptions and access of the source change", async () => {
    const synced = await makeSynced();
    const before = await stateOf(synced.copy);
    await api.merge(synced.source.path, {
      spec: { description: "new words", access: [{ users: ["carol"], verbs: ["get"] }] },
    });
    await becomesReady(synced.source);
    await afterAnotherReconcile(synced);
    expect(await stateOf(synced.copy)).toEqual(before);
  });
});
