import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { repository } from "../support/install.ts";
import { preparedVariable } from "../support/prepared.ts";

/** The directories of a machine on which nothing was prepared yet. */
const machine = mkdtempSync(join(tmpdir(), "new-machine-"));
const withoutGo = join(machine, "bin");
mkdirSync(withoutGo);
symlinkSync("/bin/sh", join(withoutGo, "sh"));
afterAll(() => rmSync(machine, { recursive: true, force: true }));

/** Runs the tests of some files there, as `make test` does. */
function run(files: readonly string[], changed: NodeJS.ProcessEnv = {}) {
  // That run is no part of this one.
  const { [preparedVariable]: _, VITEST: __, LATCHKEY_REPORT: ___, ...inherited } = process.env;
  const bin = join(repository, "node_modules", ".bin");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join("test", "run", "main.ts"), "--project=unit", ...files],
    {
      cwd: repository,
      env: {
        ...inherited,
        XDG_CACHE_HOME: join(machine, "cache"),
        GOMODCACHE: join(machine, "modules"),
        GOCACHE: join(machine, "builds"),
        GOPROXY: "off",
        NO_COLOR: "1",
        ...changed,
        PATH: `${bin}:${changed.PATH ?? process.env.PATH}`,
      },
      encoding: "utf8",
    },
  );
  return { status, stdout, stderr };
}

const oracle = "test/fuzz/request-info.test.ts";

test("without Go, tests of a control plane end with the three ways to get one", () => {
  const { status, stdout, stderr } = run(["test/house/public-names.test.ts"], { PATH: withoutGo });
  expect(status).toBe(1);
  expect(stderr).toMatch(/no control plane[^]*install Go[^]*KUBEBUILDER_ASSETS[^]*USE_EXISTING/);
  expect(stdout).toBe("");
});

test.each([
  ["Go", { PATH: withoutGo }, "Go is not installed (https://go.dev/dl)"],
  ["a network", {}, "the build of the request info oracle: "],
])("without %s, tests of another program are skipped with the reason", (_what, changed, reason) => {
  const { status, stderr } = run([oracle], changed);
  expect(stderr).toContain(`prepare 1 of 1, request info oracle: `);
  expect(stderr).toContain(`skipped 3: ${reason}`);
  expect(status).toBe(0);
});

test("tests that need nothing prepare nothing", () => {
  const { status, stderr } = run(["test/run/report-lines.test.ts"], { PATH: withoutGo });
  expect([status, stderr]).toEqual([0, ""]);
});
