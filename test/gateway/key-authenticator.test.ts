import { expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { keyAuthenticator } from "../../src/gateway/key-authenticator.ts";
import { fakeGatewayDeps } from "../support/gateway-deps.ts";
import { fakeReviewDeps, resolvedKeyWith } from "../support/review-fixture.ts";
import { unansweredDiscovery } from "../support/unanswered-discovery.ts";

test("a request of a client that leaves waits for discovery no longer", async () => {
  const view = resolvedKeyWith({ scope: emptyScope });
  const authenticator = keyAuthenticator(fakeReviewDeps({ view }));
  const credential = await authenticator.authenticate(new SecretText("canary-key"), "192.0.2.1");
  if (credential.kind === "refusal") throw new Error("refused");
  const upstream = { kind: "management" } as const;
  const server = fakeGatewayDeps().findUpstream(upstream);
  if (server === undefined) throw new Error("there is no server");
  const [discovery, leaving] = [unansweredDiscovery(), new AbortController()];
  const decision = credential.authorize(
    {
      ...{ kind: "resource", verb: "get", group: "", resource: "pods", subresource: "" },
      ...{ namespace: "a", name: "b" },
    },
    { upstream, server: { ...server, discovery } },
    leaving.signal,
  );
  leaving.abort(new Error("the client left"));
  await expect(decision).rejects.toThrow("the client left");
  expect(discovery.waiting()).toBe(0);
});
