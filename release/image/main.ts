/*
 * `make image` writes the image to dist/image, or to the directory of the argument, and prints its
 * digests. `npm run image -- --pin` pins the versions of its parts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { buildImage, imageName } from "./build-image.ts";
import { platforms, writePins } from "./pins.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`.padStart(8);

const [argument = join("dist", "image")] = process.argv.slice(2);
try {
  if (argument === "--pin") pin();
  else await image(argument);
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}

function pin(): void {
  const scratch = mkdtempSync(join(tmpdir(), "latchkey-pins-"));
  try {
    writePins(scratch);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

async function image(directory: string): Promise<void> {
  const { index, manifests, images } = await buildImage(directory, say);
  say(`wrote ${directory}: ${imageName}:${latchkeyVersion}@${index.digest}`);
  for (const [at, { name }] of platforms.entries()) {
    const layers = images[at]?.layers ?? [];
    const size = layers.reduce((sum, layer) => sum + layer.size, 0);
    say(`  linux/${name}  ${megabytes(size)}  ${manifests[at]?.digest}`);
    for (const layer of layers) say(`    layer      ${megabytes(layer.size)}  ${layer.digest}`);
  }
}
