// Generated from crds/sharedsecrets.yaml. Do not edit: change that file, then run "npm run generate".
import type { ManifestMetadata } from "../object.ts";

/**
 * Sensitive data that is shared across users and teams, and synced into the namespaces of projects.
 */
export interface SharedSecret {
  apiVersion: "management.service/v1";
  kind: "SharedSecret";
  metadata: ManifestMetadata;
  spec?: SharedSecretSpec;
  status?: SharedSecretStatus;
}
/**
 * What is shared, and with whom.
 */
export interface SharedSecretSpec {
  /**
   * Name shown in user interfaces.
   */
  displayName?: string;
  /**
   * Describes the shared secret.
   */
  description?: string;
  owner?: Owner;
  /**
   * The secret data. A key consists of letters, digits, '-', '_' and '.'; a value is arbitrary data in base64
   * (RFC 4648 section 4: with padding, without line breaks).
   */
  data?: {
    [k: string]: string;
  };
  /**
   * Who may do what with this object. The rules become Roles and RoleBindings beside it.
   */
  access?: AccessRule[];
}
/**
 * Who owns the object. The owner may do everything with it; fields beside user and team are kept as they are.
 */
export interface Owner {
  /**
   * The user that owns the object.
   */
  user?: string;
  /**
   * The team that owns the object.
   */
  team?: string;
  [k: string]: unknown;
}
export interface AccessRule {
  /**
   * Optional name of the rule.
   */
  name?: string;
  /**
   * The verbs the rule grants: get, list, watch, update, patch and delete. "*" is all six.
   */
  verbs?: string[];
  /**
   * The subresources the rule covers too: status, or "*".
   */
  subresources?: string[];
  /**
   * The users the rule is for. "*" is every authenticated user.
   */
  users?: string[];
  /**
   * The teams the rule is for. "*" is every authenticated user.
   */
  teams?: string[];
}
/**
 * What was observed; written by Latchkey alone.
 */
export interface SharedSecretStatus {
  /**
   * The metadata.generation this status was written for; -1 until a controller has seen the object.
   */
  observedGeneration?: number;
  /**
   * What is true of the object now, one entry per type of condition.
   */
  conditions?: Condition[];
  /**
   * How many data keys there are.
   */
  keys?: number;
  access?: AccessStatus;
  sync?: SyncStatus;
}
/**
 * One aspect of the object's state, as metav1.Condition defines it.
 */
export interface Condition {
  /**
   * What the condition is about, for example Ready.
   */
  type: string;
  /**
   * Whether the condition holds.
   */
  status: "True" | "False" | "Unknown";
  /**
   * The metadata.generation this condition was set for.
   */
  observedGeneration?: number;
  /**
   * When status last changed. RFC 3339.
   */
  lastTransitionTime: string;
  /**
   * Why, as one CamelCase word for programs.
   */
  reason: string;
  /**
   * Why, as a sentence for people.
   */
  message: string;
}
/**
 * What grants access.
 */
export interface AccessStatus {
  /**
   * How many Roles there are.
   */
  roles?: number;
  /**
   * How many RoleBindings there are.
   */
  bindings?: number;
}
/**
 * How the copies in project namespaces are doing.
 */
export interface SyncStatus {
  /**
   * How many copies there should be.
   */
  desired?: number;
  /**
   * How many copies are as they should be.
   */
  synced?: number;
  /**
   * At how many targets a Secret of somebody else is in the way.
   */
  conflicts?: number;
  /**
   * At how many targets the write was refused.
   */
  failed?: number;
  /**
   * The first ten targets with a conflict or a failure.
   */
  failures?: SyncFailure[];
}
export interface SyncFailure {
  /**
   * Namespace of the target.
   */
  namespace?: string;
  /**
   * Name of the Secret.
   */
  name?: string;
  /**
   * Why, as one CamelCase word for programs.
   */
  reason?: string;
  /**
   * Why, as a sentence for people.
   */
  message?: string;
}
