import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import { explain, explainGone, explainSource } from "../../../src/domain/sync/explain.ts";
import type { OutcomeKind } from "../../../src/domain/sync/outcome.ts";
import { outcomeTexts } from "../../../src/domain/sync/outcome-texts.ts";
import { emptyProjectItems, sourceItem, targetItem } from "../../../src/domain/sync/sync-report.ts";
import { syncObjectsOf } from "../../../src/domain/sync/sync-objects.ts";
import { readNamespace } from "../../../src/domain/sync/obstacles.ts";
import { placeOf } from "../../../src/domain/report-object.ts";
import {
  observedCopy,
  observedSource,
  type SourceChanges,
  target,
  unmanagedSecret,
} from "../../support/observed-copies.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { elsewhere, live, older, paused } from "../sync-situations.ts";
import type { StoredSecret } from "../sync-world.ts";
import { outcomeSentence } from "../../support/outcome-sentence.ts";

interface Situation {
  readonly source?: SourceChanges;
  readonly others?: readonly ReturnType<typeof observedSource>[];
  /** Changes of a namespace that accepts the copy; undefined if it does not exist. */
  readonly namespace?: Partial<Metadata> | "missing";
  readonly requireSyncFrom?: boolean;
  readonly copyKeys?: readonly string[];
  readonly secret?: StoredSecret;
}

const pay = { name: "pay", labels: { [labels.project]: "web" } };
const asks = { [annotations.sync]: "enabled" };
const offers = { [annotations.syncToProjects]: "web" };

function explained({
  source,
  others = [],
  namespace = {},
  requireSyncFrom = false,
  copyKeys = [],
  secret,
}: Situation) {
  const own = observedSource({
    ...source,
    metadata: { annotations: offers, ...source?.metadata },
  });
  const metadata = namespace === "missing" ? [] : [{ ...pay, annotations: asks, ...namespace }];
  const objects = syncObjectsOf({
    sharedSecrets: [own, ...others],
    namespaces: metadata.map((one) =>
      readNamespace(observedMetadata(one), { requireSyncFrom, copyKeys }),
    ),
    secrets: secret === undefined ? [] : [secret],
  });
  return explain(own, target, objects);
}

const nothing = { [annotations.copyOf]: undefined };
const inNamespace = (name: string) => `metadata.annotations["${name}"]`;
const from = (value: string): Partial<Metadata> => ({
  annotations: { ...asks, [annotations.syncFrom]: value },
});
const rejected = { [annotations.syncError]: "Forbidden: exceeded quota: objects" };
const denied = { [annotations.syncError]: "Forbidden: denied by policy" };
const wrong = (message: string, options: object = {}): SourceChanges => ({
  metadata: { annotations: { ...offers, [annotations.syncSecretType]: "helm.sh/x" } },
  options: { ...options, problem: { reason: "InvalidSyncOption", message } },
});

const copyMetadata = {
  labels: { tier: "gold" },
  annotations: { "example.com/team": "web" },
};

describe("the outcome of a source at a target", () => {
  test.for<[OutcomeKind, Situation, string, string | undefined]>([
    [
      "arrives",
      {},
      'Secret "pay/db" is written with the data of SharedSecret "team/db".',
      undefined,
    ],
    [
      "arrives",
      { secret: observedCopy(live) },
      'Secret "pay/db" has the data of SharedSecret "team/db".',
      undefined,
    ],
    [
      "arrives",
      { source: { options: { copyMetadata } }, copyKeys: ["tier"] },
      'Secret "pay/db" is written with the data of SharedSecret "team/db", without key "example.com/team", which is not allowed; add it to --copy-keys of latchkey controller, or to annotation management.service/allow-copy-keys of the namespace.',
      undefined,
    ],
    [
      "arrives",
      {
        source: { options: { copyMetadata } },
        namespace: { annotations: { ...asks, [annotations.allowCopyKeys]: "tier, example.com/*" } },
      },
      'Secret "pay/db" is written with the data of SharedSecret "team/db".',
      undefined,
    ],
    [
      "refused",
      { secret: observedCopy(live, { digest: "old", annotations: rejected }) },
      'the API server rejected Secret "pay/db": Forbidden: exceeded quota: objects. Raise the limit, or delete objects that count; Latchkey retries at once.',
      "ResourceQuota pay/objects spec.hard = Forbidden: exceeded quota: objects",
    ],
    [
      "refused",
      { secret: observedCopy(live, { digest: "old", annotations: denied }) },
      'the API server rejected Secret "pay/db": Forbidden: denied by policy. Follow the message; Latchkey retries within five minutes.',
      `Secret pay/db ${inNamespace(annotations.syncError)} = Forbidden: denied by policy`,
    ],
    [
      "refused",
      {
        source: {
          secret: {
            status: { sync: { failures: [{ ...target, reason: "Forbidden", message: "quota" }] } },
          },
        },
      },
      'the API server rejected Secret "pay/db": Forbidden: quota.',
      "SharedSecret team/db status.sync.failures = Forbidden: quota",
    ],
    [
      "older-source",
      { others: [older] },
      'SharedSecret "team/older" already syncs to this Secret and is older. Set the annotation management.service/sync-secret-name on one of them.',
      "SharedSecret team/older metadata.creationTimestamp",
    ],
    [
      "not-managed",
      { secret: unmanagedSecret(live, { annotations: nothing }) },
      'Secret "pay/db" already exists and is not managed by Latchkey; it was not changed. Rename or delete it.',
      `Secret pay/db metadata.labels["${labels.sourceUid}"]`,
    ],
    [
      "copied-by-user",
      { secret: observedCopy(live, { annotations: { [annotations.copyOf]: elsewhere } }) },
      'Secret "pay/db" was created from a copy at another place, so Latchkey does not manage it',
      `Secret pay/db ${inNamespace(annotations.copyOf)} = ${elsewhere}`,
    ],
    [
      "source-paused",
      { source: { options: { paused: true } } },
      'annotation management.service/disable-sync of SharedSecret "team/db" is "true", so sync is paused. Remove the annotation.',
      `SharedSecret team/db ${inNamespace(annotations.disableSync)} = true`,
    ],
    [
      "source-paused",
      {
        others: [{ ...older, options: paused.options }],
      },
      'annotation management.service/disable-sync of SharedSecret "team/older" is "true"',
      `SharedSecret team/older ${inNamespace(annotations.disableSync)} = true`,
    ],
    [
      "copy-paused",
      {
        secret: observedCopy(live, { annotations: { [annotations.disableSync]: "true" } }),
      },
      'annotation management.service/disable-sync of Secret "pay/db" is "true", so it is not changed',
      `Secret pay/db ${inNamespace(annotations.disableSync)} = true`,
    ],
    [
      "source-deleting",
      { source: { metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } } },
      'SharedSecret "team/db" is being deleted.',
      "SharedSecret team/db metadata.deletionTimestamp = 2026-01-01T00:01:00Z",
    ],
    [
      "not-offered",
      { source: { metadata: { annotations: {} }, options: { projects: [] } } },
      'annotation management.service/sync-to-projects of SharedSecret "team/db" names no project. Set it to "web".',
      `SharedSecret team/db ${inNamespace(annotations.syncToProjects)}`,
    ],
    [
      "other-name",
      { source: { options: { secretName: "other" } } },
      'SharedSecret "team/db" is synced to Secrets of the name "other". Set it to "db".',
      `SharedSecret team/db ${inNamespace(annotations.syncSecretName)}`,
    ],
    [
      "invalid-option",
      { source: wrong(`${annotations.disableSync}: "x" is invalid`) },
      'management.service/disable-sync: "x" is invalid. Correct the annotation.',
      `SharedSecret team/db ${inNamespace(annotations.disableSync)}`,
    ],
    [
      "refused-type",
      { source: wrong(`${annotations.syncSecretType}: "helm.sh/x"`, { secretType: "helm.sh/x" }) },
      "Set management.service/sync-secret-type to another type, or remove it.",
      `SharedSecret team/db ${inNamespace(annotations.syncSecretType)} = helm.sh/x`,
    ],
    [
      "invalid-key",
      {
        source: { options: { problem: { reason: "InvalidKey", message: 'spec.data: key ".."' } } },
      },
      'spec.data: key "..". Rename the data key.',
      "SharedSecret team/db spec.data",
    ],
    [
      "too-large",
      { source: { options: { problem: { reason: "TooLarge", message: "spec.data: has 2" } } } },
      "spec.data: has 2. Split the data into several SharedSecrets.",
      "SharedSecret team/db spec.data",
    ],
    [
      "namespace-missing",
      { namespace: "missing" },
      'Namespace "pay" does not exist. Create Namespace "pay".',
      "Namespace pay metadata.name",
    ],
    [
      "namespace-terminating",
      { namespace: { deletionTimestamp: "2026-01-01T00:01:00Z" } },
      'Namespace "pay" is being deleted.',
      "Namespace pay metadata.deletionTimestamp = 2026-01-01T00:01:00Z",
    ],
    [
      "no-project",
      { namespace: { labels: {} } },
      'Namespace "pay" does not have the label management.service/project. Set the label to a project that SharedSecret "team/db" names.',
      `Namespace pay metadata.labels["${labels.project}"]`,
    ],
    [
      "project-not-named",
      { source: { options: { projects: ["pay-*"] } } },
      'annotation management.service/sync-to-projects of SharedSecret "team/db" does not name project "web" of Namespace "pay". Add "web" to the list.',
      `SharedSecret team/db ${inNamespace(annotations.syncToProjects)} = web`,
    ],
    [
      "sync-not-enabled",
      { namespace: { annotations: { [annotations.sync]: "true" } } },
      'Namespace "pay" does not have the annotation management.service/sync: enabled.',
      `Namespace pay ${inNamespace(annotations.sync)} = true`,
    ],
    [
      "sync-from-required",
      { requireSyncFrom: true },
      'which --require-sync-from requires. Set the annotation management.service/sync-from to "team".',
      `Namespace pay ${inNamespace(annotations.syncFrom)}`,
    ],
    [
      "sync-from-invalid",
      { namespace: from("team!") },
      'annotation management.service/sync-from of Namespace "pay" is invalid.',
      `Namespace pay ${inNamespace(annotations.syncFrom)} = team!`,
    ],
    [
      "sync-from-excludes",
      { namespace: from("") },
      'does not name namespace "team". Add "team" to the list.',
      `Namespace pay ${inNamespace(annotations.syncFrom)} = `,
    ],
  ])("%s is said with its cause", ([kind, situation, sentence, cause]) => {
    const explanation = explained(situation);
    expect(explanation.kind).toBe(kind);
    expect(outcomeSentence(explanation)).toContain(sentence);
    const { reason, causes } = targetItem(explanation);
    expect(reason).toBe(outcomeTexts[kind].reason);
    for (const own of causes.slice(0, 1)) expect(own.reason).toBe(reason);
    const [first] = causes.map(({ object, field, value }) =>
      [object.kind, placeOf(object), field, ...(value === undefined ? [] : ["=", value])].join(" "),
    );
    expect(first).toBe(cause);
  });

  test("names everything that has to change, the first obstacle first", () => {
    const explanation = explained({
      source: { options: { projects: ["pay"] } },
      namespace: { annotations: { [annotations.syncFrom]: "other" } },
    });
    expect(explanation.kinds).toEqual([
      "sync-not-enabled",
      "sync-from-excludes",
      "project-not-named",
    ]);
    expect(targetItem(explanation).causes).toHaveLength(3);
  });

  test("says that a source does not exist", () => {
    const objects = syncObjectsOf({ sharedSecrets: [], namespaces: [], secrets: [] });
    const gone = explainGone({ namespace: "team", name: "db" }, target, objects);
    expect(outcomeSentence(gone)).toBe(
      'SharedSecret "team/db" does not exist. Create SharedSecret "team/db".',
    );
  });
});

describe("a source alone", () => {
  test.for<[OutcomeKind | undefined, SourceChanges, string | undefined]>([
    [undefined, {}, undefined],
    ["not-offered", { options: { projects: [] } }, inNamespace(annotations.syncToProjects)],
    [
      "refused-type",
      wrong(`${annotations.syncSecretType}: no`, { secretType: "helm.sh/x" }),
      inNamespace(annotations.syncSecretType),
    ],
    [
      "source-deleting",
      { metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } },
      "metadata.deletionTimestamp",
    ],
  ])("is explained without a target: %s", ([kind, changes, field]) => {
    expect(explainSource(observedSource(changes))?.kind).toBe(kind);
    const { causes = [], message = "" } = sourceItem(observedSource(changes)) ?? {};
    expect(causes.map((cause) => cause.field)).toEqual(field === undefined ? [] : [field]);
    expect(message).toMatch(kind === undefined ? /^$/ : /\.$/);
  });

  const world = syncObjectsOf({
    sharedSecrets: [],
    namespaces: [observedMetadata({ name: "shop-dev", labels: { [labels.project]: "shop" } })],
    secrets: [],
  });

  test.each([
    ["a namespace", "shop-dev", 'Name project "shop": "shop-dev" is one of its namespaces.'],
    ["a similar name", "shpo", 'Did you mean "shop"? Correct the list.'],
  ])("has a fix that names the project where it names %s", (_what, project, message) => {
    const empty = [{ project, namespaces: 0, accepting: 0 }];
    const [item] = emptyProjectItems(observedSource(), empty, world);
    expect(item?.causes).toMatchObject([{ message }]);
  });

  test("needs no namespace here if it names a connected cluster", () => {
    const source = observedSource({ options: { projects: ["web"], clusters: ["east"] } });
    const empty = [{ project: "web", namespaces: 0, accepting: 0 }];
    expect(emptyProjectItems(source, empty, world)).toMatchObject([{ state: "info" }]);
  });

  test("is to be corrected where no namespace belongs to its project", () => {
    const source = observedSource({ metadata: { annotations: offers } });
    const empty = [{ project: "web", namespaces: 0, accepting: 0 }];
    const object = { kind: "SharedSecret", name: "db" };
    const cause = { object, field: inNamespace(annotations.syncToProjects), value: "web" };
    const items = emptyProjectItems(source, empty, world);
    expect(items).toMatchObject([{ object, state: "problem", causes: [cause] }]);
    const others = observedSource({ options: { projects: ["web", "pay"] } });
    expect(emptyProjectItems(others, empty, world)).toMatchObject([{ state: "info" }]);
  });

  test.for([
    ["web", '"web"'],
    ["pay-*", 'a project that matches "pay-*"'],
    ["*", 'a project that matches "*"'],
  ] as const)("asks for a label that names a project, and no glob: %s", ([project, wanted]) => {
    const empty = [{ project, namespaces: 0, accepting: 0 }];
    const items = emptyProjectItems(observedSource(), empty, world);
    const message = `Set the label ${labels.project} of a namespace to ${wanted}, or correct the list.`;
    expect(items).toMatchObject([{ causes: [{ message }] }]);
  });
});
