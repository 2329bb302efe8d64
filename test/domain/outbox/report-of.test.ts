import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { isSourceUid } from "../../../src/domain/outbox/outbox-names.ts";
import { sourceReportOf, unknownSourcesOf } from "../../../src/domain/outbox/report-of.ts";
import { syncObjectsOf } from "../../../src/domain/sync/sync-objects.ts";
import type { SyncSummary } from "../../../src/domain/sync/sync-summary.ts";
import {
  type CopyChanges,
  observedCopy,
  observedSource,
  unmanagedSecret,
} from "../../support/observed-copies.ts";
import { noTargets } from "../sync-situations.ts";

const source = observedSource({ metadata: { resourceVersion: "42" } });
const counts = { desired: 3, synced: 1, conflicts: 1, failed: 1 };
const regarding = {
  resource: resources.secrets,
  subject: { namespace: "pay", name: "db", uid: "u" },
};
const failure = (reason: string) =>
  ({ kind: "failed", namespace: "pay", name: "db", reason, message: "why", regarding }) as const;

describe("the report of a source", () => {
  test.for<[string, Partial<SyncSummary>, object]>([
    ["has the counts and the version", counts, { seen: "42", ...counts }],
    [
      "has the first failure",
      { ...counts, failures: [failure("Forbidden"), failure("Conflict")] },
      { seen: "42", ...counts, reason: "Forbidden", message: "pay/db: why" },
    ],
    [
      "has no reason that is none",
      { ...counts, failures: [failure("No reason")] },
      { seen: "42", ...counts, reason: "Failed", message: "pay/db: why" },
    ],
  ])("%s", ([, summary, wanted]) => {
    expect(sourceReportOf(source, { ...noTargets, ...summary })).toEqual(wanted);
  });

  test("says why no copy can be written", () => {
    const problem = { reason: "UnsupportedOption", message: "x: is not supported" } as const;
    const invalid = observedSource({ options: { problem } });
    const report = sourceReportOf(invalid, { ...noTargets, failures: [failure("Forbidden")] });
    expect(report).toMatchObject(problem);
  });
});

const former = observedSource({ metadata: { name: "former", uid: "uid-former" } });
const sharedSecrets = [observedSource()];
const unlabelled = { labels: { [labels.sourceUid]: undefined } };

describe("sources that the outbox says nothing about", () => {
  const unknownIn = (
    ...secrets: readonly ReturnType<typeof observedCopy | typeof unmanagedSecret>[]
  ) =>
    unknownSourcesOf(syncObjectsOf({ sharedSecrets, namespaces: [], secrets, keepsUnknown: true }));
  const asking: CopyChanges = {
    labels: { [labels.sharedSecretName]: "former", [labels.sharedSecretNamespace]: "team" },
  };

  test.for<[string, CopyChanges]>([
    ["a copy", {}],
    ["a copy of an old state", { digest: "old" }],
    ["a placeholder that is filled", asking],
  ])("are those of %s", ([, changes]) => {
    expect(unknownIn(observedCopy(former, changes))).toEqual(
      new Map([["uid-former", "team/former"]]),
    );
  });

  test.for<[string, CopyChanges]>([
    ["has no label", unlabelled],
    ["has a label that is no uid", { labels: { [labels.sourceUid]: "" } }],
    ["asks to be filled and has no label", { labels: { ...asking.labels, ...unlabelled.labels } }],
  ])("have a uid of their name if a copy %s", ([, changes]) => {
    const [entry] = [...unknownIn(observedCopy(former, changes))];
    const [uid = "", name] = entry ?? [];
    expect(name).toBe("team/former");
    expect(uid).toMatch(/^[0-9a-f]{32}$/);
    expect(isSourceUid(uid)).toBe(true);
    expect([...unknownIn(unmanagedSecret(former))]).toEqual([entry]);
  });

  test("are not those of other Secrets", () => {
    const nothing = { [annotations.copyOf]: undefined };
    const elsewhere = { [annotations.copyOf]: "team/former -> x/y" };
    expect(unknownIn(observedCopy(observedSource())).size).toBe(0);
    expect(
      unknownIn(observedCopy(observedSource(), { labels: { [labels.sourceUid]: "uid-old" } })).size,
    ).toBe(0);
    for (const marks of [nothing, elsewhere]) {
      expect(unknownIn(observedCopy(former, { annotations: marks })).size).toBe(0);
      expect(unknownIn(unmanagedSecret(former, { annotations: marks })).size).toBe(0);
    }
  });
});
