import { execFileSync } from "node:child_process";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { arrange, unique } from "../support/policy-request.ts";
import { cliEnvironment, runCli } from "../support/run-cli.ts";

const namespace = unique("cli-complete");

describe.skipIf(inject("cli") === undefined)("completion", () => {
  beforeAll(async () => {
    const metadata = { name: namespace };
    await arrange({ method: "POST", path: "/api/v1/namespaces", body: { metadata } });
    await arrange({
      method: "POST",
      path: `/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`,
      body: {
        apiVersion: "management.service/v1",
        kind: "SharedSecret",
        metadata: { name: "database" },
        spec: { data: { password: "c2VjcmV0dmFsdWU=" } },
      },
    });
  });

  const kubectlCompletes = (words: readonly string[]): string =>
    execFileSync(inject("controlPlane").kubectl, ["__complete", "latchkey", ...words], {
      env: cliEnvironment({}),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });

  it.each([
    [["ref"], "refresh-now\tmakes the controller reconcile SharedSecrets"],
    [["get", "-n", namespace, "dat"], "database\n"],
    [["get", "-n", namespace, "database", ""], "password\n"],
  ])("kubectl asks for %j", (words, expected) => {
    const printed = kubectlCompletes(words);
    expect(printed).toContain(expected);
    expect(printed).not.toContain("secretvalue");
  });

  it("says nothing where the cluster does not answer", async () => {
    const words = ["__complete", "get", "--server=https://127.0.0.1:1", ""];
    expect(await runCli(words)).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
  });

  it.each(["kubectl", "bash", "zsh", "fish"])("prints a script for %s", async (shell) => {
    const { code, stdout } = await runCli(["completion", shell]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("kubectl-latchkey __complete")]);
  });

  it("bash completes with the script", async () => {
    const { stdout: script } = await runCli(["completion", "bash"]);
    const asked =
      'COMP_WORDS=(kubectl-latchkey refr); COMP_CWORD=1; _kubectl_latchkey; echo "${COMPREPLY[@]}"';
    const printed = execFileSync("/bin/bash", ["-c", `${script}\n${asked}`], {
      env: cliEnvironment({}),
      encoding: "utf8",
    });
    expect(printed.trim()).toBe("refresh-now");
  });

  it("names the shells for another one", async () => {
    const { code, stderr } = await runCli(["completion", "tcsh"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("kubectl, bash, zsh, fish")]);
  });
});
