/** metav1.Condition (Kubernetes API reference, Condition). */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

/** A condition without times, to be merged with the existing one. */
export interface ConditionUpdate {
  readonly type: ConditionType;
  readonly status: "True" | "False";
  readonly reason: Reason;
  readonly message: string;
}

/** Every condition type that Latchkey sets, with its meaning. */
export const conditionTypes = {
  Ready: "The object matches its spec.",
  Reconciling: "Latchkey is still working on the object; present only while True.",
  Stalled:
    "The object makes no progress and requires a change to the spec; present only while True.",
  AccessApplied: "Every access rule is applied as a Role and a RoleBinding.",
  Synced: "Every target has the current data.",
  ClustersSynced: "Every target in the connected clusters has the current data.",
  Active: "The key is accepted.",
  Expired: "The lifetime has ended.",
  Expiring: "Less than a tenth of a lifetime of more than one day remains.",
} as const;

/** Name of a condition type. */
export type ConditionType = keyof typeof conditionTypes;

/** Every condition reason that Latchkey sets, with its meaning. */
export const reasons = {
  Ready: "The object matches its spec.",
  Active: "The key is accepted.",
  Disabled: "spec.disabled is true.",
  Minted: "status.token contains a valid token.",
  Applied: "Every access rule is applied.",
  Synced: "Every target has the current data.",
  NotRequested: "The object does not name a project to sync to.",
  UnknownAnnotation:
    "The object does not name a project to sync to, and has a label or annotation without effect.",
  NoTargets: "No namespace of the named projects accepts copies.",
  Paused: "The disable-sync annotation pauses the sync.",
  Progressing: "The reconcile is not complete.",
  Terminating: "The object is being deleted.",
  Conflict:
    "A target Secret already exists and is not managed by Latchkey, or an older SharedSecret " +
    "syncs to it.",
  Failed: "The API server rejected the write of a target Secret.",
  Contested: "Something else changes or deletes what Latchkey writes, again and again.",
  HandedOver: "A copy passes from one SharedSecret to another; only in Events.",
  RemovalBlocked: "A Secret whose data may not stay cannot be removed.",
  NotFilled: "A placeholder Secret does not receive the data that it asks for.",
  DataRevoked: "Data without permission was removed from a paused Secret; only in Events.",
  WaitingForGrant: "Waiting for the requester's RBAC grant.",
  TooManyTokens: "The requester has reached the limit of valid tokens.",
  InvalidAudience:
    "The audience-cluster annotation is invalid, or names another cluster than a scope.",
  TokenTooLarge: "The token would be longer than a direct endpoint accepts.",
  NotExpired: "The lifetime has not ended.",
  NotExpiring: "The lifetime does not end soon.",
  Expiring: "The lifetime ends soon.",
  Expired: "The lifetime has ended.",
  InvalidAccessRule: "An access rule is invalid.",
  AccessRejected: "The API server rejected a Role or RoleBinding.",
  ApplyFailed: "Writes that apply the object have failed for 30 s or longer.",
  NameConflict:
    "A Role or RoleBinding with a derived name already exists and is not managed by Latchkey.",
  InvalidSyncOption: "A sync annotation is invalid.",
  InvalidKey:
    "A key of spec.data is not a valid Secret key, or spec.key looks like a digest and is not a " +
    "bound one.",
  TooLarge:
    "The data is too large for a Secret, or the subjects of an access rule for a RoleBinding.",
  SourceMissing: "The Secret that data-from names does not exist; copies keep their data.",
  SourceNotAllowed:
    "The Secret that data-from names does not name the SharedSecret in data-for; copies go.",
  SourceInvalid: "The Secret that data-from names cannot be a source; copies keep their data.",
  SourceChangesOften: "The Secret that data-from names changes often, and copies follow slowly.",
  MissingKey: "spec.key is empty.",
  InvalidClaims:
    "The annotations that say which tokens are accepted are invalid, or trust too many tokens.",
  UnknownIssuer: "The issuer in the issuer annotation is not one of the configured ones.",
  MissingSubject: "None of spec.user, spec.team and spec.subject is set.",
  UnsupportedSubject: "A key must not act as this user, subject or group.",
  InvalidScope: "spec.scope is invalid, or names a role that does not exist.",
  DuplicateKey:
    "An older object has the same key, or the requester has too many keys with one index.",
  KeyMismatch:
    "A client presented a key that has the index of spec.key but another digest; only in Events.",
  ParentKeyInvalid: "The parent access key is not valid.",
  UnknownRequester: "The requester could not be verified.",
  OutboxMissing: "The cluster has no outbox; kubectl latchkey cluster connect makes it.",
  OutboxFull: "The outbox of the cluster, or the share of the namespace in it, is full.",
  ClusterUnknown: "No connected cluster has this name.",
  ProjectNotLetIn: "The cluster does not let any of the named projects in.",
  ClusterUnreachable: "The agent of the cluster has not reported for 90 s or longer.",
  PoliciesMissing: "The cluster does not enforce the policies that guard its projects.",
  DuplicateAgent: "Another cluster already reads this outbox.",
  UnsupportedOption: "The agent of the cluster does not know an option of the SharedSecret.",
  UnsupportedRequester: "Latchkey does not mint tokens for this requester.",
} as const;

/** Name of a reason. */
export type Reason = keyof typeof reasons;

/** The reason with this text, which an untrusted program may have made up; else `otherwise`. */
export function knownReason(text: string, otherwise: Reason): Reason {
  return isKnown(text) ? text : otherwise;
}

function isKnown(text: string): text is Reason {
  return Object.hasOwn(reasons, text);
}
