import { expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../../src/api/parse.ts";
import type { ApiRequest } from "../../../src/kube/client/transport.ts";
import { shippedPolicyObjects } from "../../support/connected-policies.ts";
import { TestClock } from "../../support/test-clock.ts";
import { answeringCluster, type FakeAnswer, refusal, runCommand } from "../run-command.ts";

const policies = shippedPolicyObjects("2025-01-01T00:00:00Z");
const notFound = refusal(404, "NotFound", "not found");
const forbidden = refusal(403, "Forbidden", "forbidden");

interface Changes {
  /** Seconds since the Lease was renewed; undefined if there is no agent. */
  readonly renewed?: number | undefined;
  /** Seconds for which the agent has not heard the central cluster. */
  readonly unheard?: string;
  /** The name of a policy that does not exist; all for every one. */
  readonly without?: string;
  /** The error that a copy records. */
  readonly error?: string;
  /** Whether an annotation pauses the copy. */
  readonly isPaused?: true;
  /** Whether the copy is a placeholder that is not filled yet. */
  readonly isEmpty?: true;
  readonly isForbidden?: true;
}

/** A connected cluster with an agent and a copy, but for these changes. */
function connected({ unheard, without, error, isForbidden, ...changes }: Changes) {
  const { isPaused, isEmpty } = changes;
  const renewed = "renewed" in changes ? changes.renewed : 4;
  const renewTime = new Date(new TestClock().now() - (renewed ?? 0) * 1000).toISOString();
  return ({ method, path }: ApiRequest): FakeAnswer => {
    const [plural = "", name = ""] = path.split("?")[0]?.split("/").slice(-2) ?? [];
    if (path.startsWith("/apis/management.service")) return notFound;
    if (method === "POST") return [201, { status: { allowed: !isForbidden, userInfo: {} } }];
    if (path === "/version") return [200, { gitVersion: "v1.37.0" }];
    if (isForbidden) return forbidden;
    const policy = policies[plural]?.find(
      (object) => stringAt(recordAt(object, "metadata"), "name") === name,
    );
    if (policy !== undefined)
      return without === "all" || without === name ? notFound : [200, policy];
    if (name === "latchkey-cluster-agent" && renewed !== undefined)
      return [
        200,
        {
          metadata: {
            annotations: unheard === undefined ? {} : { [annotations.unheardSeconds]: unheard },
          },
          spec: { holderIdentity: "one", renewTime, leaseDurationSeconds: 15 },
        },
      ];
    if (name === "deployments") return [200, { items: [] }];
    if (name !== "secrets") return notFound;
    const isCopies = path.includes("labelSelector=management.service%2Foutbox-uid");
    const copy = {
      metadata: {
        uid: "s",
        resourceVersion: "1",
        creationTimestamp: "2025-01-01T00:00:00Z",
        namespace: "web-shop",
        name: "db",
        labels: isEmpty
          ? { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team-a" }
          : { [labels.outboxUid]: "u" },
        annotations: {
          ...(isEmpty ? {} : { [annotations.copyOf]: "east//team-a/db -> web-shop/db" }),
          ...(isPaused ? { [annotations.disableSync]: "true" } : {}),
          ...(error === undefined ? {} : { [annotations.clusterSyncError]: error }),
        },
      },
    };
    return [200, { items: isCopies ? [copy] : [] }];
  };
}

async function checked(changes: Changes) {
  const { cluster } = answeringCluster(connected(changes));
  const flags = { output: "json" };
  const ran = await runCommand({ command: "check", flags, connect: async () => cluster });
  const items = listAt(JSON.parse(ran.stdout), "items");
  const said = items.map((item) => {
    const object = recordAt(item, "object");
    return `${stringAt(object, "name") ?? stringAt(object, "kind")} ${stringAt(item, "reason")}`;
  });
  return { ...ran, said };
}

test.each<[string, Changes, number, readonly string[]]>([
  ["is well", {}, 0, ["latchkey-cluster-agent Leading", "Secret CopyFound"]],
  ["has an agent that is frozen", { renewed: 9 }, 3, ["latchkey-cluster-agent NotLeading"]],
  [
    "has an agent that hears nothing",
    { unheard: "75" },
    3,
    ["latchkey-cluster-agent Leading", "latchkey-cluster-agent CentralSilent"],
  ],
  ["has a copy with an error", { error: "Failed: no" }, 3, ["Secret NotCurrent"]],
  [
    "lacks a policy",
    { without: "latchkey-own-secrets" },
    3,
    ["latchkey-own-secrets NotFound", "latchkey-project-assignment Found"],
  ],
  ["has no agent", { renewed: undefined }, 0, ["latchkey-central NotFound"]],
])("check of a connected cluster that %s", async (_what, changes, code, wanted) => {
  const { said, stdout, ...ran } = await checked(changes);
  expect(ran).toEqual({ code, stderr: "" });
  expect(said).toEqual(expect.arrayContaining([...wanted]));
  expect(stdout).not.toMatch(/config\/default|sharedsecrets/);
});

test.each<[string, Changes, string]>([
  ["nothing of Latchkey", { renewed: undefined, without: "all" }, "NotFound"],
  ["what the user may not read", { isForbidden: true }, "NotFound"],
])(
  "check of a cluster with %s names the kinds of a central one",
  async (_what, changes, reason) => {
    expect((await checked(changes)).said).toContain(`sharedsecrets.management.service ${reason}`);
  },
);

const run = (changes: Changes, command: string, args: readonly string[] = []) => {
  const { cluster } = answeringCluster(connected(changes));
  return runCommand({ command, args, connect: async () => cluster });
};

test("a SharedSecret is known by its copies", async () => {
  const { stdout } = await run({ error: "Failed: no" }, "why", ["shsec/db", "--namespace=team-a"]);
  expect(stdout).toContain('Secret "web-shop/db" is a copy of SharedSecret "team-a/db"');
  expect(stdout).toContain(`metadata.annotations["${annotations.clusterSyncError}"]`);
});

test.each(["oak/ci", "dcet/laptop", "shsec/other"])(
  "why %s names the central cluster",
  async (word) => {
    expect(await run({}, "why", [word])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("ask in the central one"),
    });
  },
);

test("list has the copies, and refuses to print what is not there", async () => {
  const { stdout, stderr } = await run({ error: "Failed: no" }, "list", ["-A"]);
  expect(stderr).toContain("these are copies of a central cluster's");
  expect(stdout).toMatch(/team-a\/db +web-shop\/db +NotCurrent +Secret/);
  expect(await run({}, "list", ["-A", "-o", "json"])).toMatchObject({ code: 4, stdout: "" });
});

test.each<[string, Changes, string]>([
  ["paused", { isPaused: true }, "└─ web-shop/db paused"],
  ["not filled yet", { isEmpty: true }, "└─ web-shop/db pending"],
])("status counts a copy that is %s as not current, and as no problem", async (...row) => {
  const [, changes, line] = row;
  const { stdout, code } = await run(changes, "status", ["-A"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining(line)]);
  expect(stdout).toContain("0 of 1 copies here are current");
});

test("status has the agent and the copies, and no section of keys", async () => {
  const { stdout, code } = await run({ unheard: "75" }, "status", ["-A"]);
  expect(code).toBe(3);
  expect(stdout).toContain("1 of 1 copies here are current");
  expect(stdout).toContain("has not heard the central cluster for 75s");
  expect(stdout).not.toMatch(/Access keys|Direct tokens/);
});
