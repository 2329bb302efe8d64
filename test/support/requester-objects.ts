import { annotations, cleanupFinalizer, labels, requesterPolicies } from "../../src/api/names.ts";
import { requesterHash } from "../../src/domain/grants/granted-names.ts";
import { grantedVerbs } from "./observed-objects.ts";
import { rawObject, type RawObject } from "./fake-list-watch.ts";

const installed = (...names: readonly string[]): readonly RawObject[] =>
  names.map((name) => rawObject({ name, creationTimestamp: "2025-01-01T00:00:00Z" }));

/** The policies that make requester annotations trusted, older than every object of these tests. */
export const policies: Readonly<Record<string, readonly RawObject[]>> = {
  mutatingadmissionpolicies: installed(requesterPolicies.annotations),
  mutatingadmissionpolicybindings: installed(requesterPolicies.annotations),
  validatingadmissionpolicies: installed(requesterPolicies.lock, requesterPolicies.guard),
  validatingadmissionpolicybindings: installed(requesterPolicies.lock, requesterPolicies.guard),
};

/** A key or token that ann requested, with Latchkey's finalizer, and with these changes. */
export function rawRequested(
  name: string,
  {
    metadata = {},
    spec = {},
  }: {
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly spec?: Readonly<Record<string, unknown>>;
  } = {},
): RawObject {
  return rawObject(
    {
      name,
      generation: 1,
      annotations: {
        [annotations.requester]: "ann",
        [annotations.createdAt]: "2026-01-01T00:00:00Z",
      },
      finalizers: [cleanupFinalizer],
      ...metadata,
    },
    { spec },
  );
}

const apiGroup = "rbac.authorization.k8s.io";
const marks = {
  labels: { [labels.requesterHash]: requesterHash("ann") },
  annotations: { [annotations.requester]: "ann" },
};
const grantName = `latchkey-requester-${requesterHash("ann")}-0`;

/** The ClusterRole that grants ann these objects, and its binding. */
export function rawGrant(
  plural: string,
  ...names: readonly string[]
): Readonly<Record<"clusterroles" | "clusterrolebindings", readonly RawObject[]>> {
  const rule = {
    apiGroups: ["management.service"],
    resources: [plural],
    resourceNames: names,
    verbs: grantedVerbs(plural),
  };
  const subjects = [{ kind: "User", apiGroup, name: "ann" }];
  return {
    clusterroles: [rawObject({ name: grantName, ...marks }, { rules: [rule] })],
    clusterrolebindings: [
      rawObject(
        { name: grantName, ...marks },
        { roleRef: { apiGroup, kind: "ClusterRole", name: grantName }, subjects },
      ),
    ],
  };
}
