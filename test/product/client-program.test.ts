import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { compiledClient } from "../support/compiled-client.ts";
import { repository } from "../support/install.ts";
import { orMissing, present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { api, unique } from "../support/policy-request.ts";
import { cliEnvironment, cliForm, runCli } from "../support/run-cli.ts";

const program = await orMissing(compiledClient(() => {}));

const isRun = skippedWithout(program);

describe.skipIf(inject("cli") === undefined)("the client in both forms", isRun, () => {
  const directory = mkdtempSync(join(tmpdir(), "client-program-"));
  const name = unique("program");
  let forms: Readonly<Record<"bundle" | "program", readonly string[]>>;
  afterAll(() => rmSync(directory, { recursive: true }));

  /** A working directory with everything that a runtime could read there. */
  beforeAll(async () => {
    const files = {
      ".env":
        "KUBECONFIG=/planted\nNODE_TLS_REJECT_UNAUTHORIZED=0\nNODE_OPTIONS=--require=./p.cjs\n" +
        "LATCHKEY_SERVER=https://planted.example\nLATCHKEY_ACCESS_KEY=planted-key-0123456789\n",
      ".env.production": "KUBECONFIG=/planted\n",
      "bunfig.toml": 'preload = ["./p.cjs"]\n',
      "package.json": '{"type":"commonjs","main":"p.cjs","bun":{"preload":["./p.cjs"]}}\n',
      "tsconfig.json": '{"compilerOptions":{"paths":{"node:https":["./p.cjs"]}}}\n',
      "p.cjs": 'console.log("PLANTED");\n',
    };
    forms = { bundle: cliForm().words, program: [present(program)] };
    for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text);
    await api.create("/apis/management.service/v1/namespaces/default/sharedsecrets", {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: { name },
      spec: { data: { password: Buffer.from("s3cret").toString("base64") } },
    });
  });

  const run = (form: keyof typeof forms, args: readonly string[], env = cliEnvironment({})) => {
    const [command = "", ...words] = forms[form];
    const { status, stdout, stderr } = spawnSync(command, [...words, ...args], {
      cwd: directory,
      env,
      encoding: "utf8",
    });
    return { code: status, stdout, stderr };
  };

  it.runIf(process.platform === "linux").each(["bundle", "program"] as const)(
    "fails if its output cannot be written, and not if its reader needs no more: %s",
    (form) => {
      const words = [...forms[form], "get", name, "password"].map((word) => `'${word}'`).join(" ");
      const shell = (line: string) =>
        spawnSync("bash", ["-c", line], { env: cliEnvironment({}), encoding: "utf8" });
      const full = shell(`${words} > /dev/full`);
      expect([full.status, full.stderr]).toEqual([
        ...[1, "kubectl latchkey: the output cannot be written: ENOSPC\n"],
      ]);
      const closed = shell(`set -o pipefail; ${words} | true`);
      expect([closed.status, closed.stderr]).toEqual([0, ""]);
    },
  );

  it.each(["bundle", "program"] as const)(
    "reads no file of the working directory, and runs no code of it: %s",
    (form) => {
      const version = run(form, ["version"]);
      expect(version).toMatchObject({ code: 0, stderr: "" });
      expect(version.stdout).toMatch(/^client: .*\nkubernetes: v1\..*\ncontroller: .*\n$/);
      // The certificate of the API server is checked: the CA of the gateway did not sign it.
      const ca = join(directory, "other.crt");
      writeFileSync(ca, inject("cli")?.gatewayCa ?? "");
      const refused = run(form, ["version", `--certificate-authority=${ca}`]);
      expect(refused).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/cert/i),
      });
    },
  );

  it("reads and runs both in a program without the flags of the build", () => {
    const source = join(directory, "shows.mjs");
    const program = join(directory, "unguarded");
    const read = "process.env.KUBECONFIG, process.env.LATCHKEY_SERVER";
    writeFileSync(source, `console.log(${read});\n`);
    const bun = join(repository, "node_modules", ".bin", "bun");
    execFileSync(bun, ["build", "--compile", `--outfile=${program}`, source], { stdio: "pipe" });
    const { PATH } = process.env;
    const { stdout } = spawnSync(program, { cwd: directory, env: { PATH }, encoding: "utf8" });
    expect(stdout).toBe("PLANTED\n/planted https://planted.example\n");
  });

  it("needs no Node.js as a program", () => {
    const { code, stdout } = run("program", ["version"], {
      ...cliEnvironment({}),
      PATH: "/nonexistent",
    });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^client: .*\nkubernetes: v1/)]);
  });

  it.each(["bundle", "program"] as const)("connects with variables alone: %s", (form) => {
    const { url, certificateAuthority } = inject("controlPlane");
    const key = run(form, ["keys", "create", unique("program"), "--user=alice"]).stdout.trim();
    const env = {
      ...cliEnvironment({ kubeconfig: "" }),
      HOME: directory,
      LATCHKEY_ACCESS_KEY: key,
      LATCHKEY_SERVER: url,
      LATCHKEY_CERTIFICATE_AUTHORITY_DATA: Buffer.from(certificateAuthority).toString("base64"),
    };
    const { code, stdout, stderr } = run(form, ["check"], env);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^User "alice" .* The connection is that of LATCHKEY_SERVER and /m);
  });

  // `make verify` runs all tests of the client on the program.
  it.each([
    ["get", `${name}.password`],
    ["get", name, "-o", "json"],
    ["get", name, "-o", "yaml"],
    ["get", "nothing"],
    ["keys", "test"],
    ["no-such-command"],
  ])("answers alike in every form: %s %s", async (...args) => {
    const expected = await runCli(args);
    expect(run("bundle", args)).toEqual(expected);
    expect(run("program", args)).toEqual(expected);
  });
});
