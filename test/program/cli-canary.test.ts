import { randomBytes } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { commands } from "../../src/client/commands.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { api, unique } from "../support/policy-request.ts";
import { type ProcessArguments, watchProcessArguments } from "./process-arguments.ts";
import { type CliOptions, cliEnvironment, runCli } from "../support/run-cli.ts";
import { installed, startOnTerminal } from "../support/terminal-program.ts";
import { skippedWithout } from "../support/skipped.ts";

/** A run of a command. */
interface Run {
  readonly args: readonly string[];
  readonly options?: CliOptions;
  readonly code?: number;
  /** Whether the standard output is a value, a key or a token. */
  readonly prints?: true;
}

const canary = (what: string): string => `canary.${what}.${randomBytes(12).toString("hex")}`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");
/** The texts of the values of a Secret in a manifest. */
const decodedIn = (text: string): string =>
  [...text.matchAll(/^ {2}kubeconfig: (\S+)$/gm)]
    .map(([, value = ""]) => Buffer.from(value, "base64").toString())
    .join("");

/** The token of a job, which no issuer signed. */
const jobToken = [
  { alg: "ES256", kid: "k" },
  { iss: "https://oidc.example", aud: "a/b", exp: 32_503_680_000, sub: canary("sub") },
]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  .concat("AAAA")
  .join(".");

describe.skipIf(inject("cli") === undefined)("the client shows no secret", () => {
  const namespace = unique("cli-secrets");
  const [key, other, token] = [unique("key"), unique("other"), unique("token")];
  const connected = unique("canary");
  const directory = mkdtempSync(join(tmpdir(), "cli-canary-"));
  /** What users keep: files that they named themselves. */
  const kept = join(directory, "kept");
  /** The home directory, with the history of the shell, and the temporary directory of commands. */
  const watched = join(directory, "watched");
  const secrets = new Set([canary("value"), canary("second"), canary("input"), canary("file")]);
  const [value = "", second = "", input = "", file = ""] = secrets;
  const bob: CliOptions = { user: "bob" };
  const at = ["-n", namespace];
  const reached = ["--address=https://east.example.com", `--address-ca=${join(kept, "ca.crt")}`];
  let processes: ProcessArguments;

  /** Every command, in the order in which they run: a command without a row is a type error. */
  const rows: { readonly [Name in keyof typeof commands]: readonly Run[] } = {
    set: [
      { args: ["set", "database", "password=-", ...at], options: { input: value } },
      { args: ["set", "database", `tls.key=@${join(kept, "file")}`, ...at] },
      { args: ["set", "database", "from.input", ...at], options: { input } },
      { args: ["set", "database", "password=-", ...at], options: { ...bob, input }, code: 5 },
      { args: ["set", "database", `password=${input.slice(0, 9)}`, ...at], code: 2 },
    ],
    get: [
      { args: ["get", "database", "password", ...at], prints: true },
      { args: ["get", "database", "-o", "json", ...at], prints: true },
      { args: ["get", "database", `--output-directory=${join(kept, "values")}`, ...at] },
      { args: ["get", "database", ...at], code: 2 },
      { args: ["get", "database", "password", ...at], options: bob, code: 5 },
    ],
    list: [{ args: ["list", ...at] }, { args: ["list", "-o", "yaml", ...at] }],
    edit: [
      { args: ["edit", "database", ...at], options: { env: { EDITOR: join(kept, "editor") } } },
      {
        args: ["edit", "database", ...at],
        options: { env: { EDITOR: join(kept, "broken-editor") } },
        code: 1,
      },
    ],
    run: [
      { args: ["run", "database", "--prefix=X_", ...at, "--", "sleep", "0.2"] },
      { args: ["run", "database", "--all", ...at, "--", "no-such-program"], code: 127 },
    ],
    status: [{ args: ["status", ...at] }, { args: ["status", "-o", "json", ...at] }],
    why: [
      { args: ["why", "shsec/database", ...at] },
      { args: ["why", "shsec/database", "-o", "json", ...at] },
    ],
    plan: [{ args: ["plan", ...at] }, { args: ["plan", "-o", "json", ...at] }],
    refreshNow: [{ args: ["refresh-now", "database", ...at] }],
    unset: [{ args: ["unset", "database", "from.input", ...at] }],
    keysCreate: [
      { args: ["keys", "create", key], options: bob, prints: true },
      { args: ["keys", "create", other, "-o", "json"], options: bob, prints: true },
      { args: ["keys", "create", unique("key"), `--output-file=${join(kept, "key")}`] },
    ],
    keysList: [{ args: ["keys", "list"] }, { args: ["keys", "list", "-o", "json"] }],
    keysDescribe: [{ args: ["keys", "describe", key] }],
    keysSet: [{ args: ["keys", "set", key, "--display-name=Key of bob"] }],
    keysDisable: [{ args: ["keys", "disable", key] }],
    keysEnable: [{ args: ["keys", "enable", key] }],
    keysRotate: [
      { args: ["keys", "rotate", key, "-o", "manifest", `--key-file=${join(kept, "next")}`] },
      { args: ["keys", "rotate", key], options: bob, prints: true },
    ],
    keysTakeOver: [{ args: ["keys", "take-over", key], prints: true }],
    keysDigest: [
      { args: ["keys", "digest", "--user=alice"], options: { input: second } },
      { args: ["keys", "digest", "--user=alice"], options: { input: `${second} spaced` }, code: 2 },
    ],
    keysTest: [
      {
        args: ["keys", "test"],
        options: {
          input: second,
          env: { LATCHKEY_ACCESS_KEY: second, LATCHKEY_SERVER: "http://x" },
        },
        code: 2,
      },
      { args: ["keys", "test"], options: { input: second }, code: 1 },
      { args: ["keys", "test"], options: { input: `${second} spaced` }, code: 2 },
    ],
    revoke: [
      { args: ["revoke", "--user=bob", "--dry-run=server"] },
      { args: ["revoke", "--user=bob", "--dry-run=server", "-o", "json"] },
    ],
    keysDelete: [{ args: ["keys", "delete", key, other] }],
    tokenCreate: [
      { args: ["token", "create"], options: bob, prints: true },
      { args: ["token", "create", "--exec-credential"], options: bob, prints: true },
      { args: ["token", "create", token], options: bob, prints: true },
    ],
    tokenList: [{ args: ["token", "list"] }, { args: ["token", "list", "-o", "json"] }],
    tokenDescribe: [
      { args: ["token", "describe", token], options: bob },
      { args: ["token", "describe", token, "-o", "yaml"], options: bob },
    ],
    tokenDelete: [{ args: ["token", "delete", token], options: bob }],
    clusterConnect: [
      { args: ["cluster", "connect", connected], prints: true },
      { args: ["cluster", "connect", connected] },
      {
        args: ["cluster", "connect", connected, "--rotate-key", `--output-file=${kept}/cluster`],
      },
      {
        args: ["cluster", "connect", connected, "--gateway", "--token-stdin", ...reached],
        options: { input },
      },
      { args: ["cluster", "connect", connected, "--gateway", ...reached] },
    ],
    clusterList: [{ args: ["cluster", "list"] }, { args: ["cluster", "list", "-o", "json"] }],
    clusterDisconnect: [{ args: ["cluster", "disconnect", connected] }],
    kubeconfig: [
      { args: ["kubeconfig", "east", "--address=https://east.example.com"], options: bob },
    ],
    credential: [
      {
        args: ["credential", "--audience=a/b", "--from-variable=JOB_TOKEN"],
        options: { env: { JOB_TOKEN: jobToken } },
        prints: true,
      },
      {
        args: ["credential", "--audience=a/c", "--from-variable=JOB_TOKEN"],
        options: { env: { JOB_TOKEN: jobToken } },
        code: 1,
      },
      { args: ["credential", "--audience=a/b", `--from-file=${join(kept, "file")}`], code: 1 },
    ],
    check: [{ args: ["check"] }, { args: ["check", "-o", "json"] }],
    version: [{ args: ["version"] }],
    trustConfig: [
      {
        args: [
          ...["trust-config", "--authorization", `--output=${join(kept, "trust")}`],
          "--webhook-url=https://latchkey-webhook",
        ],
      },
    ],
    rotateSigningKey: [{ args: ["rotate-signing-key"] }],
    delete: [{ args: ["delete", "database", ...at] }],
    completion: [{ args: ["completion", "bash"] }],
  };

  beforeAll(async () => {
    for (const path of [kept, watched]) mkdirSync(path);
    writeFileSync(join(kept, "file"), file);
    writeFileSync(join(kept, "ca.crt"), rootCertificates[0] ?? "");
    const editors = {
      // Without a process that has the value in its arguments.
      editor:
        '{ grep -v "^  password:" "$1"; printf "  password: "; cat "$0.value"; } > "$0.new"\ncat "$0.new" > "$1"\nsleep 0.2\n',
      "broken-editor": 'grep -q "Not stored" "$1" && exit 7\necho "broken: [" >> "$1"\n',
    };
    writeFileSync(join(kept, "editor.value"), second);
    for (const [name, text] of Object.entries(editors))
      writeFileSync(join(kept, name), `#!/bin/sh\n${text}`, { mode: 0o755 });
    const metadata = { name: namespace };
    await api.create("/api/v1/namespaces", { metadata });
    await allowRequesters("devs");
    processes = watchProcessArguments();
  });
  afterAll(async () => {
    await processes?.stop();
    rmSync(directory, { recursive: true });
  });

  const home = { HOME: watched, TMPDIR: watched, XDG_RUNTIME_DIR: "", XDG_CACHE_HOME: watched };
  /** The secrets in a text, by their first characters: a failed test prints the list. */
  const shownIn = (text: string): readonly string[] =>
    [...secrets]
      .filter((secret) => text.includes(secret) || text.includes(base64(secret)))
      .map((secret) => `${secret.slice(0, 8)}...`);
  /** The token of the exec plugin, which is kept for its user alone. */
  const isKeptToken = (path: string): boolean =>
    /\/kubectl-latchkey\/token-[0-9a-f]{20}$/.test(path) && (statSync(path).mode & 0o777) === 0o600;
  const textsIn = (directoryPath: string): string =>
    readdirSync(directoryPath, { recursive: true, encoding: "utf8", withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !isKeptToken(path))
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");

  it("has a row for every command", () => {
    expect(Object.keys(rows).toSorted()).toEqual(Object.keys(commands).toSorted());
  });

  it.each(Object.entries(rows))("in the output and files of %s", async (_name, runs) => {
    for (const { args, options = {}, code = 0, prints } of runs) {
      const env = { ...home, ...options.env };
      const result = await runCli(args, { ...options, env, asProcess: true });
      expect(shownIn(result.stderr)).toEqual([]);
      // Keys and tokens of other tests may be unwell.
      const ended = args[0] === "status" && result.code === 3 ? 0 : result.code;
      expect(ended, `${args.slice(0, 2).join(" ")}: ${result.stderr}`).toBe(code);
      const printed = result.stdout + decodedIn(result.stdout);
      const found = printed.match(/lk_\w{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [];
      for (const credential of found) secrets.add(credential);
      const isSecret = shownIn(printed).length > 0;
      expect([args.slice(0, 2), isSecret]).toEqual([args.slice(0, 2), prints === true]);
      expect(shownIn(textsIn(watched))).toEqual([]);
    }
  });

  it("in the history of a shell, or as an echo", skippedWithout(installed("bash")), async () => {
    const history = join(watched, ".history");
    const env = { ...cliEnvironment({}), ...home, HISTFILE: history, PS1: "", TERM: "dumb" };
    const terminal = startOnTerminal(["bash", "--norc", "--noprofile", "-i"], env);
    const typed = canary("typed");
    secrets.add(typed);
    terminal.type(`kubectl-latchkey set database typed -n ${namespace}; echo code:$?\n`);
    await terminal.shows("Value of typed: ");
    terminal.type(`${typed}\n`);
    await terminal.shows("code:0");
    terminal.type("history -w; echo wrote:$((40+2))\n");
    await terminal.shows("wrote:42");
    terminal.close();
    expect(shownIn(terminal.output())).toEqual([]);
    expect(readFileSync(history, "utf8")).toContain("set database typed");
    expect(shownIn(textsIn(watched))).toEqual([]);
    const stored = await runCli(["get", "database", "typed", ...at]);
    expect(stored.stdout === typed).toBe(true);
  });

  it("in the arguments of any process, and in the logs of the servers", async () => {
    const literal = canary("literal");
    const visible = ["set", "database", `visible=${literal}`, "--literal", ...at];
    expect((await runCli(visible, { asProcess: true })).code).toBe(0);
    await processes.stop();
    const lines = [...processes.seen].join("\n");
    // What the user writes into the command line is seen, so nothing escapes this test.
    expect(lines.includes(literal)).toBe(true);
    for (const { name } of Object.values(commands)) expect(lines).toContain(name);
    expect(shownIn(lines)).toEqual([]);
    const { logs } = inject("controlPlane");
    const own = [
      inject("controller").log,
      inject("webhook")?.log,
      ...(inject("gateway")?.logs ?? []),
    ];
    const logged = [...own.map((log = "") => readFileSync(log, "utf8")), textsIn(logs)];
    for (const text of logged) expect(text).not.toBe("");
    expect(logged.join("\n")).toContain(namespace);
    expect(shownIn(logged.join("\n"))).toEqual([]);
    expect(secrets.size).toBeGreaterThan(10);
  });
});
