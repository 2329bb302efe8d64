import { group } from "../../api/names.ts";

/**
 * Domains of keys that Kubernetes and Latchkey interpret (Kubernetes, "Well-Known Labels,
 * Annotations and Taints": `kubernetes.io` and `k8s.io` are reserved).
 */
const reservedDomains: readonly string[] = [group, "kubernetes.io", "k8s.io"];

/**
 * Whether the key of a label or annotation belongs to Kubernetes or to Latchkey, so that no list
 * allows it on copies; the case of its domain does not count.
 */
export function isReservedKey(key: string): boolean {
  const domain = domainOf(key);
  return reservedDomains.some(
    (reserved) => domain === reserved || domain?.endsWith(`.${reserved}`) === true,
  );
}

/**
 * Returns whether the copies in a namespace may have the key of a label or annotation: the list of
 * the namespace, as `readNamespace` returns it, has the key, or its domain as `<domain>/*`.
 */
export function copyKeyFilter(allowCopyKeys: string | undefined): (key: string) => boolean {
  const entries = new Set(allowCopyKeys?.split(",").map((entry) => entry.trim()));
  return (key) => {
    const domain = domainOf(key);
    return entries.has(key) || (domain !== undefined && entries.has(`${domain}/*`));
  };
}

/** Maximum characters of the annotation `allow-copy-keys`; a longer one allows nothing. */
const longestAllowList = 4096;

/**
 * The list of the keys that the copies in a namespace may have: those that the controller allows
 * everywhere, and those of the annotation `allow-copy-keys`; undefined without both.
 */
export function allowedCopyKeys(
  annotation: string | undefined,
  everywhere: readonly string[],
): string | undefined {
  const own = annotation === undefined || annotation.length > longestAllowList ? [] : [annotation];
  const lists = [...everywhere, ...own];
  return lists.length === 0 ? undefined : lists.join(",");
}

function domainOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash === -1 ? undefined : key.slice(0, slash).toLowerCase();
}
