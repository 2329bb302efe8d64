import { annotations, cleanupFinalizer, labels } from "../../src/api/names.ts";
import type { Metadata } from "../../src/api/object.ts";
import type { ObservedRoleBinding, GrantRole } from "../../src/api/role.ts";
import { requesterHash } from "../../src/domain/grants/granted-names.ts";

/** The creation time of every object of these tests. */
export const born = Date.parse("2026-01-01T00:00:00Z");

/** Metadata of an object with Latchkey's finalizer. */
export function observedMetadata(changes: Partial<Metadata> = {}): Metadata {
  return {
    name: "one",
    uid: "uid-one",
    resourceVersion: "7",
    generation: 3,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: {},
    annotations: {},
    finalizers: [cleanupFinalizer],
    ...changes,
  };
}

/** Metadata of an object in deletion. */
export const deletedMetadata = observedMetadata({ deletionTimestamp: "2026-01-01T00:01:00Z" });

/** The verbs that a requester has on its own objects. */
export function grantedVerbs(plural: string): readonly string[] {
  return ["delete", "get", "list", ...(plural === "ownedaccesskeys" ? ["patch"] : []), "watch"];
}

/** A requester's ClusterRole with these objects, `<plural>/<name>` each. */
export function observedRole(
  requester: string,
  number: number,
  names: readonly string[],
): GrantRole {
  const plurals = [...new Set(names.map((name) => name.slice(0, name.indexOf("/"))))].sort();
  return {
    metadata: marked(requester, number),
    ownerReferences: [],
    aggregated: false,
    rules: plurals.map((plural) => ({
      apiGroups: ["management.service"],
      resources: [plural],
      resourceNames: names
        .filter((name) => name.startsWith(`${plural}/`))
        .map((name) => name.slice(plural.length + 1))
        .sort(),
      nonResourceURLs: [],
      verbs: grantedVerbs(plural),
    })),
  };
}

/** The ClusterRoleBinding of {@link observedRole}. */
export function observedBinding(requester: string, number: number): ObservedRoleBinding {
  const metadata = marked(requester, number);
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    metadata,
    ownerReferences: [],
    roleRef: { apiGroup, kind: "ClusterRole", name: metadata.name },
    subjects: [{ kind: "User", apiGroup, name: requester }],
  };
}

function marked(requester: string, number: number): Metadata {
  const hash = requesterHash(requester);
  return observedMetadata({
    name: `latchkey-requester-${hash}-${number}`,
    uid: `uid-${number}`,
    finalizers: [],
    labels: { [labels.requesterHash]: hash },
    annotations: { [annotations.requester]: requester },
  });
}

/** A written Role or RoleBinding as the API server returns it. */
export function asStored<T extends { readonly metadata: object }>(manifest: T) {
  const creationTimestamp = new Date(born).toISOString();
  const observed = { uid: "uid-role", resourceVersion: "3", creationTimestamp };
  return { ...manifest, metadata: { ...observed, ...manifest.metadata } };
}
