import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { echoed, type EchoServer, startEchoServer } from "../support/echo-server.ts";
import { eventually } from "../support/eventually.ts";
import { kubectlThrough } from "../support/gateway-client.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import {
  forwardedPort,
  type KubectlProcess,
  startKubectl,
  streamProtocols,
} from "../support/kubectl-process.ts";
import { bind, unique } from "../support/policy-request.ts";
import type { RunningPod } from "../support/pod-requests.ts";
import { makeRunningPod } from "../support/running-pod.ts";

const twentyMegabytes = 20 * 1024 * 1024;
const patience = { every: 50, within: 30_000 } as const;
const editors = unique("editors");

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe.skipIf(inject("gateway") === undefined).each(streamProtocols)(
  "kubectl through the gateway over $protocol",
  ({ env }) => {
    const directory = mkdtempSync(join(tmpdir(), "latchkey-streams-"));
    const started: KubectlProcess[] = [];
    let key: KnownKey;
    let pod: RunningPod;
    let echo: EchoServer;

    const inPod = (verb: string, ...args: readonly string[]): readonly string[] => [
      ...[verb, `--namespace=${pod.namespace}`, ...args],
    ];
    const run = (args: readonly string[], by = key) => kubectlThrough(by.key, args, { env });
    const start = (args: readonly string[]): KubectlProcess => {
      const child = startKubectl(key.key, args, { env });
      started.push(child);
      return child;
    };
    const keyWith = async (spec: object = {}): Promise<KnownKey> => {
      const made = await makeKey({ spec: { user: "alice", groups: [editors], ...spec } });
      await eventually(async () => (await run(["version"], made)).code === 0, {
        what: "the key to work",
      });
      return made;
    };

    beforeAll(async () => {
      await bind({ kind: "Group", name: editors }, "cluster-admin");
      [key, pod, echo] = await Promise.all([keyWith(), makeRunningPod(), startEchoServer()]);
    });
    afterAll(() => {
      for (const child of started) child.kill();
      echo.close();
      rmSync(directory, { recursive: true, force: true });
    });

    it("prints logs", async () => {
      const { code, stdout, stderr } = await run(inPod("logs", pod.name, "--tail=3"));
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toBe([7, 8, 9].map((line) => `line ${line} of ${pod.name}\n`).join(""));
    });

    it("follows logs line by line", async () => {
      const follow = start(inPod("logs", "--follow", pod.name));
      const isLong = () => follow.stdout().includes(`line 15 of ${pod.name}\n`);
      await eventually(isLong, { what: "six more lines", ...patience });
      const lines = Array.from({ length: 16 }, (_, line) => `line ${line} of ${pod.name}\n`);
      expect(follow.stdout().toString().startsWith(lines.join(""))).toBe(true);
      follow.kill();
    });

    it("runs a command and returns its output, errors and exit code", async () => {
      const script = "echo out; echo err >&2; exit 3";
      const { code, stdout, stderr } = await run(inPod("exec", pod.name, "--", "sh", "-c", script));
      expect([code, stdout]).toEqual([3, "out\n"]);
      expect(stderr).toMatch(/^err\n/);
    });

    it("carries 20 MB through stdin and stdout of a command", async () => {
      const bytes = randomBytes(twentyMegabytes);
      const cat = start(inPod("exec", "--stdin", pod.name, "--", "cat"));
      cat.stdin.end(bytes);
      const { code } = await cat.ended;
      expect([code, cat.stderr()]).toEqual([0, ""]);
      expect(sha256(cat.stdout())).toBe(sha256(bytes));
    });

    it("attaches to a container", async () => {
      const attached = start(inPod("attach", "--stdin", pod.name));
      attached.stdin.write("hello\n");
      await eventually(() => attached.stdout().toString() === "hello\n", {
        ...{ what: "the echo", ...patience },
      });
      attached.stdin.end();
      expect((await attached.ended).code).toBe(0);
    });

    it("forwards a port both ways, in several connections at a time", async () => {
      const forward = start(inPod("port-forward", pod.name, `:${echo.port}`));
      const port = await forwardedPort(forward);
      const sent = Array.from({ length: 3 }, () => randomBytes(2_000_000));
      const received = await Promise.all(sent.map((bytes) => echoed(port, bytes)));
      expect(received.map(sha256)).toEqual(sent.map(sha256));
      forward.kill();
    });

    it("copies a file into a container and back", async () => {
      const path = (name: string): string => join(directory, name);
      const bytes = randomBytes(1_000_000);
      writeFileSync(path("local"), bytes);
      const remote = `${pod.name}:${path("remote")}`;
      expect(await run(inPod("cp", path("local"), remote))).toMatchObject({ code: 0 });
      expect(sha256(readFileSync(path("remote")))).toBe(sha256(bytes));
      expect(await run(inPod("cp", remote, path("back")))).toMatchObject({ code: 0 });
      expect(sha256(readFileSync(path("back")))).toBe(sha256(bytes));
    });

    it.each([
      ["exec", ["--", "true"]],
      ["attach", []],
      ["port-forward", [":80"]],
    ])("rejects %s with a key whose scope lacks the verb create", async (verb, args) => {
      const resources = ["pods", "pods/exec", "pods/attach", "pods/portforward"].map(
        (resource) => ({ group: "", resources: [resource] }),
      );
      const reader = await keyWith({ scope: { rules: [{ verbs: ["get", "list"], resources }] } });
      const { code, stderr } = await run(inPod(verb, pod.name, ...args), reader);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          "forbidden: the scope of this credential does not allow create pods/",
        ),
      ]);
      expect((await run(inPod("get", "pod", pod.name), reader)).code).toBe(0);
    });
  },
);
