import { expect, test } from "vitest";
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
