import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { encodeAccessKey, decodeAccessKey } from "./packed-access-key.ts";
import type { Codec } from "../kube/store.ts";

/** How stores hold access keys. */
export const accessKeyCodec: Codec<ObservedAccessKey> = {
  encode: ({ value }) => encodeAccessKey(value),
  decode(text) {
    const value = decodeAccessKey(text);
    return { uid: value.metadata.uid, resourceVersion: value.metadata.resourceVersion, value };
  },
};
