import fc from "fast-check";
import { annotations, labels } from "../../src/api/names.ts";
import { weighted } from "../support/weighted.ts";
import type { WalkSteps } from "./walk.ts";
import {
  changesTo,
  firstNamespaces,
  type NamespaceAction,
  namespaceAction,
  type WalkNamespace,
} from "./walk-namespaces.ts";
import type { Texts } from "../specification/raw.ts";

/** The SharedSecrets of a walk; one is in a project namespace. */
export const sourceNames = ["the-home/db", "the-home/api", "the-pay/db"] as const;

/** The Secrets of a walk; one has the name of the copies of a SharedSecret. */
export const secretNames = [
  "the-web/asking",
  "the-web/db",
  "the-pay/asking",
  "the-pay/db",
] as const;

/** Labels or annotations of which null removes one. */
type MarkChanges = Readonly<Record<string, string | null>>;

/** Metadata that is set. */
export interface MarkChange {
  readonly labels?: MarkChanges;
  readonly annotations?: MarkChanges;
}

/** A Secret as a user writes it. */
export interface WrittenSecret {
  readonly type: string;
  readonly immutable?: true;
  readonly data: Texts;
  readonly metadata: { readonly labels: Texts; readonly annotations: Texts };
}

/**
 * One action of a user; `at` is `namespace/name`. `put` creates an object or replaces it as a whole,
 * and so removes all marks of Latchkey.
 */
export type SecretAction =
  | { readonly do: "secret put"; readonly at: string; readonly secret: WrittenSecret }
  | {
      readonly do: "secret merge";
      readonly at: string;
      readonly body: {
        readonly metadata?: MarkChange;
        readonly data?: Texts | null;
        readonly immutable?: true;
      };
    }
  | { readonly do: "secret delete"; readonly at: string }
  | {
      readonly do: "shared put";
      readonly at: string;
      readonly data: Texts;
      readonly annotations: Texts;
    }
  | {
      readonly do: "shared merge";
      readonly at: string;
      readonly body: { readonly metadata: MarkChange };
    }
  | { readonly do: "shared delete"; readonly at: string; readonly byForce: boolean }
  | NamespaceAction;

/** What the values of a SharedSecret begin with, so that a value shows where it is from. */
export function valueOf(source: string, version: string): string {
  return `value of ${source}, ${version}`;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const docker = (text: string) => base64(JSON.stringify({ auths: { [text]: {} } }));

/** Data of a SharedSecret: of several types, too many to pick from, too large to cache, invalid. */
function dataOf(source: string): fc.Arbitrary<Texts> {
  const value = (version: string) => base64(valueOf(source, version));
  const parts = Array.from({ length: 256 }, (_, index) => [`part-${index}`, ""]);
  const certificate = { "tls.crt": value("certificate"), "tls.key": value("key") };
  const logins = { username: value("user"), ".dockerconfigjson": docker(valueOf(source, "login")) };
  const choices: readonly (readonly [weight: number, data: Texts])[] = [
    [4, { password: value("first"), user: value("user") }],
    [4, { password: value("second") }],
    [3, { ...certificate, password: value("first") }],
    [2, { "ssh-privatekey": value("key"), ...logins }],
    [1, {}],
    [1, { password: "" }],
    [1, { password: value("one of many"), ...Object.fromEntries(parts) }],
    [1, { password: value("x".repeat(20_000)) }],
    [1, { password: value("first"), "..": value("invalid") }],
  ];
  return weighted(...choices.map(([weight, data]) => [weight, fc.constant(data)] as const));
}

const often = <T>(usual: readonly T[], rare: readonly T[]): fc.Arbitrary<T> =>
  weighted([4, fc.constantFrom(...usual)], [1, fc.constantFrom(...rare)]);

const projectLists = often<string | null>(
  ["*", "web, pay-*", "web,pay-eu", "web"],
  ["pay-us", "nobody", "", "web pay", null],
);
const pauses = often<string | null>([null], ["true", "true", "false", "yes"]);
const secretNameOptions = often<string | null>([null], ["asking", "renamed", "Not_A_Name"]);
const pickLists = often<string | null>(
  [null, "PASS=password", "password"],
  ["password, user", "a=none", "", "a b=password", "a=password,a=user", "tls.crt,\ntls.key", ".."],
);

const sourceMarks = fc.record({
  [annotations.syncToProjects]: projectLists,
  [annotations.disableSync]: pauses,
  [annotations.syncSecretName]: secretNameOptions,
});

const withoutNulls = (given: MarkChanges): Texts =>
  Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  );

/** One entry of a record, as a change. */
const entryOf = (record: fc.Arbitrary<MarkChanges>): fc.Arbitrary<MarkChanges> =>
  fc
    .tuple(record, fc.nat({ max: 99 }))
    .map(([given, at]) =>
      Object.fromEntries([Object.entries(given)[at % Object.keys(given).length] ?? []]),
    );

// Most changes are of the first one: a walk is short.
const mostlyFirst = <T>([first, ...others]: readonly [T, ...T[]]): fc.Arbitrary<T> =>
  weighted([2, fc.constant(first)], [1, fc.constantFrom(...others)]);
const sourceAt = mostlyFirst(sourceNames);
const secretAt = mostlyFirst(secretNames);

const asking: fc.Arbitrary<MarkChanges> = weighted(
  [8, sourceAt],
  [1, fc.constantFrom("the-home/none", "/db", "the-home/", "db")],
).map(askingFor);

function askingFor(source: string): MarkChanges {
  const [namespace = "", name] = source.split("/");
  return name === undefined
    ? { [labels.sharedSecretName]: namespace, [labels.sharedSecretNamespace]: null }
    : { [labels.sharedSecretName]: name, [labels.sharedSecretNamespace]: namespace };
}
const notAsking = { [labels.sharedSecretName]: null, [labels.sharedSecretNamespace]: null };

const dockerType = "kubernetes.io/dockerconfigjson";

/** What users write into a Secret beside its marks. */
const ownData = {
  Opaque: {},
  "example.com/own": { former: base64("former") },
  "kubernetes.io/tls": { "tls.crt": "", "tls.key": "" },
  "kubernetes.io/basic-auth": { username: base64("own") },
  "kubernetes.io/ssh-auth": { "ssh-privatekey": base64("own") },
  [dockerType]: { ".dockerconfigjson": docker("own") },
  "helm.sh/release.v1": { release: base64("own") },
} as const satisfies Readonly<Record<string, Texts>>;

const types = often<keyof typeof ownData>(
  ["Opaque", "Opaque", "example.com/own", "kubernetes.io/tls"],
  ["kubernetes.io/basic-auth", "kubernetes.io/ssh-auth", dockerType, "helm.sh/release.v1"],
);

const writtenSecret: fc.Arbitrary<WrittenSecret> = fc
  .record({
    type: types,
    isImmutable: often([false], [true]),
    request: weighted([8, asking], [1, fc.constant(notAsking)]),
    syncKeys: pickLists,
    note: fc.constantFrom("one", "two"),
  })
  .map(({ type, isImmutable, request, syncKeys, note }) => ({
    type,
    ...(isImmutable ? { immutable: true } : {}),
    data: ownData[type],
    metadata: {
      labels: { "example.com/own": note, ...withoutNulls(request) },
      annotations: {
        "example.com/own": note,
        ...withoutNulls({ [annotations.syncKeys]: syncKeys }),
      },
    },
  }));

type SecretChange = Extract<SecretAction, { do: "secret merge" }>["body"];

const labelled = (given: MarkChanges): SecretChange => ({ metadata: { labels: given } });
const annotated = (given: MarkChanges): SecretChange => ({ metadata: { annotations: given } });

/** Latchkey's marks of a filled placeholder. */
const notFilled = { [annotations.copyOf]: null, [annotations.filled]: null };
const notAtAll = { ...notAsking, [labels.sourceUid]: null };

const lostMarks = fc.constantFrom<SecretChange[]>(
  labelled({ [labels.sourceUid]: null }),
  annotated({ [annotations.filled]: null }),
  annotated({ [annotations.copyOf]: null }),
  labelled(notAtAll),
  { metadata: { labels: notAtAll, annotations: notFilled } },
);

const secretChanges = weighted<SecretChange[]>(
  [4, asking.map(labelled)],
  [2, fc.constant(labelled(notAsking))],
  [3, pickLists.map((list) => annotated({ [annotations.syncKeys]: list }))],
  [1, pauses.map((pause) => annotated({ [annotations.disableSync]: pause }))],
  [2, fc.constant({ immutable: true as const })],
  [1, fc.constant({ data: null })],
  [2, fc.constant({ data: { password: base64("edited"), added: base64("added") } })],
  [2, lostMarks],
  [1, fc.constantFrom("three", null).map((note) => labelled({ "example.com/own": note }))],
);

const secretPut: fc.Arbitrary<SecretAction> = fc.record({
  do: fc.constant("secret put" as const),
  at: secretAt,
  secret: writtenSecret,
});

const sharedPut: fc.Arbitrary<SecretAction> = sourceAt.chain((at) =>
  fc.record({
    do: fc.constant("shared put" as const),
    at: fc.constant(at),
    data: dataOf(at),
    annotations: sourceMarks.map(withoutNulls),
  }),
);

const secretMerge: fc.Arbitrary<SecretAction> = fc.record({
  do: fc.constant("secret merge" as const),
  at: secretAt,
  body: secretChanges,
});

const sharedMerge: fc.Arbitrary<SecretAction> = fc.record({
  do: fc.constant("shared merge" as const),
  at: sourceAt,
  body: entryOf(sourceMarks).map((entry) => ({ metadata: { annotations: entry } })),
});

const sharedDelete: fc.Arbitrary<SecretAction> = fc.record({
  do: fc.constant("shared delete" as const),
  at: sourceAt,
  byForce: fc.boolean(),
});

/** At most one setting of a namespace is not the initial one. */
const namespaceChange: fc.Arbitrary<SecretAction> = fc
  .tuple(fc.constantFrom<WalkNamespace[]>("web", "web", "pay"), namespaceAction, fc.nat(4))
  .map(([name, { wants }, chance]) => {
    const { project, sync, syncFrom, platform } = wants;
    const changed = [{}, { syncFrom }, { project }, { sync }, { platform }][chance];
    return { do: "namespace", name, wants: { ...firstNamespaces[name], ...changed } };
  });

const actions = weighted<SecretAction[]>(
  [5, secretPut],
  [10, secretMerge],
  [1, fc.record({ do: fc.constant("secret delete" as const), at: secretAt })],
  [4, sharedPut],
  [4, sharedMerge],
  [2, sharedDelete],
  [1, namespaceAction],
  [3, namespaceChange],
);

/** Steps after which a placeholder is filled, and there is another SharedSecret to ask for. */
const opening = fc
  .tuple(dataOf(sourceNames[0]), dataOf(sourceNames[1]), writtenSecret)
  .map(([data, other, written]) => {
    const { immutable: _, ...secret } = written;
    const given = { [annotations.syncToProjects]: "*" };
    const metadata = { ...secret.metadata, labels: withoutNulls(askingFor(sourceNames[0])) };
    const steps: readonly SecretAction[] = [
      { do: "shared put", at: sourceNames[0], data, annotations: given },
      { do: "shared put", at: sourceNames[1], data: other, annotations: given },
      { do: "secret put", at: secretNames[0], secret: { ...secret, metadata } },
    ];
    return steps.map((action, at) => ({ action, settled: at === steps.length - 1 }));
  });

/** Steps with placeholders, their SharedSecrets and their namespaces. */
export const secretSteps: WalkSteps<SecretAction> = {
  names: fc.constant(""),
  opening,
  actions,
  maxSteps: 13,
};

/** A Secret that asks for a part of the first SharedSecret. */
export const askingSecret: WrittenSecret = {
  type: "Opaque",
  data: {},
  metadata: {
    labels: { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "the-home" },
    annotations: { [annotations.syncKeys]: "PASS=password" },
  },
};

/** A state in which every Secret that asks is filled: these steps follow each walk. */
export const rightSteps: readonly SecretAction[] = [
  ...changesTo(firstNamespaces),
  {
    do: "shared put",
    at: sourceNames[0],
    data: { password: base64(valueOf(sourceNames[0], "right")) },
    annotations: { [annotations.syncToProjects]: "web, pay-*" },
  },
  ...secretNames.flatMap((at): readonly SecretAction[] => [
    { do: "secret delete", at },
    { do: "secret put", at, secret: askingSecret },
  ]),
];
