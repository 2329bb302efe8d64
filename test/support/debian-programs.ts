import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildOnce } from "./cached-build.ts";

const program = join(import.meta.dirname, "unpack-debian.ts");

/** What a kubelet needs to run pods. */
export const podRuntime = ["containerd", "runc", "containernetworking-plugins", "libseccomp2"];

/**
 * The directory into which Debian packages were unpacked, once: their programs need no installation
 * and no root. Rejects if the apt sources of this machine do not serve them.
 */
export function debianPrograms(
  packages: readonly string[],
  report: (line: string) => void,
): Promise<string> {
  return buildOnce(
    {
      name: `Debian ${packages[0]}`,
      takes: "10 seconds",
      inputs: [...packages, process.arch, readFileSync(program, "utf8")],
      command: (draft) => ({
        words: [process.execPath, program, draft, ...packages],
        cwd: import.meta.dirname,
        env: process.env,
      }),
      progress: (lines) => lines.at(-2) ?? "",
    },
    { report },
  );
}
