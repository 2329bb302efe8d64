import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { latchkeyVersion } from "../../src/cli/latchkey-version.ts";
import { archiveOf } from "../archive.ts";
import { type Chart, filesOf } from "./chart.ts";

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
