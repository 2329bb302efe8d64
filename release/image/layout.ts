import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { digestOf } from "../archive.ts";
import type { Layer } from "./layer.ts";
import type { RunConfig } from "../../test/support/image.ts";

const oci = "application/vnd.oci.image";

/** A reference to a file of the layout by its digest. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** The image of one platform: its layers from the lowest to the highest. */
export interface PlatformImage {
  readonly architecture: string;
  readonly layers: readonly Layer[];
}

/** What a layout has in it: its name, how its containers start, and an image for each platform. */
export interface ImageContent {
  /** Such as `images.example.com/latchkey`, and its tag. */
  readonly name: string;
  readonly tag: string;
  readonly config: RunConfig;
  readonly images: readonly PlatformImage[];
}

/** The index of an image, and the manifests of its platforms. */
export interface WrittenImage {
  readonly index: Descriptor;
  readonly manifests: readonly Descriptor[];
}

/**
 * Writes an OCI image layout (image-spec, image-layout.md) in place of a directory. Its index.json
 * has one entry, the index of all platforms, which is what a registry gets.
 */
export function writeLayout(directory: string, content: ImageContent): WrittenImage {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, "blobs", "sha256"), { recursive: true });
  const pathOf = (digest: string): string => join(directory, "blobs", ...digest.split(":"));
  const write = (mediaType: string, value: object): Descriptor => {
    const json = JSON.stringify(value);
    const digest = digestOf(json);
    writeFileSync(pathOf(digest), json);
    return { mediaType, digest, size: Buffer.byteLength(json) };
  };
  const manifests = content.images.map(({ architecture, layers }) => {
    for (const { path, digest } of layers) copyFileSync(path, pathOf(digest));
    const platform = { architecture, os: "linux" };
    const config = write(`${oci}.config.v1+json`, {
      ...platform,
      created: new Date(0).toISOString(),
      config: content.config,
      rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    });
    const mediaType = `${oci}.manifest.v1+json`;
    const manifest = write(mediaType, {
      schemaVersion: 2,
      mediaType,
      config,
      layers: layers.map(({ digest, size }) => ({
        mediaType: `${oci}.layer.v1.tar+gzip`,
        digest,
        size,
      })),
    });
    return { ...manifest, platform };
  });
  const mediaType = `${oci}.index.v1+json`;
  const index = write(mediaType, { schemaVersion: 2, mediaType, manifests });
  const annotations = {
    "io.containerd.image.name": `${content.name}:${content.tag}`,
    "org.opencontainers.image.ref.name": content.tag,
  };
  const json = { schemaVersion: 2, mediaType, manifests: [{ ...index, annotations }] };
  writeFileSync(join(directory, "index.json"), JSON.stringify(json));
  writeFileSync(join(directory, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return { index, manifests };
}
