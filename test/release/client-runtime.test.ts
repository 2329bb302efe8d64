import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clientRuntime } from "../../release/client-runtime.ts";
import { repository } from "../support/install.ts";

const lock: unknown = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8"));
const makefile = readFileSync(join(repository, "Makefile"), "utf8");
const platforms = (/^all_platforms = (.*)$/m.exec(makefile)?.[1] ?? "").split(" ");

test.each(platforms)("the program for %s has the Bun of package-lock.json", (platform) => {
  const { purl, checksum } = clientRuntime(platform, lock);
  expect(purl).toMatch(/^pkg:npm\/%40oven\/bun-[a-z]+-(?:x64|aarch64)@\d+\.\d+\.\d+$/);
  expect(checksum.algorithm).toBe("SHA512");
});

test("a platform that Bun does not have is refused", () => {
  expect(() => clientRuntime("plan9-x64", lock)).toThrow("no version of @oven/bun-plan9-x64");
});
