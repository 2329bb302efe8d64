import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { hasDedicatedClusters } from "../../support/dedicated-cluster.ts";
import { repository } from "../../support/install.ts";

const isPossible = hasDedicatedClusters && existsSync("/usr/bin/apt-get") && mayUnshare();
if (!isPossible)
  process.stderr.write("make pods is skipped: it needs root with namespaces, Go, and apt-get\n");

/** False also for root of a container without privileges. */
function mayUnshare(): boolean {
  const words = ["--mount", "--net", "--pid", "--fork", "--mount-proc", "true"];
  return process.getuid?.() === 0 && spawnSync("unshare", words).status === 0;
}

/** Where kubelet and containerd write on a machine of their own, and where `make pods` works. */
const places = [
  ...["/opt", "/run", "/run/netns", "/usr/libexec", "/var/lib", "/var/lib/cni", "/var/log"],
  ...["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/systemd", "/sys/class/net"],
];

/** What `make pods` could leave behind. */
function traces(): readonly string[] {
  const entries = [
    ...places.flatMap((place) => namesIn(place).map((name) => join(place, name))),
    ...namesIn(tmpdir()).filter((name) => name.startsWith("latchkey-pods-")),
  ];
  // Each program has a file of that directory among its arguments.
  const programs = namesIn("/proc")
    .map((pid) => commandOf(pid))
    .filter((command) => command.includes("latchkey-pods-"));
  const mounts = readFileSync("/proc/self/mounts", "utf8").trim().split("\n");
  // The first mount(8) of a machine makes that directory, and keeps it.
  const found = [...entries, ...programs, ...mounts].filter((one) => one !== "/run/mount");
  return found.toSorted();
}

function namesIn(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Runs it, and interrupts it as Ctrl-C does when it has printed a text. */
async function makePods(interruptAt?: string) {
  const child = spawn(process.execPath, [join("test", "pods", "main.ts")], {
    cwd: repository,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    printed += part;
    if (interruptAt !== undefined && printed.includes(interruptAt)) child.kill("SIGINT");
  });
  const errors = text(child.stderr);
  const code = await new Promise((resolve) => child.once("close", resolve));
  process.stderr.write(printed);
  return { code, printed, errors: await errors };
}

describe.skipIf(!isPossible)("make pods", () => {
  // First: each run removes the logs of the one before, and those of the upgrade are the useful ones.
  it("leaves nothing after Ctrl-C while pods run", async () => {
    const before = traces();
    const { code } = await makePods("the first Secret is synced");
    expect(code).toBe(130);
    expect(traces()).toEqual(before);
  });

  it("upgrades Latchkey on a real kubelet with no refused key, and leaves nothing", async () => {
    const before = traces();
    const { code, printed, errors } = await makePods();
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(printed).toMatch(/4 pods replaced; requests with 400 keys: \{"200":\d+\}/);
    expect(traces()).toEqual(before);
  });
});
