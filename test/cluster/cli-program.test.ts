import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { CliFormName } from "../support/cli-bundle.ts";
import { repository } from "../support/install.ts";
import { cliEnvironment, cliForm, runCli } from "../support/run-cli.ts";

const { forms = {} } = inject("cli") ?? {};
const rows: readonly CliFormName[] = ["bundle", "program"];

describe.skipIf(inject("cli") === undefined)("the forms of kubectl latchkey", () => {
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

  it.for(rows)("%s reads nothing and runs no code of the working directory", async (form, test) => {
    test.skip(forms[form] === undefined, "bun does not run on this machine");
    const version = await runCli(["version"], { cwd: directory, form });
    expect(version).toMatchObject({ code: 0, stderr: "" });
    expect(version.stdout).toMatch(/^client: .*\nkubernetes: v1\..*\n$/);
    // The certificate of the API server is checked: the CA of the gateway did not sign it.
    const ca = join(directory, "other.crt");
    writeFileSync(ca, inject("cli")?.gatewayCa ?? "");
    const trust = ["version", `--certificate-authority=${ca}`];
    const refused = await runCli(trust, { cwd: directory, form });
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/cert/i) });
  });

  it("would do both without the flags of the build", ({ skip }) => {
    skip(forms.program === undefined, "bun does not run on this machine");
    const source = join(directory, "shows.mjs");
    const program = join(directory, "unguarded");
    writeFileSync(source, "console.log(process.env.KUBECONFIG);\n");
    const bun = join(repository, "node_modules", ".bin", "bun");
    execFileSync(bun, ["build", "--compile", `--outfile=${program}`, source], { stdio: "pipe" });
    const { PATH } = process.env;
    const { stdout } = spawnSync(program, { cwd: directory, env: { PATH }, encoding: "utf8" });
    expect(stdout).toBe("PLANTED\n/planted\n");
  });

  it("is a program without Node.js", ({ skip }) => {
    skip(forms.program === undefined, "bun does not run on this machine");
    const [program = ""] = cliForm({ form: "program" }).words;
    const env = { ...cliEnvironment({ form: "program" }), PATH: "/nonexistent" };
    const { status, stdout } = spawnSync(program, ["version"], { env, encoding: "utf8" });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^client: .*\nkubernetes: v1/)]);
  });
});
