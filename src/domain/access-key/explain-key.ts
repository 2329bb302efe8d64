import type { Reason } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, type Cause, foundValue, nameOf } from "../cause.ts";
import { allows } from "../scope/allows.ts";
import { allowingEntry } from "../scope/allowing-entry.ts";
import { authenticate } from "./authentication.ts";
import { authorizeWithKey, type KeyedRequest } from "./key-authorization.ts";
import { ancestorsOf, keyState, type ResolvedKey } from "./key-state.ts";

/** Whether a key authenticates, and why not. */
export interface KeyExplanation {
  readonly isAccepted: boolean;
  readonly reason: Reason | "Deleted";
  readonly sentence: string;
  /** The fields that decide, those of the key first, then those of its parent keys. */
  readonly causes: readonly Cause[];
}

/**
 * Explains whether a key authenticates at `now`, in milliseconds since the epoch, by the function
 * that authenticates it. Never contains a key or a digest.
 */
export function explainKey(resolved: ResolvedKey, now: number): KeyExplanation {
  const authentication = authenticate(resolved, now);
  const { message } = keyState(resolved, now);
  if (authentication.kind === "authenticated")
    return { isAccepted: true, reason: "Active", sentence: message, causes: [] };
  const { reason } = authentication;
  const isDeleted = reason === "Deleted";
  return {
    isAccepted: false,
    reason,
    sentence: isDeleted ? `${nameOf(objectOf(resolved))} is being deleted.` : message,
    causes: causesOf(resolved, reason, now),
  };
}

function causesOf(
  resolved: ResolvedKey,
  reason: KeyExplanation["reason"],
  now: number,
): readonly Cause[] {
  const own = fields[reason]?.(resolved) ?? { field: "spec", fix: "Follow the message" };
  const { parentKey } = resolved;
  const isInherited =
    reason === "ParentKeyInvalid" && parentKey !== undefined && parentKey !== "gone";
  return [
    { object: objectOf(resolved), ...own },
    ...(isInherited ? explainKey(parentKey, now).causes : []),
  ];
}

function objectOf({ key }: ResolvedKey): Cause["object"] {
  return { kind: resources.ownedAccessKeys.kind, name: key.metadata.name };
}

type Field = Omit<Cause, "object">;

const fields: Readonly<
  Partial<Record<KeyExplanation["reason"], (resolved: ResolvedKey) => Field>>
> = {
  Deleted: ({ key }) => ({
    field: "metadata.deletionTimestamp",
    ...foundValue(key.metadata.deletionTimestamp),
    fix: "Create another key",
  }),
  Disabled: () => ({
    field: "spec.disabled",
    found: "true",
    fix: "Set spec.disabled to false, or remove it",
  }),
  Expired: ({ key }) => {
    const expiredAt = key.metadata.annotations[annotations.expiredAt];
    const fix = "Create another key";
    return key.spec.ttl === undefined && expiredAt !== undefined
      ? { field: annotationField(annotations.expiredAt), found: expiredAt, fix }
      : { field: "spec.ttl", ...foundValue(key.spec.ttl?.toString()), fix };
  },
  UnknownRequester: ({ key }) => ({
    field: annotationField(annotations.requester),
    ...foundValue(key.metadata.annotations[annotations.requester]),
    fix: "Install the admission policies, wait 10 seconds and create the key again",
  }),
  MissingKey: () => ({ field: "spec.key", fix: "Set it to a key or to its sha256: digest" }),
  MissingSubject: () => ({
    field: "spec.user",
    fix: "Set one of spec.user, spec.team and spec.subject",
  }),
  UnsupportedSubject: ({ key: { spec } }) => {
    const given = (["user", "team", "subject"] as const).find((name) => isSystem(spec[name]));
    return {
      field: given === undefined ? "spec.groups" : `spec.${given}`,
      ...foundValue(given === undefined ? spec.groups.find(isSystem) : spec[given]),
      fix: 'Name another user, team, subject or group: names that begin with "system:" are reserved for Kubernetes',
    };
  },
  InvalidScope: () => ({ field: "spec.scope", fix: "Correct spec.scope" }),
  DuplicateKey: () => ({ field: "spec.key", fix: "Set another spec.key" }),
  ParentKeyInvalid: ({ key }) => ({
    field: annotationField(annotations.requesterKeyId),
    ...foundValue(key.metadata.annotations[annotations.requesterKeyId]),
    fix: "Create the key again with a valid credential",
  }),
};

function isSystem(name: string | undefined): boolean {
  return name?.startsWith("system:") === true;
}

/** What decides about a request with a key: the entry of each scope that allows it, or a denial. */
export type KeyRequestExplanation =
  | {
      readonly kind: "no-opinion";
      /** The key and its parent keys that have a scope; without `field`, every key may do this. */
      readonly entries: readonly { readonly object: Cause["object"]; readonly field?: string }[];
    }
  | { readonly kind: "denied"; readonly sentence: string; readonly causes: readonly Cause[] };

/** Explains a request with a key by the function that authorizes it; RBAC still applies. */
export function explainKeyRequest(
  resolved: ResolvedKey,
  keyed: KeyedRequest,
  now: number,
): KeyRequestExplanation {
  const verdict = authorizeWithKey(resolved, keyed, now);
  const context = { roles: keyed.roles, ownNamespace: resolved.config.namespace };
  const scoped = ancestorsOf(resolved).filter(({ key }) => key.spec.scope !== "none");
  if (verdict.kind === "no-opinion") {
    const entries = scoped.map((one) => {
      const field = allowingEntry(one.key.spec.scope, keyed.request, context);
      return { object: objectOf(one), ...(field === undefined ? {} : { field }) };
    });
    return { kind: "no-opinion", entries };
  }
  const explanation = explainKey(resolved, now);
  if (!explanation.isAccepted)
    return { kind: "denied", sentence: verdict.reason, causes: explanation.causes };
  const causes = scoped
    .filter(({ key }) => allows(key.spec.scope, keyed.request, context).kind === "denied")
    .map((one) => ({
      object: objectOf(one),
      field: "spec.scope",
      fix: "Add an entry that covers the request, or use another credential",
    }));
  return { kind: "denied", sentence: verdict.reason, causes };
}
