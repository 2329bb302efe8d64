import { describe, expect, test } from "vitest";
import { annotations, extras } from "../../../src/api/names.ts";
import type { ApiRequest } from "../../../src/kube/client/transport.ts";
import { runInMemory } from "../memory-cli.ts";
import { answeringCluster, type FakeAnswer, refusal } from "../run-command.ts";

const secret = "canary-key-0123456789";
const object = (name: string, requester: string, spec: object) => ({
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: { [annotations.requester]: requester, [annotations.requesterGroups]: "devs" },
  },
  spec,
  status: { token: "eyJ.canary.token" },
});
const keys = [
  object("own", "alice", { user: "alice", key: secret }),
  object("ci", "alice", { user: "ci", key: secret }),
  object("shared", "admin", { team: "devs", key: secret }),
  object("bobs", "bob", { user: "bob", key: secret }),
];
const tokens = [object("job", "alice", {}), object("bobs-job", "bob", {})];
const bindings = [
  {
    ...object("requesters", "", {}),
    roleRef: { kind: "ClusterRole", name: "latchkey-requester" },
    subjects: [{ kind: "Group", name: "devs" }],
  },
];
const roles = {
  ...object("latchkey-requester", "", {}),
  rules: [{ apiGroups: ["management.service"], resources: ["ownedaccesskeys"], verbs: ["create"] }],
};

interface World {
  /** The last parts of the paths that are refused, behind their methods. */
  readonly refused?: readonly string[];
  readonly ownKey?: string;
}

/** Runs `revoke --user=alice`; also returns the writes. */
async function revoke(
  flags: readonly string[],
  { refused = [], ownKey }: World = {},
  { input = "", isInput = false } = {},
) {
  const answer = ({ method, path }: ApiRequest): FakeAnswer => {
    const at = new URL(path, "https://cluster.example").pathname.split("/").at(-1) ?? "";
    if (refused.includes(`${method} ${at}`)) return refusal(403, "Forbidden", `no ${at}`);
    if (at === "selfsubjectreviews")
      return [
        201,
        { status: { userInfo: { username: "alice", extra: { [extras.keyId]: [ownKey ?? ""] } } } },
      ];
    if (at === "selfsubjectrulesreviews") return [201, { status: rulesOf(path) }];
    if (method === "PATCH") return [200, {}];
    if (method === "DELETE") return [200, {}];
    if (at === "ownedaccesskeys") return [200, { items: keys }];
    if (at === "directclusterendpointtokens") return [200, { items: tokens }];
    if (at === "clusterrolebindings") return [200, { items: bindings }];
    if (at === "latchkey-requester") return [200, roles];
    if (at === "own") return [200, keys[0]];
    return refusal(404, "NotFound", "gone");
  };
  const { cluster, requests } = answeringCluster(answer);
  const ended = await runInMemory(["revoke", "--user=alice", ...flags], {
    connect: async () => cluster,
    input,
    terminal: { isInput },
  });
  const writes = requests
    .filter(({ method }) => method === "PATCH" || method === "DELETE")
    .map(({ method, path }) => {
      const { pathname, searchParams } = new URL(path, "https://cluster.example");
      return `${method} ${pathname.split("/").at(-1) ?? ""}${searchParams.has("dryRun") ? " dry" : ""}`;
    });
  expect(ended.stdout + ended.stderr).not.toContain("canary");
  return { ...ended, writes, requests };
}

const rulesOf = (_path: string) => ({
  resourceRules: [
    {
      verbs: ["get"],
      apiGroups: ["management.service"],
      resources: ["ownedaccesskeys"],
      resourceNames: ["own"],
    },
  ],
});

describe("revoke", () => {
  test("shows everything, and ends what is the user's", async () => {
    const { code, stdout, stderr, writes } = await revoke(["--yes"]);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^STATE +OBJECT +WHY$/),
      expect.stringMatching(/^disable +OwnedAccessKey "own" +It acts as "alice"\.$/),
      expect.stringMatching(
        /^disable +OwnedAccessKey "ci" .* who may know it, and acts as "ci"\.$/,
      ),
      expect.stringMatching(/^info +OwnedAccessKey "shared" +It acts as team "devs" of the user, /),
      expect.stringMatching(/^delete +DirectClusterEndpointToken "job" /),
      expect.stringMatching(/^info +ClusterRoleBinding "requesters" .* create ownedaccesskeys by/),
      expect.stringMatching(
        /^info +User "alice" .* the groups devs, system:authenticated; --group/,
      ),
      "",
    ]);
    expect(stderr.split("\n")).toEqual([
      "ownedaccesskey/own disabled",
      "ownedaccesskey/ci disabled",
      "directclusterendpointtoken/job deleted",
      "",
    ]);
    expect(writes).toEqual(["PATCH own", "PATCH ci", "DELETE job"]);
  });

  test("goes on after a key that it may not disable, and says so", async () => {
    const { code, stderr, writes } = await revoke(["--yes"], { refused: ["PATCH own"] });
    expect([code, writes]).toEqual([1, ["PATCH own", "PATCH ci", "DELETE job"]]);
    expect(stderr).toContain('OwnedAccessKey "own" is not disabled: no own\n');
  });

  test("disables the key that it connects with last", async () => {
    const { writes } = await revoke(["--yes"], { ownKey: "uid-own" });
    expect(writes).toEqual(["PATCH ci", "DELETE job", "PATCH own"]);
  });

  test.each([
    ["y", 0, 3],
    ["yes", 0, 3],
    ["", 1, 0],
    ["n", 1, 0],
    ["alice", 1, 0],
  ])("asks on a terminal, where %j", async (input, code, count) => {
    const ended = await revoke([], {}, { input, isInput: true });
    expect([ended.code, ended.writes.length]).toEqual([code, count]);
    expect(ended.stdout).toContain("disable");
  });

  test.each([
    ["without a terminal", [], "set --yes"],
    ["without a user", ["--user="], "--user"],
  ])("refuses %s, before any request", async (_what, flags, sentence) => {
    const { code, stderr, requests } = await revoke(flags);
    expect([code, requests]).toEqual([2, []]);
    expect(stderr).toContain(sentence);
  });

  test("changes nothing in a dry run, and does not ask", async () => {
    const { code, writes } = await revoke(["--dry-run=server"]);
    expect([code, writes]).toEqual([0, ["PATCH own dry", "PATCH ci dry", "DELETE job dry"]]);
  });

  test("prints a report for programs", async () => {
    const { stdout } = await revoke(["--yes", "-o", "json"]);
    const report: unknown = JSON.parse(stdout);
    expect(report).toMatchObject({ kind: "Report" });
    expect(stdout.match(/"state": "(?:disable|delete)"/g)).toHaveLength(3);
  });

  test("ends what it sees without the right to list, and names the right", async () => {
    const refused = [
      "GET ownedaccesskeys",
      "GET directclusterendpointtokens",
      "GET clusterrolebindings",
    ];
    const { code, stdout, writes } = await revoke(["--yes"], { refused });
    expect([code, writes]).toEqual([5, ["PATCH own"]]);
    expect(stdout).toMatch(/^unknown +OwnedAccessKey +You may not list ownedaccesskeys/m);
    expect(stdout).toMatch(/^unknown +ClusterRoleBinding +You may not list clusterrolebindings/m);
    expect(stdout).not.toContain("--group");
  });
});
