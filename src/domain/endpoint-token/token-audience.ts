import { annotations } from "../../api/names.ts";
import type { ScopeLimit } from "../../api/scope.ts";
import { annotationField, quoted } from "../report-object.ts";
import { upstreamNamePattern } from "../gateway/request-target.ts";

/**
 * The claim `aud` of a direct token (RFC 7519, section 4.1.3), or why the token has none: it would
 * be for several clusters, or for one that no cluster can be.
 */
type TokenAudience =
  | { readonly kind: "valid"; readonly audience: string }
  | { readonly kind: "invalid"; readonly message: string };

/** What decides which cluster a direct token is for. */
interface AudienceOptions {
  /** The value of the annotation `audience-cluster`; undefined without it. */
  readonly annotation: string | undefined;
  /** The scope of the token and those of its parent keys, which must all allow a request. */
  readonly scopes: readonly ScopeLimit[];
}

/** The audiences that a connected cluster accepts depend on these options. */
export interface ClusterAudienceOptions {
  /** The audience of tokens for all connected clusters. */
  readonly audience: string;
  /** `<cluster>`, or `<project>/<name>` of a virtual cluster. */
  readonly clusterName: string;
  readonly ownAudienceOnly: boolean;
}

/**
 * The audience of a token: that of the cluster that its annotation names, or outside of which its
 * scopes cover nothing. Without either it is `common`, which every connected cluster accepts.
 */
export function tokenAudience(
  common: string,
  { annotation, scopes }: AudienceOptions,
): TokenAudience {
  if (annotation !== undefined && !isClusterName(annotation))
    return {
      kind: "invalid",
      message:
        `${field} is ${quoted(annotation)}; must be the name of a connected cluster, such as ` +
        '"east", or a project and the name of a virtual cluster, such as "web/dev". Create ' +
        "another token.",
    };
  const named = [annotation, ...scopes.map(soleCluster)].filter((name) => name !== undefined);
  const [cluster, other] = new Set(named);
  if (other === undefined) return { kind: "valid", audience: audienceOf(common, cluster) };
  return {
    kind: "invalid",
    message:
      `The token is for clusters ${quoted(cluster ?? "")} and ${quoted(other)} at once: ` +
      `${field}, spec.scope and the scopes of its access key must not name different ` +
      "clusters. Create another token.",
  };
}

const field = annotationField(annotations.audienceCluster);

/** The audiences that a connected cluster accepts, its own one first. */
export function acceptedAudiences({
  audience,
  clusterName,
  ownAudienceOnly,
}: ClusterAudienceOptions): readonly string[] {
  const own = audienceOf(audience, clusterName);
  return ownAudienceOnly ? [own] : [own, audience];
}

/** The audience of one cluster, which no other cluster accepts; `common` without a cluster. */
function audienceOf(common: string, cluster: string | undefined): string {
  return cluster === undefined ? common : `${common}/${cluster}`;
}

const clusterNames = new RegExp(`^${upstreamNamePattern}(?:/${upstreamNamePattern})?$`);

/** Whether a text is the name of a cluster, or `<project>/<name>` of a virtual cluster. */
function isClusterName(text: string): boolean {
  return clusterNames.test(text);
}

/**
 * The cluster outside of which a scope covers nothing, so that it can only be about this one;
 * undefined if it could cover something elsewhere. (The policy latchkey-token-audience must agree.)
 */
function soleCluster(scope: ScopeLimit): string | undefined {
  if (scope === "none" || scope === "unreadable") return undefined;
  const { roles, projects, spaces, virtualClusters, clusters, rules } = scope;
  if ([roles, projects, spaces, virtualClusters].some((entries) => entries.length > 0))
    return undefined;
  const [cluster, other] = new Set([...clusters, ...rules.map((rule) => rule.cluster)]);
  return cluster !== undefined && other === undefined && singleName.test(cluster)
    ? cluster
    : undefined;
}

const singleName = new RegExp(`^${upstreamNamePattern}$`);
