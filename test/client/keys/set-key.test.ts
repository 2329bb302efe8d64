import { describe, expect, test } from "vitest";
import { answeringCluster, refusal, runCommand } from "../run-command.ts";

const stored = {
  metadata: { name: "ci", uid: "u1", resourceVersion: "7", creationTimestamp: "t" },
  spec: {
    user: "alice",
    ttl: 3600,
    scope: { roles: [{ role: "serviceCLI" }], rules: [{ verbs: ["get"] }], spaces: [] },
  },
};

/** Runs `keys set ci` on a cluster that stores what it is sent. */
async function setCommand(...flags: readonly string[]) {
  const { cluster, requests } = answeringCluster(({ method }) => [
    200,
    method === "GET" ? stored : { ...stored, spec: { user: "alice", ttl: 60 } },
  ]);
  const connect = async () => cluster;
  const ended = await runCommand({ command: "keys set", args: ["ci", ...flags], connect });
  const patch = requests.find(({ method }) => method === "PATCH");
  return { ...ended, patch, requests };
}

describe("keys set", () => {
  test.each<[string, readonly string[], object]>([
    ["a lifetime", ["--ttl=1d"], { ttl: 86_400 }],
    ["no end", ["--ttl=0"], { ttl: 0 }],
    [
      "texts",
      ["--display-name=Shop", "--description=a b"],
      { displayName: "Shop", description: "a b" },
    ],
    ["no texts", ["--display-name=", "--description="], { displayName: null, description: null }],
    [
      "a scope in place of the whole former one",
      ["--project=web", "--role=serviceCLI"],
      {
        scope: {
          roles: [{ role: "serviceCLI" }],
          projects: [{ project: "web" }],
          rules: null,
          spaces: null,
        },
      },
    ],
    ["no scope", ["--clear-scope"], { scope: null }],
  ])("sends %s, and nothing else", async (_what, flags, spec) => {
    const { code, stdout, patch } = await setCommand(...flags);
    expect([code, stdout]).toEqual([0, `ownedaccesskey/ci set ${Object.keys(spec).join(", ")}\n`]);
    expect(patch?.body).toEqual({ metadata: { uid: "u1", resourceVersion: "7" }, spec });
  });

  test("says what it has changed, with the former scope", async () => {
    const { stdout, stderr } = await setCommand("--ttl=60", "--display-name=x", "--clear-scope");
    expect(stdout).toBe("ownedaccesskey/ci set displayName, ttl, scope\n");
    expect(stderr.trimEnd().split("\n")).toEqual([
      'OwnedAccessKey "ci" ends 60s after its creation',
      'OwnedAccessKey "ci" has another scope: no scope: all rights of alice, instead of role=serviceCLI,rules=1',
    ]);
  });

  test("stores nothing in a dry run, and says so", async () => {
    const { stdout, patch } = await setCommand("--ttl=60", "--dry-run=server");
    expect(patch?.path).toContain("dryRun=All");
    expect(stdout).toBe("ownedaccesskey/ci set ttl (server dry run)\n");
  });

  test.each([
    ["nothing", [], "nothing is set"],
    ["a scope and none", ["--clear-scope", "--role=a"], "--clear-scope cannot be combined"],
    ["a lifetime that is none", ["--ttl=-1"], "--ttl"],
  ])("refuses %s before any request", async (_what, flags, sentence) => {
    const { code, stderr, requests } = await setCommand(...flags);
    expect([code, requests]).toEqual([2, []]);
    expect(stderr).toContain(sentence);
  });

  const modified = refusal(409, "Conflict", "the object has been modified");

  /** Runs `keys set` on an object that changes at each request. */
  async function setMeanwhile(change: (times: number) => object, conflicts = Infinity) {
    let [reads, patches] = [0, 0];
    const { cluster, requests } = answeringCluster(({ method }) => {
      if (method !== "GET") return ++patches > conflicts ? [200, stored] : modified;
      return [200, { ...stored, metadata: { ...stored.metadata, ...change(reads++) } }];
    });
    const connect = async () => cluster;
    const args = ["ci", "--ttl=60"];
    const { code, stderr } = await runCommand({ command: "keys set", args, connect });
    return { code, stderr, versions: requests.flatMap(({ body }) => body ?? []) };
  }

  test("goes on after another has written the status alone", async () => {
    const ended = await setMeanwhile((times) => ({ resourceVersion: `v${times}` }), 2);
    expect(ended.code).toBe(0);
    expect(ended.versions).toMatchObject(
      ["v0", "v1", "v2"].map((resourceVersion) => ({ metadata: { uid: "u1", resourceVersion } })),
    );
  });

  test.each<[string, (times: number) => object, number]>([
    ["its spec changed", (generation) => ({ generation }), 1],
    ["another object has its name", (times) => ({ uid: `u${times}` }), 1],
    ["its status never rests", (times) => ({ resourceVersion: `v${times}` }), 10],
  ])("stores nothing if %s meanwhile", async (_what, change, patches) => {
    const { code, stderr, versions } = await setMeanwhile(change);
    expect([code, stderr, versions.length]).toEqual([1, "the object has been modified\n", patches]);
  });
});
