import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { encodeAccessKey, decodeAccessKey } from "./packed-access-key.ts";
import type { Codec } from "../kube/store.ts";

/** Codec of access keys in stores. */
export const accessKeyCodec: Codec<ObservedAccessKey> = {
  encode: ({ value }) => encodeAccessKey(value),
  decode(text) {
    const value = decodeAccessKey(text);
    return { uid: value.metadata.uid, resourceVersion: value.metadata.resourceVersion, value };
  },
};
