import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { echoed, type EchoServer } from "./echo-server.ts";
import { eventually } from "./eventually.ts";
import type { KubectlResult } from "./kubectl.ts";
import { forwardedPort, type KubectlProcess } from "./kubectl-process.ts";
import type { RunningPod } from "./pod-requests.ts";
import { unique } from "./policy-request.ts";

/** kubectl with a credential at a way in, and a pod. */
export interface KubectlInPod {
  readonly pod: RunningPod;
  readonly echo: EchoServer;
  /** A directory for files of the test. */
  readonly directory: string;
  run(args: readonly string[]): Promise<KubectlResult>;
  start(args: readonly string[]): KubectlProcess;
}

/** Something that kubectl does in a pod, and what becomes of it. */
export interface PodAction {
  readonly name: string;
  readonly outcome: (client: KubectlInPod) => Promise<unknown>;
  readonly expected: (client: KubectlInPod) => unknown;
}

/** More than the gateway keeps, and over before the first ping of kubectl, after 5 s. */
const megabytes = 8 * 1024 * 1024;
const patience = { every: 50 } as const;

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const inPod = ({ pod }: KubectlInPod, verb: string, ...args: readonly string[]) => [
  ...[verb, `--namespace=${pod.namespace}`, ...args],
];
const linesOf = ({ pod }: KubectlInPod, from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `line ${from + at} of ${pod.name}\n`).join("");

/** What works through every way in, over every protocol of kubectl. */
export const podActions: readonly PodAction[] = [
  {
    name: "prints logs",
    async outcome(client) {
      const { code, stdout, stderr } = await client.run(
        inPod(client, "logs", client.pod.name, "--tail=3"),
      );
      return [code, stderr, stdout];
    },
    expected: (client) => [0, "", linesOf(client, 7, 10)],
  },
  {
    name: "follows logs line by line",
    async outcome(client) {
      const follow = client.start(inPod(client, "logs", "--follow", client.pod.name));
      const isLong = () => follow.stdout().includes(linesOf(client, 15, 16));
      await eventually(isLong, { what: "six more lines", ...patience });
      follow.kill();
      return follow.stdout().toString();
    },
    expected: (client) => expect.stringMatching(`^${linesOf(client, 0, 16)}`),
  },
  {
    name: "runs a command and returns its output, errors and exit code",
    async outcome(client) {
      const script = "echo out; echo err >&2; exit 3";
      const command = inPod(client, "exec", client.pod.name, "--", "sh", "-c", script);
      const { code, stdout, stderr } = await client.run(command);
      return [code, stdout, stderr];
    },
    expected: () => [3, "out\n", expect.stringMatching(/^err\n/)],
  },
  {
    name: "carries 8 MB through stdin and stdout of a command",
    async outcome(client) {
      const bytes = randomBytes(megabytes);
      const cat = client.start(inPod(client, "exec", "--stdin", client.pod.name, "--", "cat"));
      cat.stdin.end(bytes);
      const { code } = await cat.ended;
      const { length } = cat.stdout();
      return [code, cat.stderr(), length, sha256(cat.stdout()) === sha256(bytes)];
    },
    expected: () => [0, "", megabytes, true],
  },
  {
    name: "attaches to a container",
    async outcome(client) {
      const attached = client.start(inPod(client, "attach", "--stdin", client.pod.name));
      attached.stdin.write("hello\n");
      await eventually(() => attached.stdout().toString() === "hello\n", {
        what: "the echo",
        ...patience,
      });
      attached.stdin.end();
      return (await attached.ended).code;
    },
    expected: () => 0,
  },
  {
    name: "forwards a port both ways, in several connections at a time",
    async outcome(client) {
      const forward = client.start(
        inPod(client, "port-forward", client.pod.name, `:${client.echo.port}`),
      );
      const port = await forwardedPort(forward);
      const sent = Array.from({ length: 3 }, () => randomBytes(2_000_000));
      const received = await Promise.all(sent.map((bytes) => echoed(port, bytes)));
      forward.kill();
      return received.map((bytes, at) => bytes.equals(sent[at] ?? Buffer.alloc(0)));
    },
    expected: () => [true, true, true],
  },
  {
    name: "copies a file into a container and back",
    async outcome(client) {
      const path = (name: string): string => join(client.directory, name);
      const bytes = randomBytes(1_000_000);
      writeFileSync(path("local"), bytes);
      const remote = `${client.pod.name}:${path("remote")}`;
      const sent = await client.run(inPod(client, "cp", path("local"), remote));
      const isThere = readFileSync(path("remote")).equals(bytes);
      const back = await client.run(inPod(client, "cp", remote, path("back")));
      return [sent.code, isThere, back.code, readFileSync(path("back")).equals(bytes)];
    },
    expected: () => [0, true, 0, true],
  },
];

/** What stays open in a pod. */
export interface OpenInPod {
  readonly exec: KubectlProcess;
  readonly attach: KubectlProcess;
  readonly logs: KubectlProcess;
  readonly forward: KubectlProcess;
  /** The pid of the command in the pod. */
  readonly pid: number;
}

/** Starts all that stays open, and waits until it is. */
export async function openInPod(client: KubectlInPod): Promise<OpenInPod> {
  const { pod, echo, directory } = client;
  const start = (verb: string, ...args: readonly string[]): KubectlProcess =>
    client.start(inPod(client, verb, ...args));
  const pidFile = join(directory, unique("pid"));
  const script = `echo $$ > ${pidFile}; exec cat`;
  const exec = start("exec", "--stdin", pod.name, "--", "sh", "-c", script);
  const attach = start("attach", "--stdin", pod.name);
  const logs = start("logs", "--follow", pod.name);
  const forward = start("port-forward", pod.name, `:${echo.port}`);
  attach.stdin.write("hello\n");
  await echoed(await forwardedPort(forward), randomBytes(10));
  await eventually(
    () => existsSync(pidFile) && attach.stdout().length > 0 && logs.stdout().length > 0,
    { what: "the streams to be open", ...patience },
  );
  const pid = Number(readFileSync(pidFile, "utf8"));
  if (!isRunning(pid)) throw new Error("the command in the pod has ended");
  return { exec, attach, logs, forward, pid };
}

/** Whether a process of this machine runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
