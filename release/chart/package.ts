import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dump } from "js-yaml";
import { latchkeyVersion } from "../../src/cli/latchkey-version.ts";
import { archiveOf } from "../archive.ts";
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
  const files = filesOf(chart, latchkeyVersion);
  for (const { path, text } of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  const content = archiveOf(files);
  const archive = `${chart.name}-${latchkeyVersion}.tgz`;
  writeFileSync(join(directory, archive), content);
  return { archive, digest: `sha256:${createHash("sha256").update(content).digest("hex")}` };
}

/** The objects of a folder of config/ as one file for `kubectl apply`, with the released image. */
export function manifestFile(manifests: readonly Manifest[]): string {
  const documents = manifests.map(
    (manifest) => `---\n${dump(manifest, { lineWidth: -1, noRefs: true })}`,
  );
  const image = `image: ${registry}/latchkey:${latchkeyVersion}`;
  return documents.join("").replaceAll(/\bimage: latchkey:\S+$/gm, image);
}
