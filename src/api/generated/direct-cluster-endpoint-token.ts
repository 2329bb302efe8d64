// Generated from crds/directclusterendpointtokens.yaml. Do not edit: change that file, then run "npm run generate".
import type { ManifestMetadata } from "../object.ts";

/**
 * A token for connecting directly to a connected cluster, past the central instance.
 */
export interface DirectClusterEndpointToken {
  apiVersion: "management.service/v1";
  kind: "DirectClusterEndpointToken";
  metadata: ManifestMetadata;
  spec?: DirectClusterEndpointTokenSpec;
  status?: DirectClusterEndpointTokenStatus;
}
/**
 * How long and how far the token reaches. It never changes after creation, and may be empty.
 */
export interface DirectClusterEndpointTokenSpec {
  /**
   * Time to live of the token, in seconds. 0 or absent means one hour; a longer life than the configured maximum is cut to it.
   */
  ttl?: number;
  scope?: Scope;
}
/**
 * What the token may be used for. It narrows what its requester may do and never grants anything; absent means no narrowing.
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
 * What was observed; written by Latchkey alone.
 */
export interface DirectClusterEndpointTokenStatus {
  /**
   * The metadata.generation this status was written for; -1 until a controller has seen the object.
   */
  observedGeneration?: number;
  /**
   * What is true of the object now, one entry per type of condition.
   */
  conditions?: Condition[];
  /**
   * The issued token, to be sent as a bearer token. It is removed when it has expired.
   */
  token?: string;
  /**
   * When the token stops working. RFC 3339.
   */
  expiresAt?: string;
  /**
   * Identifier of the key that signed the token.
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
