import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { startControlPlane } from "../support/control-plane.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";

const silent = () => {};

/** Command lines with a directory, of processes that are not zombies (proc(5)). */
function processesOf(directory: string): string[] {
  const commands = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine);
  return commands.filter((command) => command.includes(directory));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

describe.skipIf(!hasDedicatedClusters || !existsSync("/proc/self/cmdline"))(
  "a dedicated control plane",
  () => {
    it("runs in parallel to another one, and both stop without leaving a process or a file", async () => {
      const source = await findOrBuildControlPlane(silent);
      const pair = await Promise.all([
        startControlPlane(source),
        startControlPlane(source, { auditLog: false }),
      ]);
      const [first, second] = pair;
      await kubectl(first, ["create", "namespace", "only-here"]);
      const elsewhere = await tryKubectl(second, ["get", "namespace", "only-here"]);
      const groups = await kubectl(
        second,
        ["auth", "whoami", "--output=jsonpath={.status.userInfo.groups}"],
        { user: "alice" },
      );
      await Promise.all(pair.map(async ({ stop }) => stop()));

      expect(elsewhere.stderr).toContain("not found");
      expect(JSON.parse(groups)).toEqual(["devs", "ops", "system:authenticated"]);
      expect(pair.flatMap(({ directory }) => processesOf(directory))).toEqual([]);
      expect(pair.filter(({ directory }) => existsSync(directory))).toEqual([]);
    });

    it("stops when its parent is killed, and its files are removed", async () => {
      const program = join(import.meta.dirname, "start-and-wait.ts");
      const parent = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
      const directory = await new Promise<string>((resolve, reject) => {
        parent.stdout.setEncoding("utf8").once("data", (line: string) => resolve(line.trim()));
        parent.once("exit", () =>
          reject(new Error("the parent ended before its control plane was ready")),
        );
      });
      const before = processesOf(directory);
      parent.kill("SIGKILL");
      expect(before).not.toEqual([]);
      await eventually(() => processesOf(directory).length === 0 && !existsSync(directory), {
        what: "everything to be gone",
      });
    });
  },
);
