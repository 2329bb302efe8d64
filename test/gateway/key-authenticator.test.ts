import { expect, test } from "vitest";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { keyAuthenticator } from "../../src/gateway/key-authenticator.ts";
import { fakeGatewayDeps } from "./gateway-deps.ts";
import { fakeReviewDeps, resolvedKeyWith } from "../support/review-fixture.ts";
import { unansweredDiscovery } from "../support/unanswered-discovery.ts";

const endKey = (): Promise<never> => Promise.reject(new Error("no key is ended"));

test("a request of a client that leaves waits for discovery no longer", async () => {
  const view = resolvedKeyWith({ scope: emptyScope });
  const authenticator = keyAuthenticator({ ...fakeReviewDeps({ view }), endKey });
  const credential = await authenticator.authenticate(new SecretText("canary-key"), "192.0.2.1");
  if (credential.kind === "refusal") throw new Error("refused");
  const upstream = { kind: "management" } as const;
  const server = fakeGatewayDeps().findUpstream(upstream);
  if (server === undefined) throw new Error("there is no server");
  const [discovery, leaving] = [unansweredDiscovery(), new AbortController()];
  const decision = credential.authorize(
    {
      kind: "resource",
      verb: "get",
      group: "",
      resource: "pods",
      subresource: "",
      namespace: "a",
      name: "b",
    },
    { upstream, server: { ...server, discovery } },
    leaving,
  );
  leaving.abort(new Error("the client left"));
  await expect(decision).rejects.toThrow("the client left");
  expect(discovery.waiting()).toBe(0);
});

const presented = resolvedKeyWith({ groups: ["one", "two"] });

test.each<readonly [what: string, now: ResolvedKey | undefined, isValid: boolean]>([
  ["the same object", presented, true],
  ["a newer one that acts as the same user", { ...presented, key: { ...presented.key } }, true],
  ["none: it is deleted", undefined, false],
  ["one that is disabled", resolvedKeyWith({ groups: ["one", "two"], disabled: true }), false],
  ["one with another key", { ...presented, key: { ...presented.key, keyDigest: "d2" } }, false],
  ["one of another user", resolvedKeyWith({ user: "bob", groups: ["one", "two"] }), false],
  ["one with another group", resolvedKeyWith({ groups: ["one", "three"] }), false],
  ["one with one group less", resolvedKeyWith({ groups: ["one"] }), false],
])("a credential is valid as long as it is that of the object; now it is %s", async (...row) => {
  const [, now, isValid] = row;
  const deps = fakeReviewDeps({ view: presented });
  let stored: ResolvedKey | undefined = presented;
  const accessKeys = { ...deps.accessKeys, byId: () => stored };
  const credential = await keyAuthenticator({ ...deps, accessKeys, endKey }).authenticate(
    new SecretText("canary-key"),
    "192.0.2.1",
  );
  if (credential.kind === "refusal") throw new Error("refused");
  stored = now;
  expect(credential.isValid()).toBe(isValid);
});
