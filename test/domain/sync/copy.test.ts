import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { parseSharedSecret } from "../../../src/api/shared-secret.ts";
import {
  copiedSource,
  copyManifest,
  copyOfText,
  isCurrent,
  isCopiedByUser,
  sourceFor,
  sourceOf,
} from "../../../src/domain/sync/copy.ts";
import {
  type CopyChanges,
  observedCopy,
  observedSource,
  target,
} from "../../support/observed-copies.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const data = { password: new SecretText("bmV3") };
const source = observedSource({
  metadata: { labels: { "argocd.argoproj.io/instance": "team" }, annotations: { theirs: "yes" } },
});

describe("the copy-of annotation of a Secret", () => {
  test.for<[string, string | undefined, object | undefined, boolean]>([
    [
      "names the source if it names this Secret",
      "team/db -> pay/db",
      { namespace: "team", name: "db" },
      false,
    ],
    [
      "is ignored if it names another Secret, because a user copied it",
      "team/db -> pay/other",
      undefined,
      true,
    ],
    ["is ignored if it names another namespace", "team/db -> play/db", undefined, true],
    ["is ignored if it is invalid", "team/db", undefined, false],
    ["is ignored with a third part", "team/db/x -> pay/db", undefined, false],
    ["is ignored if it is missing", undefined, undefined, false],
  ])("%s", ([, text, claimed, pasted]) => {
    const metadata = observedMetadata({
      ...target,
      annotations: text === undefined ? {} : { [annotations.copyOf]: text },
    });
    expect(copiedSource(metadata)).toEqual(claimed);
    expect(isCopiedByUser(metadata)).toBe(pasted);
  });

  test("is parsed as it is written", () => {
    const text = copyOfText(source.secret.metadata, target);
    expect(text).toBe("team/db -> pay/db");
    expect(
      copiedSource(observedMetadata({ ...target, annotations: { [annotations.copyOf]: text } })),
    ).toEqual({ namespace: "team", name: "db" });
  });

  test("has no namespace for objects without one", () => {
    expect(copyOfText({ name: "a" }, { name: "b" })).toBe("/a -> /b");
    expect(
      copiedSource(
        observedMetadata({ name: "b", annotations: { [annotations.copyOf]: "x/a -> y/b" } }),
      ),
    ).toBeUndefined();
  });
});

describe("a copy is current", () => {
  test.for<[string, CopyChanges, boolean]>([
    ["if nothing differs", {}, true],
    [
      "with additional labels and annotations",
      { labels: { theirs: "x" }, annotations: { theirs: "y" } },
      true,
    ],
    ["if a user made it immutable", { immutable: true }, true],
    ["but not with other data", { digest: "old" }, false],
    ["but not with another type", { type: "kubernetes.io/tls" }, false],
    [
      "but not with the uid of another source",
      { labels: { [labels.sourceUid]: "uid-other" } },
      false,
    ],
    ["but not without its annotation", { annotations: { [annotations.copyOf]: undefined } }, false],
    ["but not with a sync error", { annotations: { [annotations.syncError]: "why" } }, false],
  ])("%s", ([, changes, expected]) => {
    expect(isCurrent(observedCopy(source, changes), source)).toBe(expected);
  });
});

describe("labels and annotations of copies", () => {
  const copyMetadata = {
    labels: { tier: "gold" },
    annotations: { "kubed.appscode.com/sync": "" },
  };
  const marked = observedSource({ options: { copyMetadata } });

  test("make a copy differ without them", () => {
    expect(isCurrent(observedCopy(source), marked)).toBe(false);
    expect(isCurrent(observedCopy(source), source)).toBe(true);
  });

  test("are written beside those of others, with a record", () => {
    const { metadata } = copyManifest({ source: marked, data }, target, observedCopy(source));
    expect(metadata).toMatchObject({
      labels: { team: "blue", tier: "gold", [labels.sourceUid]: "uid-db" },
      annotations: {
        note: "kept",
        "kubed.appscode.com/sync": "",
        [annotations.copiedLabels]: "tier",
        [annotations.copiedAnnotations]: "kubed.appscode.com/sync",
      },
    });
    const copy = observedCopy(source, {
      labels: { ...metadata.labels },
      annotations: { ...metadata.annotations },
    });
    expect(isCurrent(copy, marked)).toBe(true);
    expect(isCurrent(copy, source)).toBe(false);
    expect(copyManifest({ source, data }, target, copy).metadata).toMatchObject({
      labels: { team: "blue", [labels.sourceUid]: "uid-db" },
      annotations: { note: "kept", [annotations.copyOf]: "team/db -> pay/db" },
    });
    expect(copyManifest({ source, data }, target, copy).metadata.labels).not.toHaveProperty("tier");
  });

  test("are limited to those that the namespace allows", () => {
    expect(sourceFor(marked, "kubed.appscode.com/*,tier")).toBe(marked);
    expect(sourceFor(source, undefined)).toBe(source);
    expect(sourceFor(marked, "tier").options.copyMetadata).toEqual({
      labels: { tier: "gold" },
      annotations: {},
    });
    const none = observedSource({
      options: { copyMetadata: { labels: {}, annotations: { "kubed.appscode.com/sync": "" } } },
    });
    expect(sourceFor(none, "").options).not.toHaveProperty("copyMetadata");
  });
});

describe("a copy is written", () => {
  test("with the data of the source and only Latchkey's metadata", () => {
    expect(copyManifest({ source, data }, target)).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        ...target,
        labels: { [labels.sourceUid]: "uid-db" },
        annotations: { [annotations.copyOf]: "team/db -> pay/db" },
      },
      type: "Opaque",
      data,
    });
  });

  test("over an existing copy by uid and resourceVersion, keeping other metadata and removing the sync error", () => {
    const owner = { apiVersion: "v1", kind: "Pod", name: "theirs", uid: "uid-theirs" };
    const standing = observedCopy(source, {
      digest: "old",
      immutable: true,
      ownerReferences: [owner],
      annotations: { [annotations.syncError]: "why" },
    });
    const over = { ...standing, metadata: { ...standing.metadata, finalizers: ["theirs"] } };
    const manifest = copyManifest({ source, data }, target, over);
    expect(manifest).toMatchObject({ immutable: true, data });
    expect(manifest.metadata).toEqual({
      ...target,
      uid: "uid-copy",
      resourceVersion: "7",
      finalizers: ["theirs"],
      ownerReferences: [owner],
      labels: { team: "blue", [labels.sourceUid]: "uid-db" },
      annotations: { note: "kept", [annotations.copyOf]: "team/db -> pay/db" },
    });
  });

  test("over a plain copy without empty fields", () => {
    const manifest = copyManifest(
      { source, data },
      target,
      observedCopy(source, { digest: "old" }),
    );
    expect(Object.keys(manifest.metadata).toSorted()).toEqual([
      "annotations",
      "labels",
      "name",
      "namespace",
      "resourceVersion",
      "uid",
    ]);
    expect(manifest).not.toHaveProperty("immutable");
  });
});

describe("the cached form of a SharedSecret", () => {
  const read = (values: readonly string[]) =>
    sourceOf(
      parseSharedSecret({
        metadata: { ...observedMetadata(), annotations: { theirs: "x" }, labels: { theirs: "x" } },
        spec: { data: Object.fromEntries(values.map((value, index) => [`k${index}`, value])) },
      }),
      { digest: "digest" },
    );

  test.for<[string, readonly string[], boolean]>([
    ["contains small data", ["YQ=="], true],
    ["contains data up to 8 kB", ["A".repeat(8 * 1024 - 102)], true],
    ["does not contain larger data", ["A".repeat(8 * 1024 - 101)], false],
    [
      "does not contain a hundred empty values, because keys have an overhead",
      new Array(100).fill(""),
      false,
    ],
    ["contains empty data", [], true],
  ])("%s", ([, values, hasData]) => {
    const source = read(values);
    expect(source).toMatchObject({ keys: values.length, digest: "digest" });
    expect("data" in source).toBe(hasData);
    expect(source.secret).not.toHaveProperty("data");
  });

  test("contains no foreign labels and annotations", () => {
    expect(read([]).secret.metadata).toMatchObject({ labels: {}, annotations: {} });
  });

  test("contains whether the data fits a Secret, even without the data", () => {
    const metadata = {
      ...observedMetadata(),
      annotations: { [annotations.syncToProjects]: "web" },
    };
    const source = sourceOf(
      parseSharedSecret({ metadata, spec: { data: { a: "AAAA".repeat(400_000) } } }),
      { digest: "digest" },
    );
    expect([source.data, source.options.problem?.reason]).toEqual([undefined, "TooLarge"]);
  });
});
