import { expect, test } from "vitest";
import type { ConnectionFlags } from "../../../src/client/connection/connection-options.ts";
import { fakeCluster } from "../fake-cluster.ts";
import { runInMemory } from "../memory-cli.ts";
import { answeringCluster, refusal } from "../run-command.ts";
import { issuersMap, keyNamed, showsToken, tokenOf, unreadPolicies } from "./unsigned-token.ts";

const objects = {
  ownedaccesskeys: [keyNamed("ci", "environment=production"), keyNamed("off", "environment=x")],
  configmaps: [issuersMap()],
};

/** Runs `keys test` with a token that the server refuses. */
async function testKey(token: string, forbidden: readonly string[] = []) {
  const refusing = answeringCluster(() => refusal(401, "Unauthorized", "Unauthorized")).cluster;
  const connect = async (flags: ConnectionFlags) =>
    flags.token === undefined
      ? fakeCluster({ objects, forbidden: [...unreadPolicies, ...forbidden] })
      : refusing;
  return runInMemory(["keys", "test"], { input: `${token}\n`, connect });
}

const refused = "the server does not accept this token: ";

test.each<[string, string, readonly string[], string]>([
  ["its rule", tokenOf({ environment: "staging" }), [], 'claim "environment" is "staging"'],
  ["no key", tokenOf({ aud: "a" }), [], '"https://latchkey.example/<name of the key>"'],
  ["a key that does not exist", tokenOf({ aud: "https://latchkey.example/x" }), [], '"x", which'],
  ["its issuer", tokenOf({ iss: "https://a.example" }), [], "no entry with the issuer"],
  ["its form", tokenOf({}, { kid: "" }), [], "it has no kid in its header"],
  ["its signature", tokenOf(), [], "nothing else is wrong with it"],
  ["no right to its key", tokenOf(), ["ownedaccesskeys"], "may not get ownedaccesskeys"],
  ["no right to the issuers", tokenOf(), ["configmaps"], "may not get configmaps"],
])("keys test says of a refused token: %s", async (_why, token, forbidden, sentence) => {
  const { code, stdout, stderr } = await testKey(token, forbidden);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(refused);
  expect(stderr).toContain(sentence);
  expect(showsToken(stderr, token)).toBe(false);
});

test("keys test says that no credential can ask about a refused token", async () => {
  const refusing = answeringCluster(() => refusal(401, "Unauthorized", "Unauthorized")).cluster;
  const connect = async () => refusing;
  const { stderr } = await runInMemory(["keys", "test"], { input: tokenOf(), connect });
  expect(stderr).toBe(`${refused}the kubeconfig has no other credential to ask\n`);
});

test("keys test takes a token that is longer than a key", async () => {
  const { stderr } = await testKey(tokenOf({ environment: "x".repeat(6_000) }));
  expect(stderr).toContain('claim "environment" is "x');
});
