import type { Metadata } from "../../api/object.ts";
import { type PolicyStores, requesterPolicyInformers } from "../../authn/requester-policies.ts";
import type { InformerDeps } from "../../kube/informer/informer-options.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Reconciler } from "../reconciler.ts";
import type { Stores } from "../stores.ts";
import { connectorDataKind } from "./connector-data.ts";
import { copyKind, placeholderKind, unmanagedSecretKind } from "./copy.ts";
import { clusterKind } from "./cluster.ts";
import { agentLeaseKind, clusterReportKind } from "./cluster-agent.ts";
import { roleBindingKind, roleKind } from "./derived-objects.ts";
import { endpointTokenKind } from "./endpoint-token.ts";
import { grantBindingKind, grantRoleKind } from "./grant-role.ts";
import { namespaceKind, resourceQuotaKind } from "./namespace.ts";
import { outboxKind } from "./outbox.ts";
import { ownedAccessKeyKind, scopeRoleKind } from "./owned-access-key.ts";
import { revokedTokensKind } from "./revoked-tokens.ts";
import { sharedSecretKind } from "./shared-secret.ts";
import { signingKeysKind } from "./signing-keys.ts";
import type { KindContext, Watch } from "./watched-kind.ts";

/** What a process that reconciles watches. */
export interface Watched {
  /** Watches all kinds and returns their stores. */
  readonly kinds: (context: KindContext, watch: Watch) => Omit<Stores, "requesterPolicies">;
  /** Follows the policies that record requesters. */
  readonly requesterPolicies: (
    deps: InformerDeps,
    onChange: () => void,
  ) => { readonly informers: readonly Informer<Metadata>[]; readonly stores: PolicyStores };
  /** Reconcilers of keys that belong to no watched kind. */
  readonly reconcilers: readonly Reconciler[];
}

/**
 * Watches all kinds and returns their stores; the policies that record requesters are watched
 * separately.
 */
function watchKinds(context: KindContext, watch: Watch): Omit<Stores, "requesterPolicies"> {
  return {
    sharedSecrets: watch(sharedSecretKind(context)),
    namespaces: watch(namespaceKind(context)),
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
    scopeRoles: watch(scopeRoleKind()),
    clusters: watch(clusterKind()),
    outboxes: watch(outboxKind(context)),
    clusterReports: watch(clusterReportKind()),
    agentLeases: watch(agentLeaseKind()),
  };
}

/** What the controller of the central cluster watches. */
export const centralKinds: Watched = {
  kinds: watchKinds,
  requesterPolicies: requesterPolicyInformers,
  reconcilers: [],
};
