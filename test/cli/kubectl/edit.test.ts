import { expect, test } from "vitest";
import { missingShell } from "../../../src/cli/kubectl/edit.ts";

test("an editor needs the shell that Windows does not have", () => {
  expect(missingShell("win32")).toContain("/bin/sh, which Windows does not have; use");
  expect((["linux", "darwin"] as const).map((platform) => missingShell(platform))).toEqual([
    undefined,
    undefined,
  ]);
});
