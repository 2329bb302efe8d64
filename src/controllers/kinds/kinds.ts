import type { ReadStore } from "../../kube/informer/store.ts";
import type { Stores } from "../stores.ts";
import { connectorDataKind } from "./connector-data.ts";
import { copyKind, placeholderKind, unmanagedSecretKind } from "./copy.ts";
import { roleBindingKind, roleKind } from "./derived-objects.ts";
import { endpointTokenKind } from "./endpoint-token.ts";
import { grantBindingKind, grantRoleKind } from "./grant-role.ts";
import { namespaceKind, resourceQuotaKind } from "./namespace.ts";
import { ownedAccessKeyKind, scopeRoleKind } from "./owned-access-key.ts";
import { revokedTokensKind } from "./revoked-tokens.ts";
import { sharedSecretKind } from "./shared-secret.ts";
import { signingKeysKind } from "./signing-keys.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/**
 * Watches all kinds and returns their stores; the policies that record requesters are watched
 * separately.
 */
export function watchKinds(
  context: KindContext,
  watch: <T>(kind: WatchedKind<T>) => ReadStore<T>,
): Omit<Stores, "requesterPolicies"> {
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
  };
}
