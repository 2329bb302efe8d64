import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repository } from "../support/install.ts";

it("make kind names the programs that are not on PATH, and creates nothing", () => {
  const args = [join(repository, "release", "kind", "main.ts")];
  const env = { ...process.env, PATH: "/nonexistent" };
  expect(spawnSync(process.execPath, args, { env, encoding: "utf8" })).toMatchObject({
    status: 1,
    stdout: "",
    stderr:
      "make kind: docker, kind, helm, kubectl: not found on PATH; `make dev` needs none of them\n",
  });
});
