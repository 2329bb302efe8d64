import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { commands } from "../../src/client/commands.ts";
import type { Command } from "../../src/cli/command.ts";
import { eventually } from "../support/eventually.ts";
import { managementPath } from "../support/gateway-address.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { api, unique } from "../support/policy-request.ts";
import { type CliOptions, runCli } from "../support/run-cli.ts";

/**
 * Who runs a command: the administrator; alice, who may read no object; bob, who may get one
 * SharedSecret; and a key of bob with a scope that only reads, at kube-apiserver and at the gateway.
 */
const callers = ["admin", "alice", "bob", "key", "gateway"] as const;
type Caller = (typeof callers)[number];

/** The words behind a command, and its exit code for each caller in their order. */
type Row = readonly [words: string, codes: readonly number[]];

const namespace = unique("cli-codes");
const [adminKey, anyName] = [unique("admin"), () => unique("any")];
const forAll = (code: number): readonly number[] => callers.map(() => code);
const noneBut = (code: number, others = 5): readonly number[] =>
  callers.map((caller) => (caller === "admin" ? code : others));

/** Every command: one without a row is a type error. `DATABASE` is what bob may get. */
const rows: { readonly [Name in keyof typeof commands]: readonly Row[] } = {
  list: [["", forAll(0)]],
  get: [
    ["database password", [0, 5, 0, 0, 0]],
    ["database nokey", [4, 5, 4, 4, 4]],
    ["database", [2, 5, 2, 2, 2]],
    ["nothing", noneBut(4)],
    ["", forAll(2)],
  ],
  set: [
    ["database new=- --dry-run=server", noneBut(0)],
    ["created new=- --dry-run=server", noneBut(0)],
    ["database new=value", forAll(2)],
    ["database no/key=- --dry-run=server", forAll(2)],
  ],
  unset: [
    ["database password --dry-run=server", noneBut(0)],
    ["nothing password --dry-run=server", noneBut(4)],
  ],
  edit: [
    ["database", [0, 5, 0, 0, 0]],
    ["nothing", noneBut(4)],
  ],
  delete: [
    ["database --dry-run=server", noneBut(0)],
    ["nothing", noneBut(4)],
    ["database /", forAll(2)],
  ],
  run: [
    ["database --all -- true", [0, 125, 0, 0, 0]],
    ["database --all -- false", [1, 125, 1, 1, 1]],
    ["database --all -- grep -q nothing /nonexistent", [2, 125, 2, 2, 2]],
    ["database --all -- no-such-program", [127, 125, 127, 127, 127]],
    ["database --all -- /etc/passwd", [126, 125, 126, 126, 126]],
    ["nothing -- true", forAll(125)],
    ["database", forAll(125)],
  ],
  keysCreate: [
    ["NEW --ttl=1h", [0, 0, 0, 5, 5]],
    ["NEW --user=carol", noneBut(0)],
    ["NEW --idle", forAll(2)],
    ["Not/a/name --user=bob", forAll(2)],
  ],
  keysList: [["", forAll(0)]],
  keysDescribe: [
    [adminKey, noneBut(0)],
    ["nothing", noneBut(4)],
  ],
  keysSet: [
    [`${adminKey} --ttl=1h --dry-run=server`, noneBut(0)],
    ["nothing --ttl=1h", noneBut(4)],
    [adminKey, forAll(2)],
  ],
  keysDisable: [
    [adminKey, noneBut(0)],
    ["nothing", noneBut(4)],
  ],
  keysEnable: [
    [adminKey, noneBut(0)],
    ["nothing", noneBut(4)],
  ],
  keysRotate: [["nothing", noneBut(4)]],
  keysTakeOver: [["nothing", noneBut(4)]],
  keysDelete: [
    ["nothing", noneBut(4)],
    // Its path would be that of all keys.
    [`${adminKey} /`, forAll(2)],
  ],
  revoke: [
    ["--user=nobody --yes --dry-run=server", noneBut(0)],
    ["--user=nobody", forAll(2)],
    ["--yes", forAll(2)],
  ],
  keysDigest: [["", forAll(2)]],
  keysTest: [["", forAll(1)]],
  tokenCreate: [
    ["--ttl=1h", [0, 0, 0, 5, 5]],
    ["--ttl=1s", forAll(2)],
  ],
  tokenList: [["", forAll(0)]],
  tokenDescribe: [["nothing", noneBut(4)]],
  tokenDelete: [
    ["nothing", noneBut(4)],
    ["job /", forAll(2)],
    ["", forAll(2)],
    ["job --requester=bob", forAll(2)],
    ["--requester=nobody", noneBut(0)],
  ],
  clusterConnect: [
    ["NEW --ttl=1h", noneBut(0)],
    ["NEW --central-server=http://a", forAll(2)],
    ["NEW --insecure-skip-tls-verify", forAll(2)],
    ["NEW --gateway", noneBut(2)],
    ["Not/a/name", forAll(2)],
  ],
  clusterDisconnect: [["nothing", noneBut(4)]],
  clusterList: [["", forAll(0)]],
  kubeconfig: [
    ["nowhere", [4, 4, 4, 5, 5]],
    ["east --address=https://a --key-file=b", forAll(2)],
  ],
  credential: [
    ["", forAll(2)],
    ["--audience=a/b --from-github", forAll(2)],
    ["--audience=a/b --from-file=/etc/passwd", forAll(1)],
  ],
  status: [["", forAll(0)]],
  why: [
    ["shsec/database", [0, 5, 0, 0, 0]],
    ["shsec/nothing", noneBut(4)],
    ["database", forAll(2)],
  ],
  plan: [
    ["", forAll(0)],
    ["-f /nonexistent", forAll(2)],
  ],
  refreshNow: [
    ["database", noneBut(0)],
    ["nothing", noneBut(4)],
  ],
  check: [
    ["", forAll(0)],
    ["--latchkey-namespace=default", noneBut(3, 0)],
  ],
  version: [["", forAll(0)]],
  trustConfig: [
    ["--authorization --webhook-url=https://a.example.com", noneBut(0)],
    ["", forAll(2)],
  ],
  rotateSigningKey: [
    ["", noneBut(0)],
    ["--latchkey-namespace=default", noneBut(2)],
  ],
  completion: [
    ["bash", forAll(0)],
    ["tcsh", forAll(2)],
  ],
};

function commandOf(field: string): Command {
  const found = Object.entries(commands).find(([name]) => name === field);
  if (found === undefined) throw new Error(`there is no command ${field}`);
  return found[1];
}

const wordsOf = (command: Command, words: string): readonly string[] => [
  ...command.name.split(" "),
  ...(command.connects ? ["-n", namespace] : []),
  ...words
    .replace("NEW", anyName())
    .split(" ")
    .filter((word) => word !== ""),
];

describe.skipIf(inject("cli") === undefined)("exit codes", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-codes-"));
  const options = new Map<Caller, CliOptions>();
  const codeOf = async (args: readonly string[], caller: Caller): Promise<number> => {
    const extra = { input: "no-key-0123456789", env: { EDITOR: "true" } };
    const { code } = await runCli(args, { ...options.get(caller), ...extra });
    // Keys and tokens of other tests may be unwell.
    return args[0] === "status" && code === 3 ? 0 : code;
  };

  beforeAll(async () => {
    const metadata = { name: namespace };
    await api.create("/api/v1/namespaces", { metadata });
    await allowRequesters("devs");
    const data = { password: "c2VjcmV0", user: "dXNlcg==" };
    await api.create(`/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`, {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: { name: "database" },
      spec: { data, access: [{ verbs: ["get"], users: ["bob"] }] },
    });
    await runCli(["keys", "create", adminKey, "--user=alice"]);
    const make = ["keys", "create", unique("scoped"), "--user=bob", "--role=serviceCLI"];
    const key = (await runCli(make)).stdout.trim();
    const { gatewayUrl = "", gatewayCa = "" } = inject("cli") ?? {};
    const { url, certificateAuthority } = inject("controlPlane");
    const servers = {
      key: { url, certificateAuthority },
      gateway: { url: `${gatewayUrl}${managementPath}`, certificateAuthority: gatewayCa },
    };
    for (const user of ["admin", "alice", "bob"] as const) options.set(user, { user });
    for (const caller of ["key", "gateway"] as const) {
      const kubeconfig = join(directory, caller);
      writeKubeconfig(kubeconfig, servers[caller], { key: { token: key } });
      options.set(caller, { kubeconfig });
    }
    const readers = ["bob", "key", "gateway"] as const;
    const isReadable = async () => {
      const args = ["get", "database", "password", "-n", namespace];
      const codes = await Promise.all(readers.map((caller) => codeOf(args, caller)));
      return codes.every((code) => code === 0);
    };
    await eventually(isReadable, { what: "bob's grant" });
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const table = Object.entries(rows).flatMap(([field, list]) => {
    const command = commandOf(field);
    return list.map(
      ([words, codes]) => [`${command.name} ${words}`, command, words, codes] as const,
    );
  });

  it.each(table)("%s", async (_name, command, words, codes) => {
    const found = await Promise.all(
      callers.map((caller) => codeOf(wordsOf(command, words), caller)),
    );
    expect(Object.fromEntries(callers.map((caller, at) => [caller, found[at]]))).toEqual(
      Object.fromEntries(callers.map((caller, at) => [caller, codes[at]])),
    );
  });

  it("a missing right to impersonate is named", async () => {
    const { code, stderr } = await runCli(["list", "--as=carol"], options.get("alice"));
    const named = expect.stringContaining("you do not have the right impersonate");
    expect([code, stderr]).toEqual([5, named]);
  });

  const connected = Object.entries(rows).flatMap(([field, list]) => {
    const command = commandOf(field);
    return command.connects ? [[command.name, command, list[0]?.[0] ?? ""] as const] : [];
  });

  it.each(connected)(
    "%s with a wrong command line, kubeconfig or server",
    async (_name, command, words) => {
      const [own = "", program] = words.split(" -- ");
      const args = (flag: string) => [
        ...wordsOf(command, own),
        flag,
        ...(program === undefined ? [] : ["--", program]),
      ];
      const codes = await Promise.all(
        [
          args("--help"),
          args("--nonsense"),
          args("--kubeconfig=/nonexistent"),
          args("--context=nowhere"),
          args("--server=https://127.0.0.1:1"),
          args("--token=wrong"),
        ].map((line) => codeOf(line, "admin")),
      );
      const [usage, failed] = program === undefined ? [2, 1] : [125, 125];
      expect(codes).toEqual([0, usage, usage, usage, failed, failed]);
    },
  );
});
