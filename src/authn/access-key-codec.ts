import type { OwnedAccessKeySeen } from "../api/owned-access-key.ts";
import { packKey, unpackKey } from "./packed-access-key.ts";
import type { Packing } from "../kube/store.ts";

/** How stores hold access keys. */
export const keyPacking: Packing<OwnedAccessKeySeen> = {
  pack: ({ value }) => packKey(value),
  unpack(text) {
    const value = unpackKey(text);
    return { uid: value.metadata.uid, resourceVersion: value.metadata.resourceVersion, value };
  },
};
