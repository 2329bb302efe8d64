import { keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { SizeOf } from "../kube/http-client.ts";
import type { Stores } from "./stores.ts";

/** Bytes of an object of which nothing is known (etcd, --max-request-bytes). */
const largestObject = 1.5 * 1024 * 1024;

/**
 * Knows about how many bytes an object has from what the stores hold; kinds whose objects are small
 * count for nothing.
 */
export function sizeOfIn({ sharedSecrets }: Pick<Stores, "sharedSecrets">): SizeOf {
  return (resource, ref) => {
    if (resource === resources.sharedSecrets)
      return (
        sharedSecrets.get(keyOf({ namespace: ref.namespace ?? "", name: ref.name }))?.size ??
        largestObject
      );
    return resource === resources.secrets ? largestObject : 0;
  };
}
