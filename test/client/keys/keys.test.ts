import { expect, test } from "vitest";
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
  const { code, stderr } = await runCommand({
    command: "keys delete",
    args: names,
    connect: async () => cluster,
  });
  expect(requests.map(({ method, path }) => `${method} ${path.split("/").at(-1)}`)).toEqual([
    ...names.map((name) => `DELETE ${name}`),
    ...["GET leaked", "GET leaked-too"],
  ]);
  expect(code).toBe(4);
  expect(stderr.split("\n").filter((line) => line !== "")).toEqual([
    expect.stringContaining('"typo" not found'),
    'OwnedAccessKey "leaked" is deleted',
    'OwnedAccessKey "leaked-too" is deleted',
  ]);
});
