import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { echoed, type EchoServer, startEchoServer } from "../support/echo-server.ts";
import { eventually } from "../support/eventually.ts";
import { cutWithinMs } from "../support/gateway-request.ts";
import { kubectlThrough } from "../support/gateway-client.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import {
  forwardedPort,
  type KubectlProcess,
  startKubectl,
  streamProtocols,
} from "../support/kubectl-process.ts";
import { arrange, bind, patchTypes, unique } from "../support/policy-request.ts";
import type { RunningPod } from "../support/pod-requests.ts";
import { makeRunningPod } from "../support/running-pod.ts";

const patience = { every: 50, within: 30_000 } as const;
const editors = unique("editors");

/** A scope of pods whose connecting subresources allow these verbs. */
const scopeWith = (verbs: readonly string[]): object => ({
  rules: [
    { verbs: ["get"], resources: [{ group: "", resources: ["pods", "pods/log"] }] },
    {
      verbs,
      resources: [{ group: "", resources: ["pods/exec", "pods/attach", "pods/portforward"] }],
    },
  ],
});

const merge = (key: KnownKey, spec: object) =>
  arrange({ method: "PATCH", path: key.path, type: patchTypes.merge, body: { spec } });

const losses = [
  { name: "when its key is disabled", endsLogs: true, spec: {}, change: { disabled: true } },
  { name: "when its key is deleted", endsLogs: true, spec: {}, change: undefined },
  {
    name: "when the scope of its key loses the verb create",
    endsLogs: false,
    spec: { scope: scopeWith(["get", "create"]) },
    change: { scope: scopeWith(["get"]) },
  },
];

/** Whether a process of this machine runs. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe.skipIf(inject("gateway") === undefined).each(streamProtocols)(
  "a connection to a pod over $protocol ends",
  ({ protocol, env }) => {
    const directory = mkdtempSync(join(tmpdir(), "latchkey-streams-"));
    const started: KubectlProcess[] = [];
    let pod: RunningPod;
    let echo: EchoServer;

    /** Starts all that stays open, and waits until it is; `pid` is that of the command in the pod. */
    const openAll = async (key: KnownKey) => {
      const start = (verb: string, ...args: readonly string[]): KubectlProcess => {
        const child = startKubectl(key.key, [verb, `--namespace=${pod.namespace}`, ...args], {
          env,
        });
        started.push(child);
        return child;
      };
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
      expect(isRunning(pid)).toBe(true);
      return { exec, attach, logs, forward, pid };
    };

    beforeAll(async () => {
      await bind({ kind: "Group", name: editors }, "cluster-admin");
      [pod, echo] = await Promise.all([makeRunningPod(), startEchoServer()]);
    });
    afterAll(() => {
      for (const child of started) child.kill();
      echo.close();
      rmSync(directory, { recursive: true, force: true });
    });

    it.each(losses)("$name", async ({ name, endsLogs, spec, change }) => {
      const key = await makeKey({ spec: { user: "alice", groups: [editors], ...spec } });
      await eventually(async () => (await kubectlThrough(key.key, ["version"])).code === 0, {
        what: "the key to work",
      });
      const { exec, attach, logs, forward, pid } = await openAll(key);
      const began = performance.now();
      await (change === undefined
        ? arrange({ method: "DELETE", path: key.path })
        : merge(key, change));
      const cut = { exec, attach, forward, ...(endsLogs ? { logs } : {}) };
      const took = await Promise.all(
        Object.entries(cut).map(async ([what, { ended }]) => ({
          what,
          ms: Math.round((await ended).at - began),
        })),
      );
      const times = took.map(({ what, ms }) => `${what} ${ms} ms`).join(", ");
      process.stdout.write(`over ${protocol}, ${name}: ${times}\n`);
      expect(Math.max(...took.map(({ ms }) => ms))).toBeLessThan(cutWithinMs);
      // Over SPDY, kubectl takes the end of any connection for the success of its command.
      expect([protocol, (await exec.ended).code]).not.toEqual(["WebSocket", 0]);
      expect((await forward.ended).code).toBe(1);
      // The API server has ended its connection to the node: the command reads the end of its input.
      await eventually(() => !isRunning(pid), { what: "the command to end", within: cutWithinMs });
      if (endsLogs) return;
      const before = logs.stdout().length;
      await eventually(() => logs.stdout().length > before, { what: "more logs", ...patience });
    });
  },
);
