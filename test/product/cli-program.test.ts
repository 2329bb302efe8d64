import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { repository } from "../support/install.ts";
import { cliEnvironment, cliForm, runCli } from "../support/run-cli.ts";

const isProgram = inject("cli")?.isProgram === true;

describe.skipIf(inject("cli") === undefined)("the working directory", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-program-"));
  afterAll(() => rmSync(directory, { recursive: true }));

  /** A working directory with everything that a runtime could read there. */
  beforeAll(() => {
    const files = {
      ".env":
        "KUBECONFIG=/planted\nNODE_TLS_REJECT_UNAUTHORIZED=0\nNODE_OPTIONS=--require=./p.cjs\n",
      ".env.production": "KUBECONFIG=/planted\n",
      "bunfig.toml": 'preload = ["./p.cjs"]\n',
      "package.json": '{"type":"commonjs","main":"p.cjs","bun":{"preload":["./p.cjs"]}}\n',
      "tsconfig.json": '{"compilerOptions":{"paths":{"node:https":["./p.cjs"]}}}\n',
      "p.cjs": 'console.log("PLANTED");\n',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  });

  it("has no file that the client reads, and no code that it runs", async () => {
    const version = await runCli(["version"], { cwd: directory });
    expect(version).toMatchObject({ code: 0, stderr: "" });
    expect(version.stdout).toMatch(/^client: .*\nkubernetes: v1\..*\n$/);
    // The certificate of the API server is checked: the CA of the gateway did not sign it.
    const ca = join(directory, "other.crt");
    writeFileSync(ca, inject("cli")?.gatewayCa ?? "");
    const trust = ["version", `--certificate-authority=${ca}`];
    const refused = await runCli(trust, { cwd: directory });
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/cert/i) });
  });

  it.runIf(isProgram)("has both for a program without the flags of the build", () => {
    const source = join(directory, "shows.mjs");
    const program = join(directory, "unguarded");
    writeFileSync(source, "console.log(process.env.KUBECONFIG);\n");
    const bun = join(repository, "node_modules", ".bin", "bun");
    execFileSync(bun, ["build", "--compile", `--outfile=${program}`, source], { stdio: "pipe" });
    const { PATH } = process.env;
    const { stdout } = spawnSync(program, { cwd: directory, env: { PATH }, encoding: "utf8" });
    expect(stdout).toBe("PLANTED\n/planted\n");
  });
});

it.runIf(isProgram)("the program needs no Node.js", () => {
  const [program = ""] = cliForm().words;
  const env = { ...cliEnvironment({}), PATH: "/nonexistent" };
  const { status, stdout } = spawnSync(program, ["version"], { env, encoding: "utf8" });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^client: .*\nkubernetes: v1/)]);
});
