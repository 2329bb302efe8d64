import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dump } from "js-yaml";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { digestOf, packDirectory } from "../archive.ts";
import { registry } from "../registry.ts";
import { type Chart, filesOf } from "./chart.ts";
import type { Manifest } from "./template.ts";

/** A packaged chart. */
export interface PackagedChart {
  /** The name of the archive in its directory. */
  readonly archive: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** Writes a chart into a directory: `<name>-<version>.tgz`, and its files beside it. */
export function packageChart(chart: Chart, directory: string): PackagedChart {
  for (const { path, text } of filesOf(chart, latchkeyVersion)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  const archive = `${chart.name}-${latchkeyVersion}.tgz`;
  packDirectory(directory, join(directory, archive), chart.name);
  return { archive, digest: digestOf(readFileSync(join(directory, archive))) };
}

/** The objects of a folder of config/ as one file for `kubectl apply`, with the released image. */
export function manifestFile(manifests: readonly Manifest[]): string {
  const documents = manifests.map(
    (manifest) => `---\n${dump(manifest, { lineWidth: -1, noRefs: true })}`,
  );
  const image = `image: ${registry}/latchkey:${latchkeyVersion}`;
  return documents.join("").replaceAll(/\bimage: latchkey:\S+$/gm, image);
}
