import { expect, test } from "vitest";
import { recordAt } from "../../../src/api/parse.ts";
import { boundDigest } from "../../support/bound-digest.ts";
import { runInMemory } from "../memory-cli.ts";
import { answeringCluster, refusal, runCommand } from "../run-command.ts";

const key = "canary-key-of-alice";

/** Runs `keys digest` with this standard input. */
async function digestCommand(flags: readonly string[], input: string, isInput = false) {
  const { code, stdout, stderr } = await runInMemory(["keys", "digest", ...flags], {
    input,
    terminal: { isInput },
  });
  return { code, stdout, stderr };
}

test.each([
  ["--user=alice", "user:alice"],
  ["--team=web", "team:web"],
  ["--subject=ci", "subject:ci"],
])("keys digest %s prints the digest of the key that is bound to %s", async (flag, subject) => {
  expect(await digestCommand([flag], `${key}\n`)).toEqual({
    code: 0,
    stdout: `${boundDigest(key, subject)}\n`,
    stderr: "",
  });
});

test("keys digest asks for the key on a terminal", async () => {
  expect((await digestCommand(["--user=alice"], key, true)).stdout).toBe(
    `${boundDigest(key, "user:alice")}\n`,
  );
});

test.each<[string, readonly string[], string]>([
  ["without a subject", [], "set --user, --team or --subject"],
  ["with two subjects", ["--user=alice", "--team=web"], "set only one of"],
  ["with an empty user", ["--user="], "--user"],
])("keys digest %s is refused", async (_rule, flags, sentence) => {
  expect(await digestCommand(flags, key)).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(sentence),
  });
});

test.each(["", "canary-short", `${key} ${key}`, boundDigest(key, "user:alice")])(
  "keys digest refuses %j, which is not a key, and does not print it",
  async (input) => {
    const { code, stdout, stderr } = await digestCommand(["--user=alice"], input);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("is not a key")]);
    expect(stderr).not.toMatch(/canary|sha256:/);
  },
);

test("keys delete deletes every key before it waits, and goes on after one that it cannot delete", async () => {
  const { cluster, requests } = answeringCluster(({ method, path }) =>
    method === "GET" || path.endsWith("/typo")
      ? refusal(404, "NotFound", 'ownedaccesskeys.management.service "typo" not found')
      : [200, {}],
  );
  const names = ["leaked", "typo", "leaked-too"];
  const { code, stdout, stderr } = await runCommand({
    command: "keys delete",
    args: names,
    connect: async () => cluster,
  });
  expect(requests.map(({ method, path }) => `${method} ${path.split("/").at(-1)}`)).toEqual([
    ...names.map((name) => `DELETE ${name}`),
    ...["GET leaked", "GET leaked-too"],
  ]);
  expect(code).toBe(4);
  expect(stderr).toMatch(/^[^\n]*"typo" not found[^\n]*\n$/);
  expect(stdout).toBe("ownedaccesskey/leaked deleted\nownedaccesskey/leaked-too deleted\n");
});

const project = "management.service/project";
const space = "management.service/space";

/** Runs `keys create ci --user=alice` in a cluster whose namespace `web-dev` has these labels. */
async function create(flags: Readonly<Record<string, string>>, labels: object = {}) {
  const { cluster, requests } = answeringCluster(({ method, path }) =>
    method === "GET" && path.includes("/namespaces/web-dev")
      ? [200, { metadata: { name: "web-dev", labels } }]
      : refusal(403, "Forbidden", "stopped"),
  );
  const connect = async () => cluster;
  const all = { user: "alice", ...flags };
  const ended = await runCommand({ command: "keys create", args: ["ci"], flags: all, connect });
  const posted = requests.find(({ method }) => method === "POST");
  return { ...ended, scope: posted && recordAt(posted.body, "spec")["scope"] };
}

test("a key for a namespace has the space of its labels in its scope", async () => {
  const labels = { [project]: "web", [space]: "dev" };
  expect((await create({ "for-namespace": "web-dev" }, labels)).scope).toEqual({
    spaces: [{ project: "web", space: "dev" }],
  });
  const wider = { "for-namespace": "web-dev", space: "pay/prod", role: "serviceCLI" };
  expect((await create(wider, labels)).scope).toEqual({
    roles: [{ role: "serviceCLI" }],
    spaces: [
      { project: "pay", space: "prod" },
      { project: "web", space: "dev" },
    ],
  });
});

test.each<[string, object, readonly string[]]>([
  ["no label", {}, [`${project}=PROJECT`, `${space}=web-dev`]],
  ["no project", { [space]: "dev" }, [`${project}=PROJECT`]],
  ["no space", { [project]: "web" }, [`${space}=web-dev`]],
  ["an empty label", { [project]: "web", [space]: "" }, [`${space}=web-dev`]],
])("a namespace with %s gets no key, and the commands that set it", async (_what, labels, set) => {
  const { code, stderr, scope } = await create({ "for-namespace": "web-dev" }, labels);
  expect([code, scope]).toEqual([1, undefined]);
  expect(stderr.match(/kubectl label namespace web-dev \S+=[\w-]+/g)).toEqual(
    set.map((label) => `kubectl label namespace web-dev ${label}`),
  );
});

test.each(["kube-system", "latchkey-system", "latchkey-cluster-east"])(
  "the protected namespace %s gets no key",
  async (name) => {
    const { code, stderr, scope } = await create({ "for-namespace": name });
    expect([code, scope]).toEqual([2, undefined]);
    expect(stderr).toContain(`protected namespace "${name}"`);
  },
);
