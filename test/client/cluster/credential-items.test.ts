import { dump } from "js-yaml";
import { expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../../src/api/parse.ts";
import { reportProblems } from "../../support/report-shape.ts";
import { TestClock } from "../../support/test-clock.ts";
import { fakeCluster } from "../fake-cluster.ts";
import { runCommand } from "../run-command.ts";

const now = new TestClock().now();
const day = 86_400_000;
const inDays = (days: number): string => new Date(now + days * day).toISOString();
const pem = Buffer.from("-----BEGIN CERTIFICATE-----\n").toString("base64");
const metadata = { uid: "u", resourceVersion: "1", creationTimestamp: inDays(0) };

/** A kubeconfig of the gateway with a token of 100 days that ends in some days. */
function kubeconfig(days: number): string {
  const second = (at: number): number => Math.round((now + at * day) / 1000);
  const claims = { iat: second(days - 100), exp: second(days) };
  const token = `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.canary`;
  const cluster = { server: "https://east.example", "certificate-authority-data": pem };
  const text = dump({
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster }],
    users: [{ name: "a", user: { token } }],
  });
  return Buffer.from(text).toString("base64");
}

/** A SharedSecret for cluster `east`, whose agent renewed its Lease so many days ago. */
function objects(days: number, heartbeat: number) {
  const outbox = "latchkey-cluster-east";
  const secret = (name: string, marks: Readonly<Record<string, string>>) => ({
    metadata: {
      ...metadata,
      namespace: "latchkey-clusters",
      name,
      labels: marks,
      annotations: { [annotations.projects]: "web" },
    },
    data: { kubeconfig: kubeconfig(days) },
  });
  return {
    sharedsecrets: [
      {
        metadata: {
          ...metadata,
          namespace: "team-a",
          name: "db",
          annotations: { [annotations.syncToClusters]: "east" },
        },
      },
    ],
    namespaces: [
      { metadata: { ...metadata, name: outbox, annotations: { [annotations.clusterUid]: "u" } } },
    ],
    secrets: [
      secret("east", { [labels.cluster]: "east" }),
      secret("dev", { [labels.project]: "web", [labels.virtualCluster]: "dev" }),
    ],
    leases: [
      {
        metadata: { ...metadata, namespace: outbox, name: "latchkey-cluster-agent" },
        spec: { renewTime: inDays(-heartbeat) },
      },
    ],
  };
}

/** What a command says of clusters: their names, states, reasons and messages. */
async function said(
  command: "check" | "cluster list" | "status",
  stored: ReturnType<typeof objects>,
) {
  const connect = async () => fakeCluster({ objects: stored });
  const { stdout, stderr } = await runCommand({ command, flags: { output: "json" }, connect });
  expect(stdout + stderr).not.toContain("canary");
  const report: unknown = JSON.parse(stdout);
  expect(reportProblems(report, command)).toEqual([]);
  return listAt(report, "items").flatMap((item) => {
    const object = recordAt(item, "object");
    const words = [stringAt(object, "name"), stringAt(item, "state"), stringAt(item, "reason")];
    const line = [words.join(" "), stringAt(item, "message")] as const;
    return stringAt(object, "kind") === "Cluster" ? [line] : [];
  });
}

const renewal = "; run kubectl latchkey cluster connect east --gateway --rotate-key";
const ends = (days: number, when: string, then: string) =>
  `The credential of the gateway ${when}, at ${inDays(days).replace(".000", "")}, ` +
  `and no process renews it${then}.`;
const reports = 'The agent of cluster "east" reports.';

test.each<[string, number, readonly [string, string], string, string]>([
  ["is valid for long", 50, ["ok Synced", reports], "ok Active", ends(50, "ends in 50d", "")],
  [
    "ends soon",
    5,
    ["info Expiring", ends(5, "ends in 5d", renewal)],
    "info Expiring",
    ends(5, "ends in 5d", renewal),
  ],
  [
    "has ended",
    -1,
    ["problem Expired", ends(-1, "has ended", renewal)],
    "problem Expired",
    ends(-1, "has ended", renewal),
  ],
])("status, cluster list and check say that a credential %s", async (...row) => {
  const [, days, [state, message], checked, checkedMessage] = row;
  const stored = objects(days, 0);
  for (const command of ["status", "cluster list"] as const)
    expect(await said(command, stored)).toEqual([[`east ${state}`, message]]);
  const [east, dev] = await said("check", stored);
  expect(east).toEqual([`east ${checked}`, checkedMessage]);
  expect(dev?.[0]).toBe(`web/dev ${checked}`);
});

test("the end of a credential does not hide what the agent lacks", async () => {
  for (const command of ["status", "cluster list"] as const) {
    const [[state, message] = []] = await said(command, objects(5, 1));
    expect(state).toBe("east problem ClusterUnreachable");
    expect(message).toMatch(/^The agent .*\. The credential of the gateway ends in 5d, at .*\.$/);
  }
});

test("the text of status shows the end of a credential at its cluster", async () => {
  const connect = async () => fakeCluster({ objects: objects(5, 0) });
  const { stdout } = await runCommand({ command: "status", connect });
  expect(stdout).toMatch(
    /^Connected clusters\n {2}east .* Expiring: The credential of the gateway ends in 5d, /m,
  );
});
