import { isRecord, isTrueAt, listAt, recordAt, stringAt } from "../../api/parse.ts";

/**
 * An owner with blockOwnerDeletion (Kubernetes API reference, OwnerReference), and its index in the
 * list.
 */
export interface BlockedOwner {
  readonly index: number;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** The owners for which a write sets `blockOwnerDeletion`. */
export function newlyBlockedOwners(object: unknown, stored: unknown): readonly BlockedOwner[] {
  const before = new Set(blockedOwners(stored).map(({ uid }) => uid));
  return blockedOwners(object).filter(({ uid }) => !before.has(uid));
}

function blockedOwners(object: unknown): readonly BlockedOwner[] {
  return listAt(recordAt(object, "metadata"), "ownerReferences").flatMap((reference, index) => {
    if (!isRecord(reference) || !isTrueAt(reference, "blockOwnerDeletion")) return [];
    const text = (field: string): string => stringAt(reference, field) ?? "";
    return [
      {
        index,
        apiVersion: text("apiVersion"),
        kind: text("kind"),
        name: text("name"),
        uid: text("uid"),
      },
    ];
  });
}
