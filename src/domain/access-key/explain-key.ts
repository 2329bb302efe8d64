import type { Condition, Reason } from "../../api/conditions.ts";
import { annotations, labels } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, type Cause, foundValue, nameOf } from "../cause.ts";
import { authenticate } from "./authentication.ts";
import { bindFix, keyConditions, keyState, type ResolvedKey } from "./key-state.ts";

/** Whether a key authenticates, and why not. */
export interface KeyExplanation {
  readonly isAccepted: boolean;
  /** A reason of a condition, or `Deleted`. */
  readonly reason: string;
  readonly sentence: string;
  /** The fields that decide, those of the key first, then those of its parent keys. */
  readonly causes: readonly Cause[];
}

/** What a condition of a key reports. */
type ReportedReason = Pick<Condition, "reason" | "message">;

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

/**
 * Explains a key by the reason that the controller reports for it, which knows more keys and its own
 * options.
 */
export function explainReportedKey(
  resolved: ResolvedKey,
  { reason, message }: ReportedReason,
  now: number,
): KeyExplanation {
  return { isAccepted: false, reason, sentence: message, causes: causesOf(resolved, reason, now) };
}

/** Explains an accepted key whose scope names roles that do not exist. */
export function explainUnknownRoles(
  resolved: ResolvedKey,
  unknownRoles: readonly string[],
  now: number,
): KeyExplanation | undefined {
  const { scope } = resolved.key.spec;
  const ready = keyConditions(resolved, { now, unknownRoles }).find(({ type }) => type === "Ready");
  if (unknownRoles.length === 0 || ready?.reason !== "InvalidScope" || typeof scope === "string")
    return undefined;
  const causes = scope.roles.flatMap(({ role }, at) =>
    unknownRoles.includes(role)
      ? [
          {
            object: objectOf(resolved),
            field: `spec.scope.roles[${at}].role`,
            found: role,
            reason: ready.reason,
            fix: `Name another role, or set the label ${labels.scopeRole} of a ClusterRole to it`,
          },
        ]
      : [],
  );
  return { isAccepted: true, reason: ready.reason, sentence: ready.message, causes };
}

function causesOf(
  resolved: ResolvedKey,
  reason: KeyExplanation["reason"],
  now: number,
): readonly Cause[] {
  const own = fieldOf.get(reason)?.(resolved) ?? {
    field: "status.conditions",
    fix: "Follow the message",
  };
  const { parentKey } = resolved;
  const isInherited =
    reason === "ParentKeyInvalid" && parentKey !== undefined && parentKey !== "gone";
  return [
    { object: objectOf(resolved), reason, ...own },
    ...(isInherited ? explainKey(parentKey, now).causes : []),
  ];
}

/** The object of a key, as a message names it. */
export function objectOf({ key }: ResolvedKey): Cause["object"] {
  return { kind: resources.ownedAccessKeys.kind, name: key.metadata.name };
}

type Field = Omit<Cause, "object" | "reason">;

const fields: Readonly<Partial<Record<Reason | "Deleted", (resolved: ResolvedKey) => Field>>> = {
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
  InvalidKey: () => ({ field: "spec.key", fix: bindFix }),
  MissingKey: () => ({ field: "spec.key", fix: "Set it to a key or to its bound digest" }),
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

const fieldOf: ReadonlyMap<string, (resolved: ResolvedKey) => Field> = new Map(
  Object.entries(fields),
);

function isSystem(name: string | undefined): boolean {
  return name?.startsWith("system:") === true;
}
