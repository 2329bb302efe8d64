import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { bundle, clientBundle } from "../support/bundle.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { skippedWithout } from "../support/skipped.ts";

/** A network with ::1 alone, in which localhost is ::1; $0 is the file of hosts. */
const network = `
mount --bind "$0" /etc/hosts && ip link set lo up && ip address delete 127.0.0.1/8 dev lo &&
  ip -6 -oneline address show dev lo | grep --quiet ::1 && exec "$@"`;
const unshared = ["--map-root-user", "--net", "--mount", "sh", "-c", network];

const directory = mkdtempSync(join(tmpdir(), "ipv6-"));
const hosts = join(directory, "hosts");
writeFileSync(hosts, "::1 localhost\n");
const tried = spawnSync("unshare", [...unshared, hosts, "true"], { encoding: "utf8" });
const missing = `no network of IPv6 alone: ${tried.stderr ?? tried.error}`;
const needed = tried.status === 0 ? undefined : { missing };

describe.skipIf(!hasDedicatedClusters)("a cluster of IPv6 alone", skippedWithout(needed), () => {
  test("has working keys, copies and Services, with all addresses by default", async () => {
    const report = (line: string) => void process.stderr.write(`ipv6: ${line}\n`);
    // There is no way to the Internet in there.
    await Promise.all([findOrBuildControlPlane(report), bundle(report), clientBundle(report)]);
    const script = join(import.meta.dirname, "ipv6-cluster.ts");
    const words = [...unshared, hosts, process.execPath, script];
    try {
      const { stdout } = await promisify(execFile)("unshare", words);
      expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toEqual({
        found: { atWebhook: true, atGateway: [true, true], atController: true, families: ["IPv6"] },
        listens: ["https://[::]:"],
        renewed: 0,
      });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
