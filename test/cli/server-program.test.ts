import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { CredentialsError } from "../../src/kube/credentials/credentials.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { outcomeOf } from "./server-command-line.ts";

describe("a command starts with its configuration", () => {
  const unset = { namespace: "latchkey-system" };
  test.for<[string, Readonly<Record<string, string>>, object]>([
    ["controller", {}, { action: "controller", config: { namespace: "latchkey-system" } }],
    ["webhook", {}, { action: "webhook", config: { drainTimeout: 95_000 } }],
    ["controller --namespace ops", {}, { config: { namespace: "ops" } }],
    ["controller --namespace=ops", {}, { config: { namespace: "ops" } }],
    ["controller --issuer=https://a/=b", {}, { config: { issuer: "https://a/=b" } }],
    ["controller --namespace=a --namespace=b", {}, { config: { namespace: "b" } }],
    ["controller", { LATCHKEY_NAMESPACE: "ops" }, { config: { namespace: "ops" } }],
    ["controller --namespace=a", { LATCHKEY_NAMESPACE: "b" }, { config: { namespace: "a" } }],
    ["controller --namespace=", { LATCHKEY_NAMESPACE: "b" }, { config: unset }],
    ["controller --namespace ", { LATCHKEY_NAMESPACE: "b" }, { config: unset }],
  ])("%j %j", async ([line, env, expected]) => {
    expect(await outcomeOf(line.split(" "), { env })).toMatchObject({
      exitCode: 0,
      stdout: "",
      stderr: "",
      ...expected,
    });
  });
});

describe("an invalid command line prints one sentence and exits with 2", () => {
  const noValue = "option --namespace requires a value, such as --namespace=value";
  const after = "does not exist here; write options after a command";

  test.for<[string, string]>([
    [
      "controler",
      'command "controler" does not exist (did you mean controller?); latchkey --help lists the commands',
    ],
    ["constructor", 'command "constructor" does not exist; latchkey --help lists the commands'],
    ["--constructor", `option --constructor ${after}`],
    ["--kubeconfig=secret controller", `option --kubeconfig ${after}`],
    [
      "controller --nmespace=a",
      "option --nmespace does not exist (did you mean --namespace?); --help lists the options",
    ],
    ["controller --constructor=a", "option --constructor does not exist; --help lists the options"],
    ["controller -n a", "option -n does not exist; --help lists the options"],
    ["controller --namespace", noValue],
    ["controller --namespace --issuer=https://a", noValue],
    ["controller start", 'argument "start" is not an option; write options as --name=value'],
    [
      "controller --workers=0",
      '--workers (LATCHKEY_WORKERS): "0" must be a whole number from 1 to 256',
    ],
    [
      "controller --retry-period=10s",
      '--retry-period: "10s" must be shorter than --renew-deadline (10s)',
    ],
    ["webhook --direct=perhaps", '--direct (LATCHKEY_DIRECT): "perhaps" must be true or false'],
  ])("%j", async ([line, sentence]) => {
    expect(await outcomeOf(line.split(" "))).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `latchkey: ${sentence}\n`,
    });
  });

  test("validates a variable like its flag", async () => {
    const { exitCode, stderr } = await outcomeOf(["webhook"], {
      env: { LATCHKEY_QUOTA_KEYS: "many" },
    });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^latchkey: --quota-keys \(LATCHKEY_QUOTA_KEYS\): "many" must be .*\n$/);
  });

  test("rejects an option of another command", async () => {
    const { exitCode, stderr } = await outcomeOf(["webhook", "--retry-period=3s"]);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining("option --retry-period does not exist"),
    ]);
  });

  test.each(["controller --admission-paht=canary", "webhook --admission-path=canary"])(
    "does not print a value that may be secret: %s",
    async (line) => {
      const { exitCode, stderr } = await outcomeOf(line.split(" "));
      expect(exitCode).toBe(2);
      expect(stderr).not.toContain("canary");
    },
  );
});

describe("a failed command", () => {
  test("reports missing credentials as invalid configuration: one sentence, exit code 2", async () => {
    const failure = new CredentialsError("this is not a pod");
    expect(await outcomeOf(["controller"], { failure })).toMatchObject({
      exitCode: 2,
      stderr: `latchkey: ${failure.message}\n`,
    });
  });

  test("prints an error of the API server: one sentence, exit code 1", async () => {
    const failure = new KubeError("GET secrets is forbidden", { code: "Forbidden", status: 403 });
    expect(await outcomeOf(["controller"], { failure })).toMatchObject({
      exitCode: 1,
      stderr: "latchkey: GET secrets is forbidden\n",
    });
  });

  test("prints the stack of an unexpected error: exit code 1", async () => {
    const { exitCode, stderr } = await outcomeOf(["controller"], { failure: new TypeError("x") });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^latchkey: TypeError: x\n +at /);
  });
});

describe("help and version", () => {
  test.each(["--help", "-h", "help"])("latchkey %s lists the commands", async (argument) => {
    const { exitCode, stdout, stderr } = await outcomeOf([argument]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /^Usage: latchkey <command> \[options\]\n[^]*controller [^]*webhook [^]*gateway /,
    );
  });

  test("prints the help if there is no command, and exits with 2", async () => {
    const { exitCode, stdout } = await outcomeOf([]);
    expect([exitCode, stdout]).toEqual([2, (await outcomeOf(["--help"])).stdout]);
  });

  test.each([
    ["controller", "--help"],
    ["controller", "--workers=many", "-h"],
    ["help", "controller"],
  ])("latchkey %s %s lists the options and starts nothing", async (...argv) => {
    const outcome = await outcomeOf(argv);
    expect(outcome).toMatchObject({ exitCode: 0, stderr: "" });
    expect(outcome.action).toBeUndefined();
    expect(outcome.stdout).toMatch(
      /^Usage: latchkey controller \[options\]\n[^]*--lease-duration <duration> .*\(default 15s\) \[LATCHKEY_LEASE_DURATION\]\n/,
    );
  });

  test("latchkey --version prints the version in package.json", async () => {
    const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    expect(await outcomeOf(["--version"])).toEqual({
      exitCode: 0,
      stdout: `${latchkeyVersion}\n`,
      stderr: "",
    });
    expect(JSON.parse(manifest)).toMatchObject({ version: latchkeyVersion });
  });
});
