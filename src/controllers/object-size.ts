import { keyOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { SizeOf } from "../kube/http-client.ts";
import type { Stores } from "./stores.ts";

/** Assumed bytes of an object of unknown size (etcd, --max-request-bytes). */
const largestObject = 1.5 * 1024 * 1024;

/**
 * Returns a function for the approximate size of an object in bytes, from the stores; 0 for kinds
 * with small objects.
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
