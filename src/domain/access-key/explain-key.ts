import type { Reason } from "../../api/conditions.ts";
import { annotations, labels } from "../../api/names.ts";
import type {
  FieldFix,
  ReasonAndMessage,
  ReportCause,
  ReportItem,
  ReportObject,
} from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, nameOf } from "../report-object.ts";
import { authenticate } from "./authenticate.ts";
import { unscopedText } from "./unscoped-key.ts";
import { bindFix, keyConditions, keyState, type ResolvedKey } from "./key-state.ts";

/**
 * Explains whether a key authenticates at `now`, in milliseconds since the epoch, by the function
 * that authenticates it: `ok` if it does, with a reason of a condition, or `Deleted`. The causes
 * are the fields that decide, those of the key first, then those of its parent keys. Never contains
 * a key or a digest.
 */
export function explainKey(resolved: ResolvedKey, now: number): ReportItem {
  const object = objectOf(resolved);
  const authentication = authenticate(resolved, now);
  const { message } = keyState(resolved, now);
  if (authentication.kind === "authenticated")
    return {
      object,
      state: "ok",
      reason: "Active",
      message: message + unscopedSentence(resolved),
      causes: [],
    };
  const { reason } = authentication;
  const said = reason === "Deleted" ? `${nameOf(object)} is being deleted.` : message;
  return explainReportedKey(resolved, { reason, message: said }, now);
}

function unscopedSentence({ key, parentKey }: ResolvedKey): string {
  return key.spec.scope === "none"
    ? ` It has ${unscopedText(key.spec, { hasParent: parentKey !== undefined })}.`
    : "";
}

/**
 * Explains a key by the reason that the controller reports for it, which knows more keys and its
 * own options.
 */
export function explainReportedKey(
  resolved: ResolvedKey,
  { reason, message }: ReasonAndMessage,
  now: number,
): ReportItem {
  const causes = causesOf(resolved, reason, now);
  return { object: objectOf(resolved), state: "problem", reason, message, causes };
}

/** Explains an accepted key whose scope names roles that do not exist. */
export function explainUnknownRoles(
  resolved: ResolvedKey,
  unknownRoles: readonly string[],
  now: number,
): ReportItem | undefined {
  const { scope } = resolved.key.spec;
  const ready = keyConditions(resolved, { now, unknownRoles }).find(({ type }) => type === "Ready");
  if (unknownRoles.length === 0 || ready?.reason !== "InvalidScope" || typeof scope === "string")
    return undefined;
  const object = objectOf(resolved);
  const { reason, message } = ready;
  const fix = `Name another role, or set the label ${labels.scopeRole} of a ClusterRole to it.`;
  const causes = scope.roles.flatMap(({ role }, at) =>
    unknownRoles.includes(role)
      ? [{ object, field: `spec.scope.roles[${at}].role`, value: role, reason, message: fix }]
      : [],
  );
  return { object, state: "problem", reason, message, causes };
}

function causesOf(resolved: ResolvedKey, reason: string, now: number): readonly ReportCause[] {
  const own = fieldOf.get(reason)?.(resolved) ?? {
    field: "status.conditions",
    message: "Follow the message.",
  };
  const { parentKey } = resolved;
  const isInherited =
    reason === "ParentKeyInvalid" && parentKey !== undefined && parentKey !== "gone";
  return [
    { object: objectOf(resolved), reason, ...own },
    ...(isInherited ? explainKey(parentKey, now).causes : []),
  ];
}

/** The object of a key, as a report has it. */
export function objectOf({ key }: ResolvedKey): ReportObject {
  return { kind: resources.ownedAccessKeys.kind, name: key.metadata.name };
}

const fields: Readonly<Partial<Record<Reason | "Deleted", (resolved: ResolvedKey) => FieldFix>>> = {
  Deleted: ({ key }) => ({
    field: "metadata.deletionTimestamp",
    value: key.metadata.deletionTimestamp,
    message: "Create another key.",
  }),
  Disabled: () => ({
    field: "spec.disabled",
    value: "true",
    message: "Set spec.disabled to false, or remove it.",
  }),
  Expired: ({ key }) => {
    const expiredAt = key.metadata.annotations[annotations.expiredAt];
    const message = "Create another key.";
    return key.spec.ttl === undefined && expiredAt !== undefined
      ? { field: annotationField(annotations.expiredAt), value: expiredAt, message }
      : { field: "spec.ttl", value: key.spec.ttl?.toString(), message };
  },
  UnknownRequester: ({ key }) => ({
    field: annotationField(annotations.requester),
    value: key.metadata.annotations[annotations.requester],
    message: "Install the admission policies, wait 10 seconds and create the key again.",
  }),
  InvalidKey: () => ({ field: "spec.key", message: `${bindFix}.` }),
  MissingKey: () => ({ field: "spec.key", message: "Set it to a key or to its bound digest." }),
  MissingSubject: () => ({
    field: "spec.user",
    message: "Set one of spec.user, spec.team and spec.subject.",
  }),
  UnsupportedSubject: ({ key: { spec } }) => {
    const given = (["user", "team", "subject"] as const).find((name) => isSystem(spec[name]));
    return {
      field: given === undefined ? "spec.groups" : `spec.${given}`,
      value: given === undefined ? spec.groups.find(isSystem) : spec[given],
      message:
        "Name another user, team, subject or group: " +
        'names that begin with "system:" are reserved for Kubernetes.',
    };
  },
  InvalidScope: () => ({ field: "spec.scope", message: "Correct spec.scope." }),
  DuplicateKey: () => ({ field: "spec.key", message: "Set another spec.key." }),
  ParentKeyInvalid: ({ key }) => ({
    field: annotationField(annotations.requesterKeyId),
    value: key.metadata.annotations[annotations.requesterKeyId],
    message: "Create the key again with a valid credential.",
  }),
};

const fieldOf: ReadonlyMap<string, (resolved: ResolvedKey) => FieldFix> = new Map(
  Object.entries(fields),
);

function isSystem(name: string | undefined): boolean {
  return name?.startsWith("system:") === true;
}
