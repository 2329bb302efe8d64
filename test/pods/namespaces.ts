import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";

/**
 * What kubelet sets on a machine of its own, here in files that cover those of the kernel. It
 * changes only what has another value.
 */
const kernelSettings = {
  "vm/overcommit_memory": "1",
  "kernel/panic": "10",
  "kernel/panic_on_oops": "1",
  "kernel/keys/root_maxkeys": "1000000",
  "kernel/keys/root_maxbytes": "25000000",
};

/**
 * Runs in the new namespaces before the program of the arguments. Directories that containerd, the
 * plugins of CNI and kubelet write to at fixed paths are in memory, and gone with the namespaces.
 */
const prepare = [
  "set -e",
  "for directory in /run /var/lib /var/log; do mount -t tmpfs tmpfs $directory; done",
  ...Object.entries(kernelSettings).flatMap(([name, value]) => {
    const file = `/run/${name.replaceAll("/", "-")}`;
    return [`echo ${value} > ${file}`, `mount --bind ${file} /proc/sys/${name}`];
  }),
  "ip link set lo up",
  'exec "$@"',
].join("\n");

/**
 * Starts a program of root as the first process of new namespaces: mounts, network, processes, host
 * name, IPC. All that it started ends with it, and it ends with this process.
 */
export function startInNamespaces(command: readonly string[]): ChildProcess {
  const unshare = ["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--mount-proc"];
  const words = ["--pdeathsig", "KILL", "unshare", ...unshare, "--kill-child"];
  // Not in the terminal's process group: Ctrl-C reaches this process alone, which cleans up.
  return spawn("setpriv", [...words, "/bin/sh", "-c", prepare, "sh", ...command], {
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  });
}

const root = "/sys/fs/cgroup";

/** The hierarchies of cgroup v1, or the one of v2. */
function hierarchies(): readonly string[] {
  const names = readdirSync(root);
  if (names.includes("cgroup.controllers")) return [root];
  return names.map((name) => join(root, name));
}

/** Creates a cgroup in every hierarchy, because kubelet wants its root to exist. */
export function makeCgroup(name: string): void {
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, name), { recursive: true });
}

/** Removes a cgroup with all below it, when the processes in it have ended. */
export async function removeCgroup(name: string): Promise<void> {
  for (const hierarchy of hierarchies())
    await eventually(() => (removeEmpty(join(hierarchy, name)), true), {
      what: `the processes in the cgroup ${name} to end`,
    });
}

function removeEmpty(cgroup: string): void {
  const entries = entriesIn(cgroup);
  for (const entry of entries ?? []) if (entry.isDirectory()) removeEmpty(join(cgroup, entry.name));
  if (entries !== undefined) rmdirSync(cgroup);
}

function entriesIn(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    // Two names of one hierarchy, such as cpu and cpuacct, may be links to it.
    return undefined;
  }
}
