/** An object of a report, or all objects of a kind. */
export interface ReportObject {
  readonly kind: string;
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
  /** Absent for all objects of the kind, and for an object whose name is not known yet. */
  readonly name?: string | undefined;
}

/** What decides a state. */
export interface ReportCause extends FieldFix {
  readonly object: ReportObject;
  readonly reason: string;
}

/** Why something is as it is. */
export interface ReasonAndMessage {
  /**
   * For programs: one of {@link reportReasons}, a reason of a condition or of a metav1.Status, or
   * the code of a KubeError.
   */
  readonly reason: string;
  /** For people; that of a condition or of the API server may lack a capital or a full stop. */
  readonly message: string;
}

/** A field that decides, and what to change. */
export interface FieldFix extends DecidingField {
  /** A sentence, which says what to change where something is wrong. */
  readonly message: string;
}

/** A field that decides. */
export interface DecidingField {
  /** Path of the field, such as `spec.ttl`. */
  readonly field?: string | undefined;
  /** The value of the field; absent if it is not set or may be secret. */
  readonly value?: string | undefined;
}

/**
 * The state of one object: what the functions that decide answer with, and what every command that
 * explains prints.
 */
export interface ReportItem extends ReportContent {
  readonly object: ReportObject;
  /** In `status`, the begin of `spec.displayName`, if the object has one. */
  readonly displayName?: string | undefined;
  /** The SharedSecret that a Secret, Role or RoleBinding is derived from. */
  readonly source?: ReportObject | undefined;
  readonly state: ReportState;
  /** In `status`, of a SharedSecret: the number of its targets in each state. */
  readonly targets?: Readonly<Record<SyncState, number>> | undefined;
  /** In `status`, of a Secret that is a target, if it is known. */
  readonly target?: SyncState | undefined;
  /** In `status` and `cluster list`, of a connected cluster. */
  readonly cluster?: ClusterFigures | undefined;
}

/** What a connected cluster was offered, and what its agent says of it. */
export interface ClusterFigures {
  /** The projects that the cluster lets in; `*` for all of them. */
  readonly projects: readonly string[];
  /** Seconds since the last heartbeat of its agent; absent if there was none. */
  readonly heartbeatAge?: number | undefined;
  /** Number of SharedSecrets that it is offered. */
  readonly offered: number;
  /** Number of these whose every target in the cluster has the current data. */
  readonly synced: number;
  /** Number of withdrawn SharedSecrets whose copies the agent has not removed yet. */
  readonly withdrawals: number;
  /**
   * Seconds since the oldest revision of which the agent has not reported yet; absent if there is
   * none.
   */
  readonly unseenAge?: number | undefined;
  /** When the credential of the gateway ends; `none` if it names no end, absent without one. */
  readonly credentialEnd?: string | undefined;
}

/** What a report says about an object. */
export interface ReportContent extends ReasonAndMessage {
  /** The first one to change first. */
  readonly causes: readonly ReportCause[];
}

/**
 * The states of a target of a SharedSecret, as in the metric `latchkey_sync_targets`; `unremoved`
 * are Secrets that are no targets any more and cannot be removed.
 */
export const syncStates = ["synced", "conflict", "failed", "pending", "unremoved"] as const;

/** Name of a state of a target. */
export type SyncState = (typeof syncStates)[number];

/** Every state of an item, with its meaning. */
export const reportStates = {
  ok: "Nothing is wrong.",
  problem: "Something is wrong; the message and the causes say what to change.",
  unknown:
    "The state is not known, because a right is missing or the controller has not acted yet.",
  info: "The item is neither right nor wrong.",
  create: "The controller creates the object.",
  replace: "The controller replaces the object.",
  delete: "The object is deleted: by the controller, or by `revoke`.",
  disable: "The command disables the access key.",
  empty: "The controller removes the data that it filled in.",
  release: "The object stays as it is, and the controller no longer keeps it current.",
} as const;

/** Name of a state. */
type ReportState = keyof typeof reportStates;

/** The states of what exists. */
const verdicts = ["ok", "problem", "unknown", "info"] as const;

/** Name of a state of what exists. */
export type Verdict = (typeof verdicts)[number];

/** The states of an item by command. */
export const reportStatesOf = {
  why: verdicts,
  status: verdicts,
  check: verdicts,
  "cluster list": verdicts,
  revoke: ["disable", "delete", "ok", "unknown", "info"],
  plan: ["create", "replace", "delete", "empty", "release", "problem", "unknown", "info"],
} as const satisfies Readonly<Record<string, readonly ReportState[]>>;

/** Every reason of an item or a cause that is not one of a condition, with its meaning. */
export const reportReasons = {
  Arrives: "The Secret has the data of the SharedSecret, or is written with it.",
  Rejected: "The API server rejected the write of the Secret.",
  UnknownSource: "The Secret is a copy of a SharedSecret that the outbox says nothing about.",
  Followed: "A SharedSecret follows the Secret of this name, so nothing is synced to it.",
  OlderSource: "An older SharedSecret syncs to the same Secret.",
  OtherRequest: "The Secret is a placeholder for another SharedSecret.",
  InvalidPlaceholder: "The Secret is a placeholder that cannot have the data.",
  NotShared:
    "The namespace asks for copies, and none of this name arrives, whatever SharedSecrets exist.",
  QuotaFull: "A ResourceQuota of the namespace has no room for a Secret.",
  NotManaged: "The Secret exists and is not managed by Latchkey.",
  CopiedByUser: "The Secret was created from a copy at another place.",
  SourcePaused: "An annotation of the SharedSecret pauses its sync.",
  CopyPaused: "An annotation of the copy pauses its sync.",
  SourceNotFound: "The SharedSecret does not exist.",
  SourceTerminating: "The SharedSecret is being deleted.",
  OtherName: "The SharedSecret is synced to Secrets of another name.",
  NamespaceNotFound: "The namespace does not exist.",
  NamespaceTerminating: "The namespace is being deleted.",
  NoProject: "The namespace belongs to no project.",
  ProjectNotNamed: "The SharedSecret does not name the project of the namespace.",
  SyncNotEnabled: "The namespace does not ask for copies.",
  SyncFromRequired: "The namespace does not say from where it accepts copies, and has to.",
  SyncFromInvalid: "The list from where the namespace accepts copies is invalid.",
  SyncFromExcludes: "The namespace accepts no copies from the namespace of the SharedSecret.",
  OfferChanged: "A change of consents changes what a connected cluster is offered.",
  ClusterNotNamed: "The SharedSecret does not name the connected cluster.",
  ProjectWithoutNamespace: "No namespace belongs to a project that the SharedSecret names.",
  CopyFound: "The Secret is a copy and records no error.",
  NotCurrent: "The Secret is a copy and records an error.",
  NamespaceUnknown: "You may not read the namespace.",
  SecretUnknown: "You may not read the Secret.",
  Reported: "The status of the SharedSecret reports a failure.",
  EmptyAccessRule: "The access rule names no user and no team.",
  AccessChanged: "A change of access rules changes a Role or RoleBinding.",
  SubjectAdded: "The RoleBinding gains the subject.",
  SubjectRemoved: "The RoleBinding loses the subject.",
  NotObserved: "The controller has not seen the current generation of the object.",
  Deleted: "The access key is being deleted.",
  WithinScope: "The scope of the key allows the request.",
  OutsideScope: "The scope of the key does not allow the request.",
  ScopeUnknown: "You may not read what decides whether the scope allows the request.",
  EntryAllows: "The entry of the scope allows the request.",
  EntryDenies: "The entry of the scope does not allow the request.",
  RBACAllows: "RBAC allows the request to the user of the key.",
  RBACDenies: "RBAC does not allow the request to the user of the key.",
  RBACUnknown: "You may not ask what RBAC allows to the user of the key.",
  Forbidden: "You do not have a right that a complete answer needs.",
  Assumed: "You may not read the object, so its state is assumed from its SharedSecret.",
  Created: "The object of a file does not exist yet.",
  Configured: "The object of a file exists.",
  NotChecked: "The API server cannot check the object, because its namespace does not exist yet.",
  DataKept: "The SharedSecret keeps data keys that its files leave out.",
  NotPlanned: "Sync does not depend on the object of a file.",
  ActsAsUser: "The access key acts as the user.",
  RequestedByUser: "The user requested the access key or token.",
  ActsAsTeam: "The access key or token acts as a team of the user.",
  MadeWithKey: "The access key or token was made with a key that ends.",
  MayRequest: "The binding lets the user make access keys or tokens, or enable keys.",
  GroupsAssumed: "The groups of the user are those that its access keys and tokens record.",
  Supported: "The version of the API server is supported.",
  NotSupported: "The version of the API server is not supported.",
  Found: "The object of the installation exists.",
  NotFound: "The object of the installation does not exist.",
  ClusterThrottled: "The cluster sends more than the gateway reads of one cluster.",
  PolicyChanged: "A policy or its binding is not that of Latchkey.",
  Leading: "A controller or an agent holds the Lease and renewed it in time.",
  NotLeading: "No controller or agent holds the Lease, or its holder does not renew it.",
  CentralSilent: "The agent of this connected cluster does not hear the central cluster.",
  Answered: "A review was answered.",
  NotAnswered: "A review was not answered in time, or with an error.",
  Available: "As many pods are available as the Deployment wants.",
  NotAvailable: "Fewer pods are available than the Deployment wants.",
  Authenticated: "The API server knows you as this user.",
  Allowed: "You have the right.",
  NotAllowed: "You do not have the right.",
  IssuersTaken: "The text of the issuers of tokens is valid.",
  IssuersRefused: "The text of the issuers of tokens has an error, and nothing of it counts.",
  TokenAccepted: "The token has what the key asks of it, whatever its signature is.",
  TokenRefused: "The key does not accept the token.",
  SignatureNotChecked: "Nothing says yet whether the issuer of the token signed it.",
} as const;

/** Name of a reason. */
export type ReportReason = keyof typeof reportReasons;
