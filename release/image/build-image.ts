import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { bundle } from "../../test/support/bundle.ts";
import { buildOnce } from "../../test/support/cached-build.ts";
import { runConfig } from "../../test/support/image.ts";
import { repository } from "../../test/support/install.ts";
import { registry } from "../registry.ts";
import { packDirectory } from "../archive.ts";
import { readLayer, type Layer } from "./layer.ts";
import { type PlatformImage, type WrittenImage, writeLayout } from "./layout.ts";
import { pinsOf, type Platform, platforms } from "./pins.ts";

type Report = (line: string) => void;

/** The name of the image; its tag is the version of Latchkey. */
export const imageName = `${registry}/latchkey`;

/** Writes the image of these sources as an OCI image layout to a directory. */
export async function buildImage(directory: string, report: Report): Promise<ImageReport> {
  const scratch = mkdtempSync(join(tmpdir(), "latchkey-image-"));
  try {
    const program = programLayer(await bundle(report), scratch);
    const images: PlatformImage[] = [];
    for (const platform of platforms) {
      const stable = await stableLayers(platform, report);
      const files = ["debian.tar.gz", "node.tar.gz"].map((file) => join(stable, file));
      const layers = [...files.map(readLayer), program];
      images.push({ architecture: platform.name, layers });
    }
    const content = { name: imageName, tag: latchkeyVersion, config: runConfig(), images };
    return { ...writeLayout(directory, content), images };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** An image with its layers. */
export interface ImageReport extends WrittenImage {
  readonly images: readonly PlatformImage[];
}

function programLayer(program: string, scratch: string): Layer {
  const app = join(scratch, "root", "app");
  mkdirSync(app, { recursive: true });
  copyFileSync(program, join(app, "latchkey.mjs"));
  copyFileSync(join(repository, "LICENSE"), join(app, "LICENSE"));
  packDirectory(join(scratch, "root"), join(scratch, "program.tar.gz"));
  return readLayer(join(scratch, "program.tar.gz"));
}

/** The directory of Debian and Node.js of a platform: built once for each version of the pins. */
export async function stableLayers(platform: Platform, report: Report): Promise<string> {
  const sources = [
    join(import.meta.dirname, "write-layers.ts"),
    join(import.meta.dirname, "..", "archive.ts"),
    join(repository, "test", "support", "debian-packages.ts"),
  ].map((file) => readFileSync(file, "utf8"));
  return buildOnce(
    {
      name: `image layers ${platform.name}`,
      takes: "20 seconds",
      inputs: [JSON.stringify(pinsOf(platform)), ...sources],
      keeps: 2,
      command: (draft) => ({
        words: [
          process.execPath,
          join(import.meta.dirname, "write-layers.ts"),
          platform.name,
          draft,
        ],
        cwd: repository,
        env: process.env,
      }),
      progress: (lines) => lines.at(-2) ?? "",
    },
    { report },
  );
}
