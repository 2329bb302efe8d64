import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

/** Texts that run a command in a shell that reads them without quotes, or in the wrong ones. */
export const hostileTexts = fc.string({
  unit: fc.constantFrom(
    ...Array.from("'\"`\\\n\r =#&|(){}!~*-ab$"),
    ...["$(:>ran)", "`:>ran`", ";:>ran;", "\n:>ran\n", "$HOME", "---\n"],
  ),
  maxLength: 8,
});

/**
 * Sources a file with `sh`, and returns the variable A; throws if anything was run, or if the
 * variable B of its last line is not `last`.
 */
export function sourcedByShell(text: string): string {
  const cwd = mkdtempSync(join(tmpdir(), "sourced-"));
  const script = '. ./env && printf %s "$A" && set -- * && [ "$#$B" = 1last ]';
  try {
    writeFileSync(join(cwd, "env"), text);
    return execFileSync("/bin/sh", ["-c", script], { cwd, encoding: "utf8", env: {} });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}
