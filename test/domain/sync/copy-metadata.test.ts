import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import {
  allowsCopyKey,
  type CopyKeyRule,
  copyKeyRule,
} from "../../../src/domain/sync/copy-keys.ts";
import {
  allowedMetadata,
  type CopyMetadata,
  copyMetadataOf,
  hasCopyMetadata,
  withCopyMetadata,
  withheldKeys,
} from "../../../src/domain/sync/copy-metadata.ts";

const { copyAnnotations, copyLabels, copiedAnnotations, copiedLabels } = annotations;

describe("the key of a label or annotation of copies", () => {
  test.for<[string, CopyKeyRule]>([
    ["team", "free"],
    ["example.com/team", "free"],
    ["reloader.stakater.com/match", "free"],
    ["my-kubernetes.io/team", "free"],
    ["kubernetes.io.example.com/team", "free"],
    ["argoproj.io/x", "free"],
    ["management.service", "free"],
    ["kubernetes.io/service-account.name", "reserved"],
    ["app.kubernetes.io/instance", "reserved"],
    ["Kubectl.Kubernetes.IO/last-applied-configuration", "reserved"],
    ["k8s.io/x", "reserved"],
    ["resource.k8s.io/x", "reserved"],
    ["management.service/source-uid", "reserved"],
    ["x.management.service/y", "reserved"],
    ["argocd.argoproj.io/secret-type", "restricted"],
    ["ArgoCD.argoproj.io/secret-type", "restricted"],
    ["reflector.v1.k8s.emberstack.com/reflection-auto-enabled", "restricted"],
    ["replicator.v1.mittwald.de/replicate-to", "restricted"],
    ["kubed.appscode.com/sync", "restricted"],
    ["propagate.hnc.x-k8s.io/select", "restricted"],
    ["reconcile.external-secrets.io/managed", "restricted"],
    ["meta.helm.sh/release-name", "restricted"],
    ["kustomize.toolkit.fluxcd.io/name", "restricted"],
    ["synator/sync", "restricted"],
    ["vcluster.loft.sh/force-sync", "restricted"],
    ["management.cattle.io/project-scoped-secret", "restricted"],
  ])("%s is %s", ([key, rule]) => {
    expect(copyKeyRule(key)).toBe(rule);
  });

  const argo = "argocd.argoproj.io/secret-type";
  test.for<[string, string | undefined, boolean]>([
    ["not without the annotation", undefined, false],
    ["not by an empty list", "", false],
    ["by its name", ` x/y , ${argo} `, true],
    ["by its domain", "argocd.argoproj.io/*", true],
    ["not by another key", "argocd.argoproj.io/secret", false],
    ["not by the name of the domain", "argocd.argoproj.io", false],
    ["not by a star", "*", false],
    ["not by a parent domain", "argoproj.io/*", false],
    ["not by a list that is too long", `${argo},${",".repeat(4096)}`, false],
  ])("is allowed in a namespace %s", ([, list, expected]) => {
    expect(allowsCopyKey(list, argo)).toBe(expected);
  });
});

describe("the options copy-labels and copy-annotations", () => {
  test("set labels and annotations", () => {
    const given = {
      [copyLabels]: "team=web, example.com/tier=gold,empty=",
      [copyAnnotations]: 'reloader.stakater.com/match="true"\nexample.com/list=a\\,b',
    };
    expect(copyMetadataOf(given)).toEqual({
      kind: "metadata",
      metadata: {
        labels: { team: "web", "example.com/tier": "gold", empty: "" },
        annotations: { "reloader.stakater.com/match": '"true"', "example.com/list": "a,b" },
      },
    });
  });

  test("set nothing if they are missing or empty", () => {
    expect(copyMetadataOf({})).toEqual({ kind: "metadata" });
    expect(copyMetadataOf({ [copyLabels]: " ,\n" })).toEqual({ kind: "metadata" });
  });

  const long = "a".repeat(64);
  test.for<[string, string, string, string]>([
    ["without a value", copyLabels, "team", '"team" is invalid; must have the form key=value'],
    ["an empty key", copyLabels, "=x", "the key must be a qualified name"],
    ["a key with two slashes", copyAnnotations, "a/b/c=x", "the key must be a qualified name"],
    ["a key with a space", copyAnnotations, "a b=x", "the key must be a qualified name"],
    ["a key that begins with a dash", copyLabels, "-a=x", "the key must be a qualified name"],
    ["a name of 64 characters", copyLabels, `${long}=x`, "the key must be a qualified name"],
    [
      "a domain of 254 characters",
      copyLabels,
      `${"a.".repeat(126)}aa/x=x`,
      "the key must be a qualified name",
    ],
    ["a label whose domain has capitals", copyLabels, "A.example/x=x", "must be a qualified name"],
    ["a proto key", copyAnnotations, "__proto__=x", "the key must be a qualified name"],
    ["a reserved label", copyLabels, "kubernetes.io/a=b", "are reserved; remove the item"],
    ["a reserved annotation", copyAnnotations, "K8s.io/a=b", "are reserved; remove the item"],
    [
      "a key of Latchkey",
      copyAnnotations,
      "management.service/copy-of=team/db -> web/db",
      "are reserved; remove the item",
    ],
    ["a label value with a space", copyLabels, "a=b c", "the value of a label must have"],
    ["a label value of 64 characters", copyLabels, `a=${long}`, "the value of a label must have"],
    ["a label value that ends with a dot", copyLabels, "a=b.", "the value of a label must have"],
    ["a key twice", copyLabels, "a=b,a=c", 'has the key "a" twice'],
  ])("are refused with %s, which names annotation and item", ([, option, text, why]) => {
    const read = copyMetadataOf({ [option]: text });
    expect(read).toMatchObject({ kind: "refused", why: expect.stringContaining(why) });
    expect(read).toMatchObject({ why: expect.stringContaining(`${option}: `) });
  });

  test("accept an annotation whose domain has capitals, as Kubernetes does", () => {
    expect(copyMetadataOf({ [copyAnnotations]: "A.Example/x=" })).toMatchObject({
      metadata: { annotations: { "A.Example/x": "" } },
    });
  });
});

describe("a namespace", () => {
  const metadata: CopyMetadata = {
    labels: { team: "web", "argocd.argoproj.io/secret-type": "cluster" },
    annotations: { "kubed.appscode.com/sync": "" },
  };
  test.for<[string, string | undefined, CopyMetadata, readonly string[]]>([
    [
      "receives no restricted key by default",
      undefined,
      { labels: { team: "web" }, annotations: {} },
      ["argocd.argoproj.io/secret-type", "kubed.appscode.com/sync"],
    ],
    [
      "receives those that it allows",
      "kubed.appscode.com/*",
      { labels: { team: "web" }, annotations: { "kubed.appscode.com/sync": "" } },
      ["argocd.argoproj.io/secret-type"],
    ],
    [
      "receives all if it allows all",
      "kubed.appscode.com/sync,argocd.argoproj.io/secret-type",
      metadata,
      [],
    ],
  ])("%s", ([, allow, expected, withheld]) => {
    expect(allowedMetadata(metadata, allow)).toEqual(expected);
    expect(withheldKeys(metadata, allow)).toEqual(withheld);
  });

  test("receives nothing if every key is restricted", () => {
    expect(
      allowedMetadata({ labels: {}, annotations: { "synator/sync": "yes" } }, ""),
    ).toBeUndefined();
    expect(withheldKeys(undefined, "")).toEqual([]);
  });
});

describe("the labels and annotations of a copy", () => {
  const keys = fc.constantFrom("a", "b", "c", "example.com/d", "constructor");
  const texts = fc.dictionary(keys, fc.constantFrom("", "1", "2"));
  const wanted = fc.option(fc.record({ labels: texts, annotations: texts }), { nil: undefined });
  const theirs = fc.record({
    labels: fc.dictionary(fc.constantFrom("theirs", "a"), fc.constant("x")),
    annotations: fc.dictionary(
      fc.constantFrom("theirs", "b", copiedLabels, copiedAnnotations),
      fc.constantFrom("x", "a,b", "theirs-not", "management.service/copy-of"),
    ),
  });

  test("are current once they are written, whatever was there", () => {
    fc.assert(
      fc.property(theirs, wanted, (before, list) => {
        const written = withCopyMetadata(before, list);
        expect(hasCopyMetadata(written, list)).toBe(true);
        expect(withCopyMetadata(written, list)).toEqual(written);
      }),
    );
  });

  test("lose exactly those that an earlier list had set", () => {
    const others = { labels: { theirs: "x" }, annotations: { note: "kept" } };
    fc.assert(
      fc.property(wanted, wanted, (earlier, later) => {
        const first = withCopyMetadata(others, earlier);
        expect(withCopyMetadata(first, later)).toEqual(withCopyMetadata(others, later));
        expect(withCopyMetadata(first, undefined)).toEqual(others);
      }),
    );
  });

  test("record which keys are Latchkey's, in order", () => {
    const list = { labels: { b: "1", a: "2" }, annotations: { "example.com/d": "x" } };
    expect(withCopyMetadata({ labels: { theirs: "x" }, annotations: {} }, list)).toEqual({
      labels: { theirs: "x", a: "2", b: "1" },
      annotations: {
        "example.com/d": "x",
        [copiedLabels]: "a,b",
        [copiedAnnotations]: "example.com/d",
      },
    });
  });

  test("never lose what Latchkey never sets, whatever the record says", () => {
    const forged = {
      labels: { "management.service/source-uid": "u" },
      annotations: {
        "management.service/copy-of": "x",
        [copiedLabels]: "management.service/source-uid",
        [copiedAnnotations]: "management.service/copy-of,kubectl.kubernetes.io/x",
        "kubectl.kubernetes.io/x": "kept",
      },
    };
    expect(withCopyMetadata(forged, undefined)).toEqual({
      labels: { "management.service/source-uid": "u" },
      annotations: { "management.service/copy-of": "x", "kubectl.kubernetes.io/x": "kept" },
    });
  });

  test.for<[string, object]>([
    ["a value differs", { labels: { a: "2" }, annotations: { [copiedLabels]: "a" } }],
    ["a key is missing", { labels: {}, annotations: { [copiedLabels]: "a" } }],
    ["the record is missing", { labels: { a: "1" }, annotations: {} }],
    ["the record has more keys", { labels: { a: "1" }, annotations: { [copiedLabels]: "a,b" } }],
    [
      "there is a record of annotations",
      { labels: { a: "1" }, annotations: { [copiedLabels]: "a", [copiedAnnotations]: "b" } },
    ],
  ])("differ if %s", ([, copy]) => {
    const list = { labels: { a: "1" }, annotations: {} };
    expect(hasCopyMetadata({ labels: {}, annotations: {}, ...copy }, list)).toBe(false);
  });
});
