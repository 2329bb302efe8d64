import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientProgram, runCompletion } from "../../src/client/actions.ts";
import { optionsOf, runCommandLine } from "../../src/cli/command-line.ts";
import { commands } from "../../src/client/commands.ts";
import { connectionOptions } from "../../src/client/connection/connection-options.ts";
import type { Command } from "../../src/cli/command.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { flagOf } from "../../src/runtime/options.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { isAtLength } from "../support/property-runs.ts";
import { endServer, KeptSockets, listenLocally } from "../support/local-server.ts";

/** What a person types by mistake, or what a script has in an empty variable. */
const words = [
  ...["..", "a/b", "", "\n", "x".repeat(300)],
  ...(isAtLength ? ["/", ".", "%2F", "..%2f", "?x", "#", " ", "a b"] : []),
];

/** A command line of words that are right: all arguments, and the options without which it ends. */
const ordinary: { readonly [Name in keyof typeof commands]: readonly string[] } = {
  list: [],
  get: ["database", "password"],
  set: ["database", "password"],
  unset: ["database", "password"],
  edit: ["database"],
  delete: ["database"],
  run: ["database", "--only=password"],
  keysCreate: ["ci"],
  keysList: [],
  keysDescribe: ["ci"],
  keysSet: ["ci", "--ttl=1h"],
  keysDisable: ["ci"],
  keysEnable: ["ci"],
  keysDelete: ["ci"],
  keysRotate: ["ci"],
  keysTakeOver: ["ci"],
  revoke: ["--user=alice", "--yes"],
  keysDigest: [],
  keysTest: [],
  tokenCreate: ["job"],
  tokenList: [],
  tokenDescribe: ["job"],
  tokenDelete: ["job"],
  clusterConnect: ["east"],
  clusterDisconnect: ["east"],
  clusterList: [],
  kubeconfig: ["east"],
  credential: ["--audience=a/b", "--from-github"],
  why: ["oak/ci", "get", "secrets", "database"],
  status: [],
  plan: [],
  refreshNow: ["database"],
  check: [],
  version: [],
  trustConfig: ["--authorization"],
  rotateSigningKey: [],
  completion: ["bash"],
};

const directory = mkdtempSync(join(tmpdir(), "typed-names-"));
const KUBECONFIG = join(directory, "kubeconfig");
let [requests, said]: [string[], string[]] = [[], []];

/** Has one key, answers reviews and lists, and has no other object. */
const server = createServer((request, response) => {
  const line = `${request.method ?? ""} ${new URL(request.url ?? "", "http://localhost").pathname}`;
  const isDeleted = requests.some((earlier) => earlier.startsWith("DELETE"));
  requests.push(line);
  const isKey = line.endsWith("/ownedaccesskeys/ci") && !(isDeleted && line.startsWith("GET"));
  const isList = /^POST .*reviews$|^GET .*s$/.test(line);
  const status = isKey || isList ? 200 : 404;
  request.resume().once("end", () => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(status === 200 ? answer : missing));
  });
});
const ready = { type: "Ready", status: "True", reason: "Active", message: "It is valid." };
const missing = { kind: "Status", reason: "NotFound", message: "gone" };
const answer = {
  kind: "OwnedAccessKey",
  metadata: { name: "ci", uid: "uid-1", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { user: "alice" },
  status: {
    allowed: true,
    userInfo: { username: "alice" },
    resourceRules: [],
    conditions: [{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
};
const sockets = new KeptSockets();
server.on("connection", (socket) => sockets.keep(socket));

const cwd = process.cwd();
beforeAll(async () => {
  // Some words are names of files that a command writes.
  process.chdir(directory);
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  writeKubeconfig(KUBECONFIG, { url, certificateAuthority: "" }, { admin: { token: "t" } });
});
afterAll(async () => {
  process.chdir(cwd);
  await endServer(server, sockets);
  rmSync(directory, { recursive: true });
});

const deps = {
  terminal: {
    print: () => {},
    isInput: false,
    isOutput: false,
    isError: false,
    hasColors: false,
    say: (sentence: string) => void said.push(sentence),
    readInput: async () => Buffer.from("value-of-the-standard-input"),
    ask: async () => "",
    askSecret: async () => "",
  },
  env: { KUBECONFIG },
  clock: systemClock,
  hostname: "here",
  untilStopped: () => AbortSignal.abort(),
};

const isRun = ({ runsProgram }: Command): boolean => runsProgram === true;

/** The exit code of a command line, its sentences, and its requests without their queries. */
async function outcomeOf(command: Command, args: readonly string[]) {
  [requests, said] = [[], []];
  const program = isRun(command) ? ["--", "true"] : [];
  const write = (text: string | Uint8Array): void => void said.push(String(text));
  const words = [...command.name.split(" "), ...args, ...program];
  const client = { ...clientProgram(deps), commands: [command] };
  const code = await runCommandLine(words, client, { stdout: { write }, stderr: { write } });
  return { code, said: said.join(""), requests };
}

/** A command line with one wrong word. */
interface Attempt {
  readonly args: readonly string[];
  /** The same line with a word that is right. */
  readonly like: readonly string[];
  /** What the refusal names: the argument or the option, or the word in quotes. */
  readonly names: readonly string[];
  /** Whether the word names an object, so that it must be refused. */
  readonly isObject: boolean;
}

function attempts(command: Command, usual: readonly string[]): readonly Attempt[] {
  const options = Object.entries(optionsOf(command, connectionOptions)).filter(
    ([, { value }]) => value !== "",
  );
  return words.flatMap((word) => {
    const quoted = `"${word.replaceAll("\n", " ")}"`;
    const inArguments = (command.arguments ?? []).flatMap(({ name, many }, index) => {
      const rest = { names: [name], isObject: name.includes("NAME") };
      const [kind, named] = (usual[index] ?? "").split("/");
      const wrong = named === undefined ? [word] : [word, `${kind}/${word}`];
      const more = { args: [...usual, word], like: [...usual, "other"] };
      return [
        ...wrong.map((text) => ({ args: usual.with(index, text), like: usual, ...rest })),
        ...(many === true ? [{ ...more, ...rest }] : []),
      ];
    });
    const inOptions = options.map(([field, { completes }]) => {
      const option = `--${flagOf(field)}`;
      // What is wrong may be a file in a directory.
      const names = completes === "files" ? [""] : [option, quoted];
      return { args: [...usual, `${option}=${word}`], like: usual, names, isObject: false };
    });
    return [...inArguments, ...inOptions];
  });
}

const usualArgs: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(ordinary));

describe("a wrong word is refused before any request, or nothing else is asked for", () => {
  test.each(
    Object.entries(commands).map(([key, command]) => ({ name: command.name, key, command })),
  )("$name", async ({ key, command }) => {
    const usual = usualArgs.get(key) ?? [];
    expect(usual.filter((word) => !word.startsWith("-"))).toHaveLength(command.arguments.length);
    const wrong: string[] = [];
    const wantedFor = new Map<string, readonly string[]>();
    for (const { args, like, names, isObject } of attempts(command, usual)) {
      const wanted = wantedFor.get(like.join()) ?? (await outcomeOf(command, like)).requests;
      wantedFor.set(like.join(), wanted);
      const { code, said: sentences, requests: sent } = await outcomeOf(command, args);
      const isRefused =
        code === (isRun(command) ? 125 : 2) &&
        sent.length === 0 &&
        names.some((name) => sentences.includes(name));
      // Without a request, a failure is a mistake in the command line, and is said as one.
      const isFailure = sent.length === 0 && code === 1;
      const isHarmless =
        !isObject && !isFailure && sent.every((request) => wanted.includes(request));
      if (!isRefused && !isHarmless) wrong.push(JSON.stringify({ args, code, sentences, sent }));
    }
    expect(wrong).toEqual([]);
  });
});

test.each(words)(
  "completion after %j asks for nothing but what it asks after a name",
  async (word) => {
    const requestsFor = async (...line: readonly string[]) => {
      requests = [];
      await runCompletion([...line, ""], deps);
      return requests;
    };
    const wanted = await requestsFor("get", "database");
    expect(wanted).toHaveLength(1);
    for (const line of [
      ["get", word],
      ["get", "-n", word, "database"],
      ["why", word],
    ])
      expect(wanted).toEqual(expect.arrayContaining(await requestsFor(...line)));
  },
);
