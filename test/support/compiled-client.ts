import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "./binaries.ts";
import { clientBundle } from "./bundle.ts";
import { buildOnce } from "./cached-build.ts";
import { repository } from "./install.ts";
import { MissingError } from "./prepared.ts";

/**
 * The path of `kubectl latchkey` as bun compiles it for this machine. Throws a MissingError if bun
 * does not run here.
 */
export async function compiledClient(report: Report): Promise<string> {
  const bundle = await clientBundle(report);
  const directory = await buildOnce(
    {
      name: "compiled client",
      takes: "5 seconds",
      inputs: [bundle, process.arch, readFileSync(join(repository, "package.json"), "utf8")],
      keeps: 2,
      command(draft) {
        assertBunRuns();
        const outfile = `--outfile=${join(draft, "kubectl-latchkey")}`;
        const words = ["npm", "run", "--silent", "build:program", "--", outfile, bundle];
        return { words, cwd: repository, env: process.env };
      },
      progress: (lines) => lines.at(-2) ?? "",
    },
    { report },
  );
  return join(directory, "kubectl-latchkey");
}

function assertBunRuns(): void {
  try {
    execFileSync("npm", ["run", "--silent", "platform"], { cwd: repository, stdio: "pipe" });
  } catch {
    throw new MissingError("bun, which compiles the client, does not run on this machine");
  }
}
