import { apiVersion, labels } from "../../src/api/names.ts";
import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { placeholderLabel } from "./objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** All objects of an end state, as stored in the API server. */
export interface Seen {
  readonly sharedSecrets: readonly Json[];
  readonly namespaces: readonly Json[];
  readonly copies: readonly Json[];
  /** Secrets of users, filled or not. */
  readonly placeholders: readonly Json[];
  readonly roles: readonly Json[];
  readonly bindings: readonly Json[];
  readonly keys: readonly Json[];
  readonly tokens: readonly Json[];
  readonly grants: readonly Json[];
  readonly grantBindings: readonly Json[];
}

/** Expected and actual statements about the objects; none contains a secret. */
export type Sentences = readonly [expected: readonly string[], found: readonly string[]];

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** Reads all objects as the administrator. */
export async function see(cluster: ProxiedCluster): Promise<Seen> {
  const list = async (path: string): Promise<readonly Json[]> =>
    listAt(await cluster.arrange({ method: "GET", path }), "items").filter(isRecord);
  const labelled = (label: string): string => `?labelSelector=${encodeURIComponent(label)}`;
  return {
    sharedSecrets: await list(`/apis/${apiVersion}/sharedsecrets`),
    namespaces: await list("/api/v1/namespaces"),
    copies: await list(`/api/v1/secrets${labelled(`${labels.sourceUid},!${placeholderLabel}`)}`),
    placeholders: await list(`/api/v1/secrets${labelled(placeholderLabel)}`),
    roles: await list(`${rbac}/roles${labelled(labels.sourceUid)}`),
    bindings: await list(`${rbac}/rolebindings${labelled(labels.sourceUid)}`),
    keys: await list(`/apis/${apiVersion}/ownedaccesskeys`),
    tokens: await list(`/apis/${apiVersion}/directclusterendpointtokens`),
    grants: await list(`${rbac}/clusterroles${labelled(labels.requesterHash)}`),
    grantBindings: await list(`${rbac}/clusterrolebindings${labelled(labels.requesterHash)}`),
  };
}

/** `namespace/name` of an object, or its name. */
export function nameOf(object: unknown): string {
  const metadata = recordAt(object, "metadata");
  return [stringAt(metadata, "namespace"), stringAt(metadata, "name")]
    .filter((part) => part !== undefined)
    .join("/");
}

/** The uid of an object. */
export const uidOf = (object: unknown): string =>
  stringAt(recordAt(object, "metadata"), "uid") ?? "";

/** A label of an object. */
export const labelOf = (object: unknown, label: string): string | undefined =>
  stringAt(recordAt(recordAt(object, "metadata"), "labels"), label);

/** An annotation of an object. */
export const noteOf = (object: unknown, annotation: string): string | undefined =>
  stringAt(recordAt(recordAt(object, "metadata"), "annotations"), annotation);

/** The spec of an object. */
export const specOf = (object: unknown): Json => recordAt(object, "spec");

/** A map as text, whatever the order of its keys. */
export const sorted = (map: Readonly<Record<string, string>>): string =>
  JSON.stringify(
    Object.keys(map)
      .sort()
      .map((field) => [field, map[field]]),
  );
