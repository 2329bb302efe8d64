// Generated from crds/ownedaccesskeys.yaml. Do not edit: change that file, then run "npm run generate".
import type { ManifestMetadata } from "../object.ts";

/**
 * An access key, used as a bearer token where nobody can log in, such as in CI/CD pipelines.
 */
export interface OwnedAccessKey {
  apiVersion: "management.service/v1";
  kind: "OwnedAccessKey";
  metadata: ManifestMetadata;
  spec?: OwnedAccessKeySpec;
  status?: OwnedAccessKeyStatus;
}
/**
 * Whom the key acts as, for how long and how far.
 */
export interface OwnedAccessKeySpec {
  /**
   * Name shown in user interfaces.
   */
  displayName?: string;
  /**
   * Describes the key.
   */
  description?: string;
  /**
   * The user the key acts as.
   */
  user?: string;
  /**
   * The team the key acts as.
   */
  team?: string;
  /**
   * A generic subject the key acts as, instead of a user or a team.
   */
  subject?: string;
  /**
   * Extra groups that apply when the key is used.
   */
  groups?: string[];
  /**
   * The access key, used as a bearer token. Either the plain key, of 16 to 512 characters out of A-Z a-z 0-9 . _ ~ + / = -,
   * or a digest, so that a manifest in Git holds no secret. A digest is bound to what the key acts as: "sha256:", the first
   * 16 lower-case hex digits of the key's SHA-256, ".", and the SHA-256 of the key, a newline and "user:<name>",
   * "team:<name>" or "subject:<name>". The digest of the key alone, "sha256:" and 64 lower-case hex digits, works too, but who
   * reads it can claim it first. Left empty, Latchkey's webhook makes a key; an update that leaves it out keeps it.
   */
  key?: string;
  /**
   * Whether the key is switched off; the object stays, and requests with the key are refused.
   */
  disabled?: boolean;
  /**
   * Time to live of the key, in seconds. 0 or absent means that it does not expire.
   */
  ttl?: number;
  /**
   * Whether the time to live starts at status.lastActivity rather than at metadata.creationTimestamp.
   */
  ttlAfterLastActivity?: boolean;
  scope?: Scope;
  /**
   * Whether the key is managed by a user or by the service itself. User is the former.
   */
  type?: string;
  identity?: Identity;
  /**
   * When the identity was last refreshed. RFC 3339.
   */
  identityRefresh?: string;
  oidcProvider?: OidcProvider;
  /**
   * The key whose login data this key shares.
   *
   * Deprecated: use identity.
   */
  parent?: string;
  oidcLogin?: OidcLogin;
}
/**
 * What the key may be used for. It narrows what its subject may do and never grants anything; absent means no narrowing.
 */
export interface Scope {
  /**
   * Named bundles of management permissions that are in scope.
   */
  roles?: ScopeRole[];
  /**
   * Projects that are in scope, with everything inside them.
   */
  projects?: ScopeProject[];
  /**
   * Spaces that are in scope, with everything inside them.
   */
  spaces?: ScopeSpace[];
  /**
   * Virtual clusters that are in scope, with everything inside them.
   */
  virtualClusters?: ScopeVirtualCluster[];
  /**
   * Connected clusters that are in scope, with everything inside them.
   */
  clusters?: ScopeCluster[];
  /**
   * Requests that are in scope, described one by one; a request is in scope when any rule matches it.
   *
   * Deprecated: use projects, spaces and virtualClusters.
   */
  rules?: ScopeRule[];
  /**
   * Allows the read-only management requests that the command-line client needs.
   *
   * Deprecated: use roles with the role serviceCLI.
   */
  allowServiceCli?: boolean;
}
export interface ScopeRole {
  /**
   * Name of the role. serviceCLI is built in; it covers the read-only management requests of the command-line client.
   */
  role?: string;
  /**
   * The projects the role is narrowed to. Empty means no narrowing.
   */
  projects?: string[];
  /**
   * The virtual clusters the role is narrowed to. Empty means no narrowing.
   */
  virtualClusters?: string[];
}
export interface ScopeProject {
  /**
   * Name of the project. "*" is every project.
   */
  project?: string;
}
export interface ScopeSpace {
  /**
   * Name of the project the space belongs to.
   */
  project?: string;
  /**
   * Name of the space. "*" is every space.
   */
  space?: string;
}
export interface ScopeVirtualCluster {
  /**
   * Name of the project the virtual cluster belongs to.
   */
  project?: string;
  /**
   * Name of the virtual cluster. "*" is every virtual cluster.
   */
  virtualCluster?: string;
}
export interface ScopeCluster {
  /**
   * Name of the connected cluster. "*" is every connected cluster.
   */
  cluster?: string;
}
export interface ScopeRule {
  /**
   * The verbs that match. Empty means every verb.
   */
  verbs?: string[];
  /**
   * The kinds that match. Empty means all kinds in all API groups.
   */
  resources?: ScopeRuleResources[];
  /**
   * The names of instances that match; needs resources. Empty means every instance.
   */
  resourceNames?: string[];
  /**
   * The namespaces that match. The empty string matches what is in no namespace. Empty means every namespace.
   */
  namespaces?: string[];
  /**
   * The URL paths that match. A * is allowed only as the whole last step, as in /healthz/*; * alone is every path.
   */
  nonResourceURLs?: string[];
  /**
   * The targets of requests that match. Empty means every request.
   */
  requestTargets?: ("Management" | "Cluster" | "ProjectSpace" | "ProjectVirtualCluster")[];
  /**
   * The connected cluster that matches. Where it is set, requests to anything but a cluster do not match. Empty means no restriction.
   */
  cluster?: string;
  /**
   * The virtual clusters that match; only for requests to virtual clusters. Empty means no restriction.
   */
  virtualClusters?: ScopeRuleVirtualCluster[];
}
export interface ScopeRuleResources {
  /**
   * Name of the API group. The empty string is the core group.
   */
  group?: string;
  /**
   * The resources of the group that match: pods is pods but not their subresources, pods/log is the log of pods,
   * pods/* is every subresource of pods, * /scale is the scale of every resource, * is all resources and subresources.
   * With wildcards, the entries must not overlap. Empty means all resources and subresources of the group.
   */
  resources?: string[];
}
export interface ScopeRuleVirtualCluster {
  /**
   * Name of the virtual cluster. Empty means all.
   */
  name?: string;
  /**
   * Namespace of the virtual cluster. Empty means all.
   */
  namespace?: string;
}
/**
 * Data of the single sign-on login the key comes from.
 */
export interface Identity {
  /**
   * Subject of the user at the identity provider.
   */
  userId?: string;
  /**
   * Username.
   */
  username?: string;
  /**
   * Preferred username or display name.
   */
  preferredUsername?: string;
  /**
   * E-mail address of the user.
   */
  email?: string;
  /**
   * Whether the e-mail address was verified.
   */
  emailVerified?: boolean;
  /**
   * Groups from the identity provider.
   */
  groups?: string[];
  /**
   * Name of the connector the key was created from.
   */
  connector?: string;
  /**
   * Data of the connector, such as upstream tokens. It is hidden, so that it can never be read, and may not be stored here.
   */
  connectorData?: string;
}
/**
 * If the key holds a refresh token, information about its provider. Its fields are kept as they are.
 */
export interface OidcProvider {
  [k: string]: unknown;
}
/**
 * Login data.
 *
 * Deprecated: use identity.
 */
export interface OidcLogin {
  /**
   * Current ID token of the login.
   */
  idToken?: string;
  /**
   * Current access token of the login.
   */
  accessToken?: string;
  /**
   * Current refresh token of the login.
   */
  refreshToken?: string;
  /**
   * When the ID token was last refreshed. RFC 3339.
   */
  lastRefresh?: string;
}
/**
 * What was observed; written by Latchkey alone.
 */
export interface OwnedAccessKeyStatus {
  /**
   * The metadata.generation this status was written for; -1 until a controller has seen the object.
   */
  observedGeneration?: number;
  /**
   * What is true of the object now, one entry per type of condition.
   */
  conditions?: Condition[];
  /**
   * When the key was last used to reach the API. RFC 3339.
   */
  lastActivity?: string;
  /**
   * When the key stops working; absent if it does not expire. RFC 3339.
   */
  expiresAt?: string;
  /**
   * Identifier of the key, safe to show.
   */
  keyID?: string;
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
