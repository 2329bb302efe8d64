import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import {
  allowedCopyKeys,
  copyKeyFilter,
  isReservedKey,
  allowedMetadata,
  type CopyMetadata,
  copyMetadataOf,
  hasCopyMetadata,
  withCopyMetadata,
  withheldKeys,
} from "../../../src/domain/sync/copy-metadata.ts";

const { copyAnnotations, copyLabels, copiedAnnotations, copiedLabels } = annotations;
const long = `team,${",".repeat(4096)}`;

describe("the key of a label or annotation", () => {
  test.for<[string, boolean]>([
    ["team", false],
    ["grafana_datasource", false],
    ["example.com/team", false],
    ["cluster.x-k8s.io/cluster-name", false],
    ["my-kubernetes.io/team", false],
    ["kubernetes.io.example.com/team", false],
    ["management.service", false],
    ["kubernetes.io/service-account.name", true],
    ["app.kubernetes.io/instance", true],
    ["Kubectl.Kubernetes.IO/last-applied-configuration", true],
    ["k8s.io/x", true],
    ["resource.k8s.io/x", true],
    ["management.service/source-uid", true],
    ["x.management.service/y", true],
  ])("%s is reserved: %s", ([key, expected]) => {
    expect(isReservedKey(key)).toBe(expected);
  });

  const argo = "argocd.argoproj.io/secret-type";
  test.for<[string, string, string | undefined, boolean]>([
    ["not without a list", "team", undefined, false],
    ["not by an empty list", argo, "", false],
    ["by its name", argo, ` x/y , ${argo} `, true],
    ["by its name without a domain", "team", "x,team", true],
    ["by its domain", argo, "argocd.argoproj.io/*", true],
    ["by its domain in capitals", "ArgoCD.argoproj.io/secret-type", "argocd.argoproj.io/*", true],
    ["not by another key", argo, "argocd.argoproj.io/secret", false],
    ["not by the name of the domain", argo, "argocd.argoproj.io", false],
    ["not by a star", argo, "*", false],
    ["not without a domain by a star", "team", "*, /*, team/*", false],
    ["not by a parent domain", argo, "argoproj.io/*", false],
  ])("is allowed %s", ([, key, list, expected]) => {
    expect(copyKeyFilter(list)(key)).toBe(expected);
  });
});

describe("the keys that a namespace allows", () => {
  test.for<[string, string | undefined, readonly string[], string | undefined]>([
    ["are none without lists", undefined, [], undefined],
    ["are those of its annotation", "team, example.com/*", [], "team, example.com/*"],
    ["are those of the controller", undefined, ["team", "tier"], "team,tier"],
    ["are those of both", "team", ["tier"], "tier,team"],
    ["are only those of the controller if its annotation is too long", long, ["tier"], "tier"],
    ["are none if its annotation is too long", long, [], undefined],
  ])("%s", ([, annotation, everywhere, expected]) => {
    expect(allowedCopyKeys(annotation, everywhere)).toBe(expected);
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

  const name = "a".repeat(64);
  test.for<[string, string, string, string]>([
    ["without a value", copyLabels, "team", '"team" is invalid; must have the form key=value'],
    ["an empty key", copyLabels, "=x", "the key must be a qualified name"],
    ["a key with two slashes", copyAnnotations, "a/b/c=x", "the key must be a qualified name"],
    ["a key with a space", copyAnnotations, "a b=x", "the key must be a qualified name"],
    ["a key that begins with a dash", copyLabels, "-a=x", "the key must be a qualified name"],
    ["a name of 64 characters", copyLabels, `${name}=x`, "the key must be a qualified name"],
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
    ["a label value of 64 characters", copyLabels, `a=${name}`, "the value of a label must have"],
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
  test.for<[string, string | undefined, CopyMetadata | undefined, readonly string[]]>([
    [
      "receives no key that no list names",
      undefined,
      undefined,
      ["team", "argocd.argoproj.io/secret-type", "kubed.appscode.com/sync"],
    ],
    [
      "receives those that it allows",
      "kubed.appscode.com/*, team",
      { labels: { team: "web" }, annotations: { "kubed.appscode.com/sync": "" } },
      ["argocd.argoproj.io/secret-type"],
    ],
    [
      "receives all if it allows all",
      "kubed.appscode.com/sync,argocd.argoproj.io/secret-type,team",
      metadata,
      [],
    ],
  ])("%s", ([, allow, expected, withheld]) => {
    expect(allowedMetadata(metadata, allow)).toEqual(expected);
    expect(withheldKeys(metadata, allow)).toEqual(withheld);
  });

  test("has nothing to withhold from a source without labels and annotations", () => {
    expect(withheldKeys(undefined, "")).toEqual([]);
  });

  test("receives exactly the keys that it or the controller names", () => {
    const domains = ["", "a.example/", "b.a.example/", "A.example/"];
    const keys = domains.flatMap((domain) => ["x", "y"].map((name) => domain + name));
    const entries = fc.subarray([...keys, "a.example/*", "b.a.example/*", "*", "/*", ""]);
    const texts = fc.dictionary(fc.constantFrom(...keys), fc.constant("1"));
    const named = (key: string, list: readonly string[]): boolean =>
      list.includes(key) || list.includes(key.toLowerCase().replace(/\/.*$/, "/*"));
    fc.assert(
      fc.property(entries, entries, texts, texts, (own, everywhere, marks, notes) => {
        const given = { labels: marks, annotations: notes };
        const allow = allowedCopyKeys(own.join(", "), everywhere);
        const left = allowedMetadata(given, allow) ?? { labels: {}, annotations: {} };
        const all = [...Object.keys(marks), ...Object.keys(notes)];
        const kept = [...Object.keys(left.labels), ...Object.keys(left.annotations)];
        expect(kept).toEqual(all.filter((key) => named(key, [...own, ...everywhere])));
        expect(withheldKeys(given, allow)).toEqual(
          all.filter((key) => !named(key, [...own, ...everywhere])),
        );
      }),
    );
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
