import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { answeringCluster, refusal, runCommand } from "../run-command.ts";

const token = (name: string, requester: string, cluster?: string, scope?: object) => ({
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: {
      [annotations.requester]: requester,
      ...(cluster === undefined ? {} : { [annotations.audienceCluster]: cluster }),
    },
  },
  spec: scope === undefined ? {} : { scope },
  status: { token: "eyJ.canary.token" },
});
const tokens = [
  token("everywhere", "alice"),
  token("east", "alice", "east"),
  token("scoped", "alice", undefined, { clusters: [{ cluster: "east" }] }),
  token("west", "alice", "west"),
  token("virtual", "alice", "web/dev"),
  token("bobs", "bob", "east"),
];

async function remove(flags: Readonly<Record<string, string>>, { mayList = true } = {}) {
  const { cluster, requests } = answeringCluster(({ method, path }) => {
    if (method === "POST") return [201, { status: { resourceRules: [] } }];
    if (method === "DELETE") return [200, {}];
    if (!/tokens(?:\?|$)/.test(path)) return refusal(404, "NotFound", "gone");
    return mayList ? [200, { items: tokens }] : refusal(403, "Forbidden", "forbidden");
  });
  const connect = async () => cluster;
  const ended = await runCommand({ command: "token delete", flags, connect });
  expect(ended.stdout + ended.stderr).not.toContain("canary");
  const deleted = requests.filter(({ method }) => method === "DELETE");
  return { ...ended, deleted: deleted.map(({ path }) => path.split("/").at(-1)) };
}

test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ["all", {}, ["everywhere", "east", "scoped", "west", "virtual"]],
  ["those of a cluster", { cluster: "east" }, ["east", "scoped"]],
  ["those of a virtual cluster", { cluster: "web/dev" }, ["virtual"]],
  ["none of a cluster without", { cluster: "north" }, []],
])("token delete --requester deletes %s", async (_which, flags, deleted) => {
  const ended = await remove({ requester: "alice", ...flags });
  expect([ended.code, ended.deleted]).toEqual([0, deleted]);
});

test("token delete says how many tokens stay", async () => {
  const { stderr } = await remove({ requester: "alice", cluster: "east" });
  expect(stderr).toContain('3 tokens of requester "alice" are not for "east" alone, and stay\n');
  const none = await remove({ requester: "carol" });
  expect(none.stderr).toBe('there is no such token of requester "carol"\n');
});

test("token delete names the right that is missing", async () => {
  const { code, stderr } = await remove({ requester: "alice" }, { mayList: false });
  expect(code).toBe(5);
  expect(stderr).toContain("you may not list directclusterendpointtokens.management.service\n");
});

test.each<[string, Readonly<Record<string, string>>]>([
  ["neither", {}],
  ["a cluster alone", { cluster: "east" }],
])("token delete refuses %s", async (_what, flags) => {
  expect(await remove(flags)).toMatchObject({ code: 2, deleted: [] });
});

describe("token list shows cluster, requester and scope", () => {
  const wide = (object: (typeof tokens)[number]) => ({
    columnDefinitions: [
      ...["Name", "Requester", "Expires"].map((name) => ({ name, priority: 0 })),
      ...["Cluster", "Scope"].map((name) => ({ name, priority: 1 })),
    ],
    rows: [{ cells: [object.metadata.name, "of the server", "soon", "wide", "{}"], object }],
  });
  const shown = [
    token("everywhere", "alice"),
    token("east", "alice", "east"),
    token("scoped", "bob", undefined, { clusters: [{ cluster: "east" }] }),
    token("hostile", `al\u001b${"i".repeat(1000)}`, `\u202e${"x".repeat(1000)}`, {
      roles: Array.from({ length: 5 }, (_, at) => ({ role: `${at}\u001b` })),
    }),
  ];
  const list = async (mayList: boolean) => {
    const { cluster } = answeringCluster(({ path }) => {
      const rules = [
        {
          verbs: ["get"],
          apiGroups: ["*"],
          resources: ["*"],
          resourceNames: shown.map(({ metadata }) => metadata.name),
        },
      ];
      if (path.includes("selfsubjectaccess")) return [201, { status: { allowed: mayList } }];
      if (path.includes("selfsubjectrules")) return [201, { status: { resourceRules: rules } }];
      const [, name] = /tokens\/(\w+)\?includeObject=Object$/.exec(path) ?? [];
      const tables = shown.filter(({ metadata }) => metadata.name === (name ?? metadata.name));
      const [first = wide(token("none", ""))] = tables.map(wide);
      return [200, { ...first, rows: tables.flatMap((one) => wide(one).rows) }];
    });
    return runCommand({ command: "token list", connect: async () => cluster });
  };

  test.each([
    ["to who may list them", true],
    ["to who may read them by name", false],
  ])("%s", async (_whom, mayList) => {
    const { code, stdout } = await list(mayList);
    const [head = "", ...rows] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {3,}/));
    expect([code, head]).toEqual([0, ["NAME", "CLUSTER", "REQUESTER", "SCOPE", "EXPIRES"]]);
    const found = new Map(rows.map(([name = "", ...cells]) => [name, cells]));
    expect(found.get("everywhere")).toEqual([
      ...["*", "alice", "no scope: all rights of alice", "soon"],
    ]);
    expect(found.get("east")?.slice(0, 2)).toEqual(["east", "alice"]);
    expect(found.get("scoped")).toEqual(["east", "bob", "cluster=east", "soon"]);
    const [cluster = "", requester = "", scope] = found.get("hostile") ?? [];
    expect(cluster).toBe(`\u{fffd}${"x".repeat(255)}...`);
    expect(requester).toBe(`al\u{fffd}${"i".repeat(253)}...`);
    expect(scope).toBe("role=0\u{fffd},role=1\u{fffd},role=2\u{fffd},+2");
    expect(stdout).not.toContain("canary");
  });
});
