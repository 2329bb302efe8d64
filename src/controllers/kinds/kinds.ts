import type { Metadata } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import { requesterPolicy, requesterPolicyStores } from "../../authn/requester-policies.ts";
import type { Stores } from "../stores.ts";
import type { World } from "../world.ts";
import { connectorDataKind } from "./connector-data.ts";
import { copyKind, placeholderKind, unmanagedSecretKind } from "./copy.ts";
import { clusterKind } from "./cluster.ts";
import { agentLeaseKind, clusterReportKind } from "./cluster-agent.ts";
import { roleBindingKind, roleKind } from "./derived-objects.ts";
import { endpointTokenKind } from "./endpoint-token.ts";
import { grantBindingKind, grantRoleKind } from "./grant-role.ts";
import { resourceQuotaKind } from "./namespace.ts";
import { centralNamespaceKind, outboxKind } from "./outbox.ts";
import { issuersKind, ownedAccessKeyKind, scopeRoleKind } from "./owned-access-key.ts";
import { revokedTokensKind } from "./revoked-tokens.ts";
import { sharedSecretKind } from "./shared-secret.ts";
import { sourceSecretReconciler } from "./source-secret.ts";
import { signingKeysKind } from "./signing-keys.ts";
import type { KindContext, Watch, Watched, WatchedKind } from "./watched-kind.ts";

/** Watches all kinds and returns their stores. */
function watchKinds(context: KindContext<Stores>, watch: Watch<World>): Stores {
  return {
    sharedSecrets: watch(sharedSecretKind(context)),
    namespaces: watch(centralNamespaceKind(context)),
    copies: watch(copyKind(context)),
    placeholders: watch(placeholderKind(context)),
    unmanagedSecrets: watch(unmanagedSecretKind(context)),
    roles: watch(roleKind()),
    roleBindings: watch(roleBindingKind()),
    clusterRoles: watch(grantRoleKind()),
    clusterRoleBindings: watch(grantBindingKind()),
    resourceQuotas: watch(resourceQuotaKind()),
    keys: watch(ownedAccessKeyKind()),
    tokens: watch(endpointTokenKind()),
    signingKeys: watch(signingKeysKind(context)),
    revokedTokens: watch(revokedTokensKind(context)),
    connectorData: watch(connectorDataKind(context)),
    issuers: watch(issuersKind(context)),
    scopeRoles: watch(scopeRoleKind()),
    clusters: watch(clusterKind()),
    outboxes: watch(outboxKind(context)),
    clusterReports: watch(clusterReportKind()),
    agentLeases: watch(agentLeaseKind()),
    requesterPolicies: requesterPolicyStores((resource, name) =>
      watch(requesterPolicyKind(resource, name)),
    ),
  };
}

/** What the controller of the central cluster watches. */
export const centralKinds: Watched<World> = {
  kinds: watchKinds,
  reconcilers: [sourceSecretReconciler],
};

/** A policy that records or protects requesters: it decides which of them are verified. */
function requesterPolicyKind(resource: Resource, name: string): WatchedKind<Metadata, World> {
  return {
    ...requesterPolicy(resource, name),
    isReadOnly: true,
    enqueue: (_, enqueuer) => {
      for (const { queue, key } of enqueuer.requested()) queue.add(key, "low");
    },
  };
}
