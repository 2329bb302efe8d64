import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import type { Secret } from "../../../src/api/secret.ts";
import {
  followedData,
  hasNoSources,
  type ReadSourceSecret,
  unreadableData,
} from "../../../src/domain/sync/source-secret.ts";
import { observedSource } from "../../support/observed-copies.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const own = "latchkey-system";
const password = new SecretText("Y2FuYXJ5");

interface SourceChanges extends Partial<Omit<Secret, "metadata">> {
  readonly metadata?: Partial<Metadata>;
  /** The annotation data-for; undefined if there is none. */
  readonly dataFor?: string | undefined;
}

function source({ metadata = {}, dataFor = "db", ...changes }: SourceChanges = {}): Secret {
  const { annotations: others = {}, ...rest } = metadata;
  return {
    metadata: observedMetadata({
      namespace: "team",
      name: "source",
      uid: "uid-source",
      resourceVersion: "12",
      finalizers: [],
      annotations: { [annotations.dataFor]: dataFor, ...others },
      ...rest,
    }),
    ownerReferences: [],
    type: "Opaque",
    immutable: false,
    data: { password },
    ...changes,
  };
}

const withoutConsent = (changes: SourceChanges = {}) => source({ ...changes, dataFor: "other" });

function follower(name = "db", metadata: Partial<Metadata> = {}) {
  return observedSource({ metadata: { name, uid: `uid-${name}`, ...metadata } }).secret;
}

interface Judged {
  readonly secret?: ReturnType<typeof follower>;
  readonly keys?: ReadonlyMap<string, string>;
}

function judged(read: Secret | "gone", { secret = follower(), keys }: Judged = {}) {
  const answer: ReadSourceSecret =
    read === "gone" ? { kind: "gone" } : { kind: "there", secret: read };
  return followedData(secret, { name: "source", keys }, answer, own);
}

/** The verdict in a line: `data`, `withdrawn`, or the reason with a part of the sentence. */
function lineOf(data: ReturnType<typeof followedData>): string {
  if (data.kind === "data") return "data";
  const said = /^management.service\/data-from: Secret "[^"]+" ([^;]*)/.exec(data.message)?.[1];
  return data.kind === "withdrawn" ? `withdrawn ${said}` : `${data.reason} ${said}`;
}

const mark = (label: string) => ({ metadata: { labels: { [label]: "x" } } });
const copyOf = (to: string) => ({
  metadata: { annotations: { [annotations.copyOf]: `team/api -> ${to}` } },
});
const deleting = { metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } };
const noConsent = `withdrawn does not name this SharedSecret in its annotation ${annotations.dataFor}`;
const managed = "SourceInvalid is managed by Latchkey";
const named = (count: number) =>
  Array.from({ length: count }, (_, at) => (at === 0 ? "db" : `o${at}`)).join();

describe("what a SharedSecret has of the Secret that it follows", () => {
  test("is its data and its type, with the version that was judged", () => {
    expect(judged(source({ type: "kubernetes.io/tls", immutable: true }))).toEqual({
      kind: "data",
      metadata: { uid: "uid-source", resourceVersion: "12" },
      type: "kubernetes.io/tls",
      data: { password },
    });
  });

  test("is what data-from-keys picks, under the new names", () => {
    const [user, keys] = [new SecretText("dXNlcg=="), new Map([["PASS", "password"]])];
    expect(judged(source({ data: { password, user } }), { keys })).toMatchObject({
      data: { PASS: password },
    });
    expect(judged(source({ data: { password, user } }), { keys })).not.toHaveProperty("data.user");
    expect(lineOf(judged(source({ data: { user } }), { keys }))).toBe(
      'SourceInvalid has no data key "password"',
    );
    const inherited = new Map([["a", "constructor"]]);
    expect(lineOf(judged(source(), { keys: inherited }))).toBe(
      'SourceInvalid has no data key "constructor"',
    );
  });

  test.for<[string, Secret | "gone", string]>([
    ["no data at all", source({ data: {} }), "data"],
    ["no Secret", "gone", "SourceMissing does not exist"],
    ["one that is being deleted", source(deleting), "SourceMissing is being deleted"],
    ["a copy by its label", source(mark(labels.sourceUid)), managed],
    ["a copy by its annotation", source(copyOf("team/source")), managed],
    ["what a user has pasted of a copy", source(copyOf("pay/source")), "data"],
    ["a placeholder", source(mark(labels.sharedSecretName)), managed],
    ["half a placeholder", source(mark(labels.sharedSecretNamespace)), "data"],
    ["one of Latchkey itself", source(mark(labels.component)), managed],
    ["an entry of an outbox", source(mark(labels.outboxUid)), managed],
    ["the type of an outbox", source({ type: "management.service/outbox" }), managed],
    ["one that connects a cluster", source(mark(labels.cluster)), managed],
    ["no consent", source({ dataFor: "" }), noConsent],
    ["the consent for others", withoutConsent(), noConsent],
    [
      "a glob as the consent",
      source({ dataFor: "*" }),
      `SourceInvalid has an invalid annotation ${annotations.dataFor}`,
    ],
    ["16 names", source({ dataFor: named(16) }), "data"],
    [
      "17 names",
      source({ dataFor: named(17) }),
      `SourceInvalid has an invalid annotation ${annotations.dataFor}`,
    ],
    ["a certificate", source({ type: "kubernetes.io/tls" }), "data"],
    ["a registry", source({ type: "kubernetes.io/dockerconfigjson" }), "data"],
    ["an old registry", source({ type: "kubernetes.io/dockercfg" }), "data"],
    ["a login", source({ type: "kubernetes.io/basic-auth" }), "data"],
    ["a key of SSH", source({ type: "kubernetes.io/ssh-auth" }), "data"],
    ["another type", source({ type: "x.io/y" }), 'SourceInvalid has the type "x.io/y"'],
    ...[
      "kubernetes.io/service-account-token",
      "bootstrap.kubernetes.io/token",
      "helm.sh/release.v1",
    ].map((type): [string, Secret, string] => [
      `the type ${type}`,
      source({ type }),
      `SourceInvalid has the type "${type}", which Kubernetes or Helm interprets`,
    ]),
  ])("of %s", ([, read, expected]) => {
    expect(lineOf(judged(read))).toBe(expected);
  });

  test.for<[string, Partial<Record<"type" | "format", string>>, string, string]>([
    ["an option", { type: "x.io/y" }, "x.io/y", "data"],
    ["an option for another", { type: "x.io/other" }, "x.io/y", "data"],
    ["a format", { format: "dotenv" }, "x.io/y", "data"],
    ["an option", { type: "x.io/y" }, "helm.sh/release.v1", "SourceInvalid has the type"],
    [
      "a format",
      { format: "dotenv" },
      "kubernetes.io/service-account-token",
      "SourceInvalid has the type",
    ],
  ])("with %s: %j from the type %s", ([, options, type, expected]) => {
    const given = {
      ...(options.type === undefined ? {} : { [annotations.syncSecretType]: options.type }),
      ...(options.format === undefined ? {} : { [annotations.syncFormat]: options.format }),
    };
    const secret = follower("db", { annotations: given });
    expect(lineOf(judged(source({ type }), { secret }))).toContain(expected);
  });

  test("is nothing in a namespace without sources, whatever is there", () => {
    for (const namespace of ["kube-system", own, "latchkey-clusters", "latchkey-cluster-east"]) {
      expect(hasNoSources(namespace, own)).toBe(true);
      const secret = follower("db", { namespace });
      for (const read of [source(), withoutConsent(), "gone"] as const)
        expect(lineOf(judged(read, { secret }))).toBe(
          "SourceInvalid is in a namespace that has no sources",
        );
    }
    expect(["team", "kube-public", "latchkey", ""].map((one) => hasNoSources(one, own))).toEqual(
      Array(4).fill(false),
    );
  });

  test("says what becomes of copies, and how to withdraw them", () => {
    const { message } = { message: "", ...judged("gone") };
    expect(message).toBe(
      `${annotations.dataFrom}: Secret "team/source" does not exist; create it; ` +
        "copies keep their data until the annotation is removed",
    );
    expect(judged(withoutConsent())).toMatchObject({
      kind: "withdrawn",
      message: expect.stringMatching(/; add it to the list$/),
    });
    const unreadable = unreadableData(follower(), { name: "source", keys: undefined }, "is far");
    expect(lineOf(unreadable)).toBe("SourceInvalid is far");
  });

  test("says nothing of the values", () => {
    const reads = [source(deleting), withoutConsent(), source({ type: "x.io/y" })];
    const keys = new Map([["a", "missing"]]);
    for (const read of reads)
      expect(JSON.stringify([judged(read), judged(source(), { keys })])).not.toContain(
        SecretText.reveal(password),
      );
  });
});

/** Everything that is wrong with a Secret, in the order in which it is said. */
const wrongs: readonly (readonly [string, SourceChanges])[] = [
  ["SourceMissing is being deleted", deleting],
  [managed, mark(labels.sourceUid)],
  [noConsent, { dataFor: "other" }],
  ["SourceInvalid has the type", { type: "helm.sh/release.v1" }],
  ["SourceInvalid has the type", { type: "x.io/y" }],
  ["SourceInvalid has no data key", { data: {} }],
];

describe("of two things that are wrong, the first is said:", () => {
  const pairs = wrongs.flatMap((first, at) =>
    wrongs.slice(at + 1).map((second) => [first[0], second[0], first[1], second[1]] as const),
  );
  test.for(pairs)("%s, before %s", ([expected, , first, second]) => {
    const read = source({
      ...second,
      ...first,
      metadata: { ...second.metadata, ...first.metadata },
    });
    const keys = new Map([["a", "password"]]);
    expect(lineOf(judged(read, { keys }))).toContain(expected);
  });

  test("a consent that cannot be read is no withdrawal, and comes after what is managed", () => {
    const unreadable = { dataFor: "a b" };
    expect(lineOf(judged(source({ ...unreadable, type: "helm.sh/x" })))).toContain(
      "invalid annotation",
    );
    expect(lineOf(judged(source({ ...unreadable, ...mark(labels.sourceUid) })))).toBe(managed);
  });
});
