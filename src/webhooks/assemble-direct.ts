import { authorizerFieldManager, ownObjects } from "../api/names.ts";
import { ownLocations } from "../authn/guarded-namespaces.ts";
import { Certificates } from "../certificates/certificates.ts";
import { webhookPaths } from "../domain/webhook/webhook-paths.ts";
import { createClient } from "../kube/client/client.ts";
import { createDiscovery } from "../kube/client/discovery.ts";
import { ServerProbe } from "../kube/client/server-version.ts";
import {
  type OutwardConnectionDeps,
  ownTransport,
  provingInformerDeps,
} from "../kube/process-connection.ts";
import { followIssuer, type FollowIssuerOptions } from "../published/follow-issuer.ts";
import type { WebhookAssembly } from "./assemble.ts";
import { accessReviewResults, directAccessReviewHandler } from "./access-review.ts";
import { apiServerName, reviewCounter, reviewRoute } from "./review-route.ts";

/** Options of the authorizer of a connected cluster. */
interface DirectAuthorizerOptions extends FollowIssuerOptions {
  readonly serviceName: string;
  /** DNS names in addition to those of the Service. */
  readonly certificateNames: readonly string[];
  /** The name of the cluster in scopes; `<project>/<name>` of a virtual cluster. */
  readonly clusterName: string;
  /** The namespace of a virtual cluster in the cluster that runs it. */
  readonly virtualClusterNamespace: string | undefined;
}

/** Builds the authorizer of a connected cluster without its servers; nothing runs yet. */
export function assembleDirectAuthorizer(
  options: DirectAuthorizerOptions,
  deps: OutwardConnectionDeps,
): WebhookAssembly {
  const { clock, log, metrics } = deps;
  const { namespace, serviceName } = options;
  const transport = ownTransport(deps);
  const client = createClient(transport, authorizerFieldManager);
  const following = provingInformerDeps(transport, deps);
  const ignore = (): void => {};
  const { revoked, roles, parts } = followIssuer(options, {
    ...deps,
    client,
    secretName: ownObjects.authorizerKeys,
    onKeys: ignore,
    onList: ignore,
  });
  const discovery = createDiscovery({ transport, clock, log });
  const locations = ownLocations(options, { ...following, client, metrics, onChange: ignore });
  const probe = new ServerProbe(transport, clock);
  const externalNames = options.certificateNames;
  const certificates = new Certificates(
    "authorizer",
    { namespace, serviceName, externalNames, clientName: apiServerName },
    { ...following, client, metrics },
  );
  const handler = directAccessReviewHandler({
    revoked,
    roles,
    discovery,
    namespace,
    locations,
    onResult: reviewCounter("access", accessReviewResults, metrics),
  });
  return {
    routes: [
      reviewRoute({ path: webhookPaths.accessReview, handler }, { clock, metrics, certificates }),
    ],
    isAdmissionSegment: () => false,
    parts: [
      ...[transport, ...parts, locations, probe, discovery],
      { warnings: () => certificates.warnings() },
    ],
    certificates,
  };
}
