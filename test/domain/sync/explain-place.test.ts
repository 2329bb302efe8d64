import { expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { placeItems, type SeenPlace } from "../../../src/domain/sync/explain-place.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const asking = {
  labels: { [labels.project]: "web" },
  annotations: { [annotations.sync]: "enabled" },
};

function place(
  namespace: Parameters<typeof observedMetadata>[0] | undefined,
  others: Partial<SeenPlace> = {},
): SeenPlace {
  return {
    target: { namespace: "web-dev", name: "db" },
    namespace:
      namespace === undefined ? undefined : observedMetadata({ name: "web-dev", ...namespace }),
    secret: undefined,
    unknownKeys: { Namespace: [], Secret: [] },
    fullQuotas: [],
    isConnected: false,
    ...others,
  };
}

const placeholder = observedMetadata({
  namespace: "web-dev",
  name: "db",
  labels: { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team-a" },
});
const foreign = observedMetadata({ namespace: "web-dev", name: "db" });
const typo = { field: "labels", key: "management.service/projct" } as const;
const project = { object: { kind: "Namespace", name: "web-dev" } };

test.each<[string, SeenPlace, readonly string[], object?]>([
  ["asks for nothing", place({ labels: asking.labels }), ["problem SyncNotEnabled"], project],
  ["has no project", place({ annotations: asking.annotations }), ["problem NoProject"], project],
  ["has neither", place({}), ["problem NoProject", "problem SyncNotEnabled"]],
  [
    "has a wrong label",
    place({ annotations: asking.annotations }, { unknownKeys: { Namespace: [typo], Secret: [] } }),
    ["problem UnknownAnnotation", "problem NoProject"],
  ],
  [
    "accepts from an invalid list",
    place({ ...asking, annotations: { ...asking.annotations, [annotations.syncFrom]: "a b" } }),
    ["problem SyncFromInvalid"],
  ],
  [
    "accepts from some, which may be those that share",
    place({ ...asking, annotations: { ...asking.annotations, [annotations.syncFrom]: "other" } }),
    ["problem NotShared"],
  ],
  [
    "is being deleted",
    place({ ...asking, deletionTimestamp: "2026-11-30T00:00:00Z" }),
    ["problem NamespaceTerminating"],
  ],
  [
    "cannot be read, and has a copy of an agent",
    place(undefined, {
      secret: observedMetadata({
        namespace: "web-dev",
        name: "db",
        annotations: { [annotations.syncError]: "Failed: no" },
        labels: { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team-a" },
      }),
      isConnected: true,
    }),
    ["problem NotFilled"],
  ],
  ["has a full quota", place(asking, { fullQuotas: ["objects"] }), ["problem QuotaFull"]],
  ["has a Secret of this name", place(asking, { secret: foreign }), ["info NotManaged"]],
  ["asks", place(asking), ["problem NotShared"]],
  [
    "asks with a placeholder",
    place({ labels: asking.labels }, { secret: placeholder }),
    ["problem NotShared"],
  ],
  ["has a placeholder and no project", place({}, { secret: placeholder }), ["problem NoProject"]],
  ["cannot be read", place(undefined), []],
])("a namespace that %s", (_what, seen, expected, first = {}) => {
  const items = placeItems(seen);
  expect(items.map(({ state, reason }) => `${state} ${reason}`)).toEqual(expected);
  expect(items.slice(0, 1)).toMatchObject(items.slice(0, 1).map(() => first));
  for (const { state, causes } of items) expect(causes.length > 0).toBe(state === "problem");
});
