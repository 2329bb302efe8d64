/** metav1.Condition (Kubernetes API reference, Condition). */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

/** A condition before it is compared with the one that stands: no times yet. */
export interface ConditionUpdate {
  readonly type: ConditionType;
  readonly status: "True" | "False";
  readonly reason: Reason;
  readonly message: string;
}

/** Every condition type that Latchkey sets, and what it says. */
export const conditionTypes = {
  Ready: "The object does what its spec says.",
  Reconciling: "Latchkey still works on it; present only while true.",
  Stalled: "Neither time nor Latchkey can mend it; present only while true.",
  AccessApplied: "Every access rule has become a Role and a RoleBinding.",
  Synced: "Every target holds the current data.",
  Active: "The key would be accepted.",
  Expired: "The life-time is over.",
  Expiring: "The last tenth of a life longer than a day has begun.",
} as const;

/** Name of a condition type. */
export type ConditionType = keyof typeof conditionTypes;

/** Every reason that Latchkey gives, and what it says. */
export const reasons = {
  Ready: "All is as the spec says.",
  Active: "The key would be accepted.",
  Disabled: "spec.disabled is true.",
  Minted: "status.token holds a valid token.",
  Applied: "Every access rule is in force.",
  Synced: "Every target holds the current data.",
  NotRequested: "No project is named to sync to.",
  NoTargets: "No namespace of the named projects takes copies.",
  Paused: "The disable-sync annotation pauses the sync.",
  Progressing: "Work is left to do.",
  Terminating: "The object is being deleted.",
  Conflict: "A target holds something that Latchkey did not make.",
  Failed: "A target refused the write.",
  WaitingForGrant: "The requester's grant comes before the token.",
  TooManyTokens: "The requester has as many valid tokens as it may have.",
  NotExpired: "The life-time is not over.",
  NotExpiring: "The end of the life-time is not near.",
  Expiring: "The end of the life-time is near.",
  Expired: "The life-time is over.",
  InvalidAccessRule: "An access rule cannot be granted as written.",
  AccessRefused: "The API server refused a Role or RoleBinding.",
  ApplyFailed:
    "What Latchkey writes for the object has failed for 30 s or longer, whatever the API server's answer.",
  NameConflict: "A Role or RoleBinding of a derived name is somebody else's.",
  InvalidSyncOption: "A sync annotation cannot be followed as written.",
  InvalidKey: "A Secret cannot hold one of the data keys.",
  TooLarge:
    "The data does not fit into a Secret, or the subjects of an access rule into a RoleBinding.",
  MissingKey: "spec.key is empty.",
  MissingSubject: "None of spec.user, spec.team and spec.subject is set.",
  UnsupportedSubject: "No key can act as this user, subject or group.",
  InvalidScope: "spec.scope cannot be read, or names a role that is not there.",
  DuplicateKey:
    "An older object holds the same key, or the requester has too many keys with one index.",
  KeyMismatch:
    "A presented key has the index of spec.key, and its digest is another one; only in Events.",
  ParentKeyInvalid: "The access key that the request was made with is not valid any more.",
  UnknownRequester: "Who asked for the object is not certain.",
  UnsupportedRequester: "No token can be issued to this requester.",
} as const;

/** Name of a reason. */
export type Reason = keyof typeof reasons;
