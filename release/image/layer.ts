import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { digestOf } from "../archive.ts";

/** A compressed tar archive, as the descriptor of image-spec's descriptor.md needs it. */
export interface Layer {
  readonly path: string;
  /** Of the file, and of the archive before compression. */
  readonly digest: string;
  readonly diffId: string;
  /** Bytes of the file. */
  readonly size: number;
}

/** A packed layer with its digests. */
export function readLayer(path: string): Layer {
  const packed = readFileSync(path);
  const [digest, diffId] = [digestOf(packed), digestOf(gunzipSync(packed))];
  return { path, digest, diffId, size: packed.length };
}
