import type { EndpointToken } from "../api/endpoint-token.ts";
import type { Metadata } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { ObservedRoleBinding, GrantRole, ObservedRole } from "../api/role.ts";
import type { ObservedIssuers } from "../authn/issuer-config.ts";
import type { PolicyStores } from "../domain/requester/installed-policies.ts";
import type { ObservedConnectorSecret } from "../domain/access-key/connector-data.ts";
import type { ObservedOutboxSecret } from "../domain/outbox/outbox-secret.ts";
import type { ClusterReport, UnknownSource } from "../domain/outbox/cluster-report.ts";
import type { ConnectedCluster } from "../domain/outbox/consents.ts";
import type { RevokedTokensConfigMap } from "../domain/endpoint-token/revoked-tokens.ts";
import { syncIndexes } from "../domain/sync/sync-objects.ts";
import type { ReadStore } from "../kube/informer/store.ts";
import type { LeaseRecord } from "../kube/lease-record.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import type { SyncStores } from "./sync-state.ts";

/** A Secret that connects a cluster. */
export interface ClusterSecret {
  readonly metadata: Metadata;
  readonly cluster: ConnectedCluster;
}

/** A ConfigMap with reports of an agent. */
export interface ReportConfigMap {
  readonly metadata: Metadata;
  readonly report: ClusterReport;
  /** The sources that the report names as unknown, by the name of their Secret in the outbox. */
  readonly unknown: ReadonlyMap<string, UnknownSource>;
}

/** The caches of the informers of the central cluster, from which reconciles decide. */
export interface Stores extends SyncStores {
  readonly roles: ReadStore<ObservedRole>;
  readonly roleBindings: ReadStore<ObservedRoleBinding>;
  readonly clusterRoles: ReadStore<GrantRole>;
  readonly clusterRoleBindings: ReadStore<ObservedRoleBinding>;
  readonly keys: ReadStore<ObservedAccessKey>;
  readonly tokens: ReadStore<EndpointToken>;
  readonly requesterPolicies: PolicyStores;
  readonly signingKeys: ReadStore<ObservedSigningKeys>;
  /** ConfigMaps of Latchkey's own namespace with the revoked tokens. */
  readonly revokedTokens: ReadStore<RevokedTokensConfigMap>;
  /** Secrets of Latchkey's own namespace with the connector data of keys. */
  readonly connectorData: ReadStore<ObservedConnectorSecret>;
  /** The ConfigMap with the issuers whose tokens stand for keys. */
  readonly issuers: ReadStore<ObservedIssuers>;
  /** ClusterRoles that scopes may name. */
  readonly scopeRoles: ReadStore<ObservedRole>;
  /** Secrets that connect clusters; the oldest of a name counts. */
  readonly clusters: ReadStore<ClusterSecret>;
  /** Secrets in the outboxes of connected clusters. */
  readonly outboxes: ReadStore<ObservedOutboxSecret>;
  /** ConfigMaps in the outboxes, in which agents report. */
  readonly clusterReports: ReadStore<ReportConfigMap>;
  /** Leases in the outboxes: the heartbeats of the agents. */
  readonly agentLeases: ReadStore<LeaseRecord>;
}

/** Index names of the stores. */
export const indexes = {
  ...syncIndexes,
  sourceUid: "source-uid",
  requester: "requester",
  parentKey: "parent-key",
  scopeRole: "scope-role",
  connectorData: "connector-data",
  issuer: "issuer",
  grantedName: "granted-name",
  clusterName: "cluster-name",
  outboxName: "outbox-name",
  outboxShare: "outbox-share",
  withdrawn: "withdrawn",
} as const;
