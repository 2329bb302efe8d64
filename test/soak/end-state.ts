import { apiVersion, labels } from "../../src/api/names.ts";
import { listAt } from "../../src/api/parse.ts";
import { isRaw, nameOf, type Raw } from "../specification/raw.ts";
import { mark } from "../specification/consent.ts";
import { problemsAtRest } from "../specification/rest.ts";
import { objectsOf, type Stored } from "../specification/stored.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { ownValues, placeholderLabel, placeholders } from "./objects.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const labelled = (label: string): string => `?labelSelector=${encodeURIComponent(label)}`;

/** What the end state is judged by: of Roles and bindings, those of Latchkey. */
const paths: Readonly<Record<string, string>> = {
  sharedsecrets: `/apis/${apiVersion}/sharedsecrets`,
  namespaces: "/api/v1/namespaces",
  secrets: "/api/v1/secrets",
  roles: `${rbac}/roles${labelled(labels.sourceUid)}`,
  rolebindings: `${rbac}/rolebindings${labelled(labels.sourceUid)}`,
  ownedaccesskeys: `/apis/${apiVersion}/ownedaccesskeys`,
  directclusterendpointtokens: `/apis/${apiVersion}/directclusterendpointtokens`,
  clusterroles: `${rbac}/clusterroles${labelled(labels.requesterHash)}`,
  clusterrolebindings: `${rbac}/clusterrolebindings${labelled(labels.requesterHash)}`,
};

/** The differences in a cluster, read as the administrator. */
export async function differences(cluster: ProxiedCluster): Promise<readonly string[]> {
  const objects = new Map<string, Raw>();
  for (const [plural, path] of Object.entries(paths)) {
    const items = listAt(await cluster.arrange({ method: "GET", path }), "items").filter(isRaw);
    for (const object of items) objects.set(`${plural}/${nameOf(object.metadata)}`, object);
  }
  return differencesIn({ objects, now: Date.now() });
}

/** In seconds. */
const longLife = 3_600;

/** What is not as the specification says; no sentence has a secret. */
export function differencesIn(stored: Stored): readonly string[] {
  const secrets = objectsOf(stored, "secrets");
  const names = new Set(secrets.map(({ metadata }) => nameOf(metadata)));
  const own: readonly string[] = Object.values(ownValues);
  const isBare = ({ data = {} }: Raw): boolean =>
    Object.values(data).every((one) => own.includes(one));
  const owned = ["ownedaccesskeys", "directclusterendpointtokens"];
  return [
    ...problemsAtRest(stored),
    // A repair of what was undone often is tried again only after a minute.
    ...objectsOf(stored, "sharedsecrets")
      .filter(({ status }) => status?.conditions?.some(({ reason }) => reason === "ApplyFailed"))
      .map(({ metadata }) => `${nameOf(metadata)} says that it cannot be applied`),
    ...placeholders.flatMap((place) =>
      names.has(nameOf(place)) ? [] : [`${nameOf(place)} is gone`],
    ),
    ...secrets
      .filter(({ metadata }) => metadata.labels?.[placeholderLabel] !== undefined)
      .filter((secret) => mark(secret, "copy-of") === undefined && !isBare(secret))
      .map(({ metadata }) => `${nameOf(metadata)} has data of others without a mark`),
    ...owned
      .flatMap((plural) => objectsOf(stored, plural))
      .filter(({ spec }) => (spec?.ttl ?? longLife) < longLife)
      .map(({ metadata }) => `${metadata.name} has a short lifetime, and still exists`),
  ];
}
