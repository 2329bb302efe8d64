import { dump } from "js-yaml";
import { expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { listAt, recordAt } from "../../../src/api/parse.ts";
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
    const { kind, name } = recordAt(item, "object");
    const { state, reason, message } = recordAt({ item }, "item");
    return kind === "Cluster" ? [[`${name} ${state} ${reason}`, message] as const] : [];
  });
}

const renewal = "run kubectl latchkey cluster connect east --gateway --rotate-key.";
const ends = (when: string) =>
  `The credential of the gateway ${when}, and no process renews it; ${renewal}`;

test.each<[string, number, string, string | undefined]>([
  ["is valid for long", 50, "ok Synced", undefined],
  ["ends soon", 5, "info Expiring", ends(`ends in 5d, at ${inDays(5).replace(".000", "")}`)],
  ["has ended", -1, "problem Expired", ends(`has ended, at ${inDays(-1).replace(".000", "")}`)],
])("status and cluster list say that a credential %s, as check does", async (...row) => {
  const [, days, state, message = 'The agent of cluster "east" reports.'] = row;
  const stored = objects(days, 0);
  for (const command of ["status", "cluster list"] as const)
    expect(await said(command, stored)).toEqual([[`east ${state}`, message]]);
  const [east, dev] = await said("check", stored);
  if (state.startsWith("ok")) expect(east?.[0]).toBe("east ok Active");
  else expect(east).toEqual([`east ${state}`, message]);
  expect(dev?.[0]).toBe(`web/dev ${state.replace("Synced", "Active")}`);
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
