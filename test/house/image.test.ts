import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { imageNodeFlags } from "../support/image.ts";

test("Node accepts the flags of the image, and rejects an unknown one", () => {
  const printed = execFileSync(
    process.execPath,
    [...imageNodeFlags("controller"), "--print", "1 + 1"],
    {
      encoding: "utf8",
    },
  );
  expect(printed.trim()).toBe("2");
  expect(() =>
    execFileSync(process.execPath, ["--no-such-flag", "--print", "1"], { stdio: "pipe" }),
  ).toThrow("bad option");
});
