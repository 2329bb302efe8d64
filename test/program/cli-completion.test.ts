import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { commands } from "../../src/client/commands.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { eventually } from "../support/eventually.ts";
import { make } from "../support/keys-and-tokens.ts";
import { api, unique } from "../support/policy-request.ts";
import { cliEnvironment, cliForm, runCli } from "../support/run-cli.ts";
import { installed, startOnTerminal } from "../support/terminal-program.ts";
import { skippedWithout } from "../support/skipped.ts";

const namespace = unique("cli-complete");
const [accessKey, token] = [unique("completed"), unique("completed")];
const directory = mkdtempSync(join(tmpdir(), "cli-complete-"));
const quoted = (text: string): string => `'${text}'`;

beforeAll(async () => {
  if (inject("cli") === undefined) return;
  const metadata = { name: namespace };
  await api.create("/api/v1/namespaces", { metadata });
  for (const [name, user] of [
    ["database", "bob"],
    ["other", "carol"],
  ]) {
    const data = { password: "c2VjcmV0dmFsdWU=" };
    await api.create(`/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`, {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: { name },
      spec: { data, access: [{ verbs: ["get"], users: [user] }] },
    });
  }
});
beforeAll(async () => {
  if (inject("cli") === undefined) return;
  await api.create(`/api/v1/namespaces/${namespace}/secrets`, {
    metadata: { name: "own" },
    data: { password: "c2VjcmV0dmFsdWU=" },
  });
  await make("OwnedAccessKey", { name: accessKey });
  await make("DirectClusterEndpointToken", { name: token });
});
afterAll(() => rmSync(directory, { recursive: true }));

describe.skipIf(inject("cli") === undefined)("completion", () => {
  const kubectlCompletes = (words: readonly string[]): string =>
    execFileSync(inject("controlPlane").kubectl, ["__complete", "latchkey", ...words], {
      env: cliEnvironment({}),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });

  it.each([
    [["ref"], "refresh-now\tRequest an immediate reconcile of SharedSecrets"],
    [["get", "-n", namespace, "dat"], "database\n"],
    [["get", "-n", namespace, "database", ""], "password\n"],
    [["why", "s"], "secret/\tthe copy in the namespace\nshsec/\ta SharedSecret"],
    [["why", "-n", namespace, "shsec/d"], "shsec/database\n:4\n"],
    [["why", "-n", namespace, "secrets/"], "secrets/own\n:4\n"],
    [["why", `oak/${accessKey}`], `oak/${accessKey}\n:4\n`],
    [["why", `dcet/${token}`], `dcet/${token}\n:4\n`],
    [["why", "-n", namespace, "pod/"], ":4\n"],
  ])("kubectl asks for %j", (words, expected) => {
    const printed = kubectlCompletes(words);
    expect(printed).toContain(expected);
    expect(printed).not.toContain("secretvalue");
  });

  it("says nothing where the cluster does not answer", async () => {
    const words = ["__complete", "get", "--server=https://127.0.0.1:1", ""];
    expect(await runCli(words)).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
  });

  it("gives bob and alice the names that they may read", async () => {
    const names = (user: string) =>
      runCli(["__complete", "get", "-n", namespace, ""], { user }).then(({ stdout }) => stdout);
    await eventually(async () => (await names("bob")) === "database\n:4\n", { what: "the grant" });
    expect(await names("alice")).toBe(":4\n");
    expect(await names("admin")).toBe("database\nother\n:4\n");
    const objects = (word: string) =>
      runCli(["__complete", "why", "-n", namespace, word], { user: "bob" });
    expect((await objects("shsec/")).stdout).toBe("shsec/database\n:4\n");
    expect((await objects("secret/")).stdout).toBe(":4\n");
  });

  it.each(["kubectl", "bash", "zsh", "fish"])("prints a script for %s", async (shell) => {
    const { code, stdout } = await runCli(["completion", shell]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("kubectl-latchkey __complete")]);
  });

  describe.each([
    ["bash", ["bash", "--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'"],
    ["zsh", ["zsh", "-f", "-i"], "unset zle_bracketed_paste; autoload -U compinit; compinit -u -D"],
  ])("%s on a terminal", (shell, words, prepare) => {
    it(
      "completes a command and a name of the cluster",
      skippedWithout(installed(shell)),
      async () => {
        const env = { ...cliEnvironment({}), PS1: "", HOME: directory, TERM: "dumb" };
        const terminal = startOnTerminal(words, env);
        try {
          terminal.type(`${prepare}\n`);
          terminal.type(`source <(kubectl-latchkey completion ${shell}); echo loaded:$((40+2))\n`);
          await terminal.shows("loaded:42");
          terminal.type("kubectl-latchkey vers\t--client; echo version:$?\n");
          await terminal.shows(`client: ${latchkeyVersion}`);
          terminal.type(`kubectl-latchkey get -n ${namespace} dat\tpass\t; echo get:$?\n`);
          await terminal.shows("secretvalue");
          await terminal.shows("get:0");
          terminal.type(`kubectl-latchkey why -n ${namespace} shs\td\t; echo why:$?\n`);
          await terminal.shows(`SharedSecret "${namespace}/database"`);
          await expect(terminal.shows("why:0")).resolves.toBeUndefined();
        } finally {
          terminal.close();
        }
      },
    );
  });

  it(
    "fish completes commands, options, names and files",
    skippedWithout(installed("fish")),
    async () => {
      const { stdout: script } = await runCli(["completion", "fish"]);
      const complete = (line: string): readonly string[] =>
        execFileSync("fish", ["--no-config", "-c", `${script}\ncomplete -C ${quoted(line)}`], {
          env: { ...cliEnvironment({}), HOME: directory },
          encoding: "utf8",
        }).split("\n");
      expect(complete("kubectl-latchkey refr")).toEqual([
        expect.stringMatching(/^refresh-now\tmakes/),
        "",
      ]);
      expect(complete(`kubectl-latchkey get -n ${namespace} dat`)).toEqual(["database", ""]);
      expect(complete("kubectl-latchkey why sh")).toEqual([
        expect.stringMatching(/^shsec\/\t/),
        "",
      ]);
      expect(complete(`kubectl-latchkey why -n ${namespace} shsec/d`)).toEqual([
        "shsec/database",
        "",
      ]);
      expect(complete("kubectl-latchkey list --all-n")[0]).toMatch(/^--all-namespaces\t/);
    },
  );

  it("names the shells for another one", async () => {
    const { code, stderr } = await runCli(["completion", "tcsh"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("kubectl, bash, zsh, fish")]);
  });
});

describe.skipIf(inject("cli") === undefined)("completion install", () => {
  const file = (bin: string) => join(bin, "kubectl_complete-latchkey");
  /** A directory with the program alone, which is first in PATH. */
  const installation = () => {
    const bin = mkdtempSync(join(directory, "bin-"));
    symlinkSync(join(cliForm().bin, "kubectl-latchkey"), join(bin, "kubectl-latchkey"));
    return { bin, env: { PATH: `${bin}:/usr/bin:/bin` } };
  };

  it("writes the program that kubectl asks, beside kubectl-latchkey", async () => {
    const { bin, env } = installation();
    const asked = (words: readonly string[]) =>
      spawnSync(inject("controlPlane").kubectl, ["__complete", "latchkey", ...words], {
        env: { ...cliEnvironment({}), ...env },
        encoding: "utf8",
      }).stdout;
    expect(asked([""])).not.toContain("refresh-now");
    const { code, stderr } = await runCli(["completion", "install"], { env });
    expect([code, stderr]).toEqual([0, expect.stringContaining(file(bin))]);
    expect(statSync(file(bin)).mode & 0o777).toBe(0o755);
    const first = asked([""]).split("\n");
    const routes = new Set(Object.values(commands).map(({ name }) => name.split(" ")[0]));
    expect(new Set(first.slice(0, -2).map((line) => line.split("\t")[0]))).toEqual(routes);
    expect(asked(["get", "-n", namespace, "dat"])).toBe("database\n:4\n");
    expect(readdirSync(bin)).toEqual(["kubectl-latchkey", "kubectl_complete-latchkey"]);
  });

  it("replaces its own file, and writes into another directory", async () => {
    const { bin, env } = installation();
    await runCli(["completion", "install"], { env });
    const written = readFileSync(file(bin), "utf8");
    writeFileSync(file(bin), `${written}# of an earlier version\n`);
    chmodSync(file(bin), 0o600);
    expect((await runCli(["completion", "install"], { env })).code).toBe(0);
    expect(readFileSync(file(bin), "utf8")).toBe(written);
    expect(statSync(file(bin)).mode & 0o777).toBe(0o755);
    const other = mkdtempSync(join(directory, "other-"));
    expect((await runCli(["completion", "install", `--directory=${other}`])).code).toBe(0);
    expect(readFileSync(file(other), "utf8")).toBe(written);
  });

  it.each([
    ["a file", (path: string) => writeFileSync(path, "#!/bin/sh\n# mine\n")],
    ["an empty file", (path: string) => writeFileSync(path, "")],
    ["a link", (path: string) => symlinkSync("/bin/true", path)],
    ["a directory", (path: string) => mkdirSync(path)],
  ])("does not replace %s of another program", async (_what, make) => {
    const { bin, env } = installation();
    make(file(bin));
    const identity = () => {
      const { ino, mode, size, mtimeMs } = lstatSync(file(bin));
      return { ino, mode, size, mtimeMs };
    };
    const before = identity();
    const { code, stderr } = await runCli(["completion", "install"], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining("was not written by this command")]);
    expect(identity()).toEqual(before);
    expect(readdirSync(bin)).toHaveLength(2);
  });

  it.each([
    [["completion", "install", "--directory=/nonexistent/bin"], "cannot be written: ENOENT"],
    [["completion", "install"], "kubectl-latchkey is not in your PATH"],
    [["completion", "bash", "--directory=/tmp"], "--directory is for completion install"],
  ])("%j is a wrong command line", async (args, sentence) => {
    const result = await runCli(args, { env: { PATH: "/usr/bin:/bin" } });
    expect(result).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(sentence),
    });
  });
});
