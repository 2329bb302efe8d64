import fc from "fast-check";
import { annotations, labels } from "../../src/api/names.ts";
import { entriesOf, firstNamespaces } from "./walk-state.ts";
import { type NamespaceWants, namespaceAction, type WalkNamespace } from "./walk-steps.ts";
import type { Texts } from "./walk-secret-world.ts";

/** The name of the walks with placeholders. */
export const placeholderKind = "Placeholder";

/** The SharedSecrets of a walk; one is in a project namespace. */
export const sourceNames = ["the-home/db", "the-home/api", "the-pay/db"] as const;

/** The Secrets of a walk; one has the name of the copies of a SharedSecret. */
export const secretNames = [
  "the-web/asking",
  "the-web/db",
  "the-pay/asking",
  "the-pay/db",
] as const;

/** Metadata that is set; null removes an entry. */
export interface MarkChange {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
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
        readonly data?: Readonly<Record<string, string | null>> | null;
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
  | { readonly do: "namespace"; readonly name: WalkNamespace; readonly wants: NamespaceWants };

/** An action, and whether the controller becomes idle before the next one. */
export interface SecretStep {
  readonly action: SecretAction;
  readonly settled: boolean;
}

/** What the values of a SharedSecret begin with, so that a value shows where it is from. */
export function valueOf(source: string, version: string): string {
  return `value of ${source}, ${version}`;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const docker = (text: string) => base64(JSON.stringify({ auths: { [text]: {} } }));

/** Data of a SharedSecret: of several types, too many to pick from, too large to cache, invalid. */
function dataOf(source: string): fc.Arbitrary<Texts> {
  const value = (version: string) => base64(valueOf(source, version));
  const choices: readonly (readonly [weight: number, data: Texts])[] = [
    [4, { password: value("first"), user: value("user") }],
    [4, { password: value("second") }],
    [3, { "tls.crt": value("certificate"), "tls.key": value("key"), password: value("first") }],
    [
      2,
      {
        "ssh-privatekey": value("key"),
        username: value("user"),
        ".dockerconfigjson": docker(valueOf(source, "login")),
      },
    ],
    [1, {}],
    [1, { password: "" }],
    [
      1,
      Object.fromEntries([
        ["password", value("one of many")],
        ...Array.from({ length: 256 }, (_, index) => [`part-${index}`, ""] as const),
      ]),
    ],
    [1, { password: value("x".repeat(20_000)) }],
    [1, { password: value("first"), "..": value("invalid") }],
  ];
  return fc.oneof(...choices.map(([weight, data]) => ({ weight, arbitrary: fc.constant(data) })));
}

const often = <T>(usual: readonly T[], rare: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...rare) },
  );

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

const withoutNulls = (given: Readonly<Record<string, string | null>>): Texts =>
  Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  );

/** One entry of a record, as a change. */
const entryOf = (
  record: fc.Arbitrary<Readonly<Record<string, string | null>>>,
): fc.Arbitrary<Readonly<Record<string, string | null>>> =>
  fc
    .tuple(record, fc.nat({ max: 99 }))
    .map(([given, at]) =>
      Object.fromEntries([Object.entries(given)[at % Object.keys(given).length] ?? []]),
    );

// Most changes are of the first one: a walk is short.
const mostlyFirst = <T>([first, ...others]: readonly [T, ...T[]]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(first) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
const sourceAt = mostlyFirst(sourceNames);
const secretAt = mostlyFirst(secretNames);

const asking: fc.Arbitrary<Readonly<Record<string, string | null>>> = fc
  .oneof(
    { weight: 8, arbitrary: sourceAt },
    { weight: 1, arbitrary: fc.constantFrom("the-home/none", "/db", "the-home/", "db") },
  )
  .map(askingFor);

function askingFor(source: string): Readonly<Record<string, string | null>> {
  const [namespace = "", name] = source.split("/");
  return name === undefined
    ? { [labels.sharedSecretName]: namespace, [labels.sharedSecretNamespace]: null }
    : { [labels.sharedSecretName]: name, [labels.sharedSecretNamespace]: namespace };
}
const notAsking = { [labels.sharedSecretName]: null, [labels.sharedSecretNamespace]: null };

/** What users write into a Secret beside its marks. */
const ownData = {
  Opaque: {},
  "example.com/own": { former: base64("former") },
  "kubernetes.io/tls": { "tls.crt": "", "tls.key": "" },
  "kubernetes.io/basic-auth": { username: base64("own") },
  "kubernetes.io/ssh-auth": { "ssh-privatekey": base64("own") },
  "kubernetes.io/dockerconfigjson": { ".dockerconfigjson": docker("own") },
  "helm.sh/release.v1": { release: base64("own") },
} as const satisfies Readonly<Record<string, Texts>>;

const types = often<keyof typeof ownData>(
  ["Opaque", "Opaque", "example.com/own", "kubernetes.io/tls"],
  [
    "kubernetes.io/basic-auth",
    "kubernetes.io/ssh-auth",
    "kubernetes.io/dockerconfigjson",
    "helm.sh/release.v1",
  ],
);

const writtenSecret: fc.Arbitrary<WrittenSecret> = fc
  .record({
    type: types,
    isImmutable: often([false], [true]),
    request: fc.oneof(
      { weight: 8, arbitrary: asking },
      { weight: 1, arbitrary: fc.constant(notAsking) },
    ),
    syncKeys: often<string | null>([null], [null]).chain(() => pickLists),
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

/** Latchkey's marks of a filled placeholder. */
const allMarks: MarkChange = {
  labels: { ...notAsking, [labels.sourceUid]: null },
  annotations: { [annotations.copyOf]: null, [annotations.filled]: null },
};

type SecretChange = Extract<SecretAction, { do: "secret merge" }>["body"];

const secretChanges: fc.Arbitrary<SecretChange> = fc.oneof(
  { weight: 4, arbitrary: asking.map((given) => ({ metadata: { labels: given } })) },
  { weight: 2, arbitrary: fc.constant({ metadata: { labels: notAsking } }) },
  {
    weight: 3,
    arbitrary: pickLists.map((list) => ({
      metadata: { annotations: { [annotations.syncKeys]: list } },
    })),
  },
  {
    weight: 1,
    arbitrary: pauses.map((pause) => ({
      metadata: { annotations: { [annotations.disableSync]: pause } },
    })),
  },
  { weight: 2, arbitrary: fc.constant({ immutable: true as const }) },
  { weight: 1, arbitrary: fc.constant({ data: null }) },
  {
    weight: 2,
    arbitrary: fc.constant({ data: { password: base64("edited"), added: base64("added") } }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<SecretChange[]>(
      { metadata: { labels: { [labels.sourceUid]: null } } },
      { metadata: { annotations: { [annotations.filled]: null } } },
      { metadata: { annotations: { [annotations.copyOf]: null } } },
      { metadata: { labels: { ...notAsking, [labels.sourceUid]: null } } },
      { metadata: allMarks },
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("three", null)
      .map((note) => ({ metadata: { labels: { "example.com/own": note } } })),
  },
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

const actions: fc.Arbitrary<SecretAction> = fc.oneof(
  { weight: 5, arbitrary: secretPut },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("secret merge" as const),
      at: secretAt,
      body: secretChanges,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("secret delete" as const), at: secretAt }) },
  { weight: 4, arbitrary: sharedPut },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("shared merge" as const),
      at: sourceAt,
      body: entryOf(sourceMarks).map((entry) => ({ metadata: { annotations: entry } })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("shared delete" as const),
      at: sourceAt,
      byForce: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: namespaceAction },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom<WalkNamespace[]>("web", "web", "pay"), namespaceAction, fc.nat(3))
      .map(([name, { wants }, chance]) => ({
        do: "namespace" as const,
        name,
        wants:
          [
            firstNamespaces[name],
            { ...firstNamespaces[name], syncFrom: wants.syncFrom },
            { ...firstNamespaces[name], project: wants.project },
            { ...firstNamespaces[name], sync: wants.sync },
          ][chance] ?? wants,
      })),
  },
);

/** Steps after which a placeholder is filled, and there is another SharedSecret to ask for. */
const openings: fc.Arbitrary<readonly SecretAction[]> = fc
  .tuple(dataOf(sourceNames[0]), dataOf(sourceNames[1]), writtenSecret)
  .map(([data, other, written]) => {
    const { immutable: _, ...secret } = written;
    const given = { [annotations.syncToProjects]: "*" };
    const metadata = { ...secret.metadata, labels: withoutNulls(askingFor(sourceNames[0])) };
    return [
      { do: "shared put", at: sourceNames[0], data, annotations: given },
      { do: "shared put", at: sourceNames[1], data: other, annotations: given },
      { do: "secret put", at: secretNames[0], secret: { ...secret, metadata } },
    ];
  });

/** Walks with placeholders, their SharedSecrets and their namespaces. */
export function secretWalks({
  maxSteps,
}: {
  readonly maxSteps: number;
}): fc.Arbitrary<readonly SecretStep[]> {
  const settled = fc.integer({ min: 0, max: 9 }).map((chance) => chance < 7);
  const step = fc.record({ action: actions, settled });
  return fc
    .tuple(openings, fc.array(step, { minLength: 1, maxLength: maxSteps - 3, size: "max" }))
    .map(([opening, rest]) => [
      ...opening.map((action, at) => ({ action, settled: at === opening.length - 1 })),
      ...rest,
    ]);
}

/** A state in which every Secret that asks is filled: these steps follow each walk. */
export const rightSteps: readonly SecretAction[] = [
  ...entriesOf(firstNamespaces).map(([name, wants]): SecretAction => ({
    do: "namespace",
    name,
    wants,
  })),
  {
    do: "shared put",
    at: sourceNames[0],
    data: { password: base64(valueOf(sourceNames[0], "right")) },
    annotations: { [annotations.syncToProjects]: "web, pay-*" },
  },
  ...secretNames.flatMap((at): readonly SecretAction[] => [
    { do: "secret delete", at },
    {
      do: "secret put",
      at,
      secret: {
        type: "Opaque",
        data: {},
        metadata: {
          labels: {
            [labels.sharedSecretName]: "db",
            [labels.sharedSecretNamespace]: "the-home",
          },
          annotations: { [annotations.syncKeys]: "PASS=password" },
        },
      },
    },
  ]),
];
