import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  ReviewedPath,
  ReviewedRequest,
  ReviewedResource,
} from "../../src/api/access-review.ts";
import { parseScopeLimit } from "../../src/api/scope.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { UnknownKeyRetries } from "../../src/authn/identify-key.ts";
import { oneLocation } from "../../src/authn/request-locations.ts";
import {
  connectedLocation,
  namedUpstream,
  upstreamLocation,
} from "../../src/domain/gateway/connected-cluster.ts";
import type { Upstream } from "../../src/domain/gateway/request-target.ts";
import { authorizationOnlyScope } from "../../src/domain/scope/authorization-only.ts";
import {
  locationOf,
  managementLocation,
  type PathRequest,
  type RequestLocation,
  type ResourceRequest,
  type ScopedRequest,
} from "../../src/domain/scope/scoped-request.ts";
import type { Authenticator } from "../../src/gateway/credential.ts";
import { keyAuthenticator } from "../../src/gateway/key-authenticator.ts";
import { tokenAuthenticator } from "../../src/gateway/token-authenticator.ts";
import type { Destination, GatewayUpstream } from "../../src/gateway/upstreams.ts";
import type { HttpResponse } from "../../src/runtime/routes.ts";
import { mintToken } from "../../src/tokens/direct-token.ts";
import { parseSigningKeys, publicJwks } from "../../src/tokens/signing-keys.ts";
import { parseVerificationKeys } from "../../src/tokens/verification-keys.ts";
import { VerifiedTokens } from "../../src/tokens/verified-tokens.ts";
import {
  accessReviewHandler,
  directAccessReviewHandler,
} from "../../src/webhooks/access-review.ts";
import { anyRequest, anyScope } from "../domain/scope/arbitraries.ts";
import { secondOpinion } from "../domain/scope/second-opinion.ts";
import { roles } from "../domain/scope/verdict-of.ts";
import { guardedCluster } from "./fake-guarded-cluster.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { fakeForwarder } from "../support/fake-forwarder.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";
import { runsAtLength } from "../support/property-runs.ts";
import { anonymousClient, posted, resolvedKeyWith } from "../support/review-fixture.ts";
import { noTokens } from "../support/no-tokens.ts";
import { TestClock } from "../support/test-clock.ts";

/*
 * The same scopes and requests at the code of every front: what decides is the engine, and what
 * differs is how a front finds the location, the resource and the roles. The expected decision is
 * that of the second implementation, for the location that the labels below give.
 */

const label = (name: string): string => `management.service/${name}`;
/** The labels of namespaces, in every cluster. */
const labelsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ns: { [label("project")]: "web", [label("space")]: "blue", [label("virtual-cluster")]: "vc" },
  other: { [label("project")]: "pay", [label("space")]: "red" },
  "kube-system": { [label("project")]: "web" },
};
const namespaces = Object.entries(labelsOf).map(([name, labels]) => rawObject({ name, labels }));

const clock = new TestClock();
const ownNamespace = "latchkey-system";
const signingKeys = parseSigningKeys(rawSigningKeys());
const issuer = "https://latchkey.example";
const audience = "management.service/direct";
const key = "k".repeat(43);
const jti = "uid-token";

/** The request that is asked now, and what discovery says about its resource. */
let asked: ScopedRequest;
const discovery = {
  known: () =>
    asked.kind === "resource" && asked.resourceScope !== "Unknown"
      ? asked.resourceScope
      : undefined,
  find: async () => "Unknown" as const,
};

const connection = {
  forwarder: fakeForwarder(),
  discovery,
  credentials: {
    server: "https://east:6443",
    tls: { rejectUnauthorized: true },
    forget() {},
    authorization: async () => "Bearer own",
  },
};

function pathOf({ verb, path }: PathRequest): ReviewedPath {
  return { kind: "path", verb, path };
}

function resourceOf(request: ResourceRequest): ReviewedResource {
  const { verb, group, resource, subresource, name, namespace } = request;
  return { kind: "resource", verb, group, resource, subresource, name, namespace };
}

/** The request as kube-apiserver reviews it. */
function reviewed(): ReviewedRequest {
  return asked.kind === "path" ? pathOf(asked) : resourceOf(asked);
}

const accessKeysWith = (scope: unknown) => {
  const resolved = resolvedKeyWith({ scope: parseScopeLimit(scope) });
  const { uid } = resolved.key.metadata;
  return {
    uid,
    lookup: () => resolved,
    withIndexOf: () => [],
    byId: () => resolved,
    isFresh: () => true,
    isWatchOpen: () => true,
    locationOf: (namespace: string) => locationOf(managementLocation, labelsOf[namespace]),
    roles: () => roles,
  };
};

function isDenied({ body }: HttpResponse): boolean {
  return JSON.parse(String(body)).status.denied === true;
}

async function review(
  handler: ReturnType<typeof accessReviewHandler>,
  extra: Readonly<Record<string, readonly string[]>>,
): Promise<boolean> {
  const request = reviewed();
  const spec =
    request.kind === "path"
      ? { nonResourceAttributes: { verb: request.verb, path: request.path } }
      : { resourceAttributes: request };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: "alice", extra, ...spec },
  };
  return !isDenied(await handler(posted(body), anonymousClient));
}

/** Whether the webhook lets kube-apiserver ask RBAC about the request. */
function atWebhook(scope: unknown): Promise<boolean> {
  const accessKeys = accessKeysWith(scope);
  const handler = accessReviewHandler({
    accessKeys,
    discovery,
    clock,
    onUse() {},
    onResult() {},
  });
  return review(handler, { [label("key-id")]: [accessKeys.uid] });
}

/** Whether a front that forwards requests does so, now and when it decides once more. */
async function forwards(
  authenticator: Authenticator,
  presented: string,
  destination: Destination,
): Promise<boolean> {
  const credential = await authenticator.authenticate(new SecretText(presented), "");
  if (credential.kind === "refusal") throw new Error(credential.message);
  const first = await credential.authorize(reviewed(), destination);
  expect(credential.authorizeNow(reviewed(), destination)).toEqual(first);
  return first.kind === "no-opinion";
}

function atGateway(scope: unknown, destination: Destination): Promise<boolean> {
  const authenticator = keyAuthenticator({
    endKey: () => Promise.reject(new Error("no key is ended")),
    tokens: noTokens,
    accessKeys: accessKeysWith(scope),
    clock,
    unknownKeyRetries: new UnknownKeyRetries(),
    onUse() {},
    onMismatch() {},
    onResult() {},
  });
  return forwards(authenticator, key, destination);
}

const published = parseVerificationKeys(Buffer.from(JSON.stringify(publicJwks(signingKeys))));
const issued = {
  revoked: { has: () => false, isKnown: () => true },
  roles: { current: () => roles },
};

async function atEndpoint(scope: unknown, destination: Destination): Promise<boolean> {
  if (!published.ok) throw new Error(published.reason);
  const authenticator = tokenAuthenticator({
    ...issued,
    clock,
    namespace: ownNamespace,
    onResult() {},
    tokens: new VerifiedTokens(published.keys, { issuer, audiences: [audience] }),
    keys: { has: () => true, problems: () => [], refresh: async () => false },
    prefixes: { user: "", groups: "" },
  });
  const now = Math.floor(clock.now() / 1000);
  const own = { name: "laptop", ...(scope === undefined ? {} : { scope: JSON.stringify(scope) }) };
  const claims = { iss: issuer, aud: audience, sub: "alice", jti, groups: [] };
  const { token } = await mintToken(
    { ...claims, iat: now, nbf: now, exp: now + 60, "management.service": own },
    signingKeys,
  );
  return forwards(authenticator, SecretText.reveal(token), destination);
}

function atAuthorizer(scope: unknown, { upstream, server }: Destination): Promise<boolean> {
  const location = upstreamLocation(upstream) ?? managementLocation;
  const handler = directAccessReviewHandler({
    ...issued,
    discovery,
    namespace: ownNamespace,
    onResult() {},
    locations: server?.locations ?? oneLocation(location),
  });
  const extra = scope === undefined ? {} : { [label("scope")]: [JSON.stringify(scope)] };
  return review(handler, { [label("token-id")]: [jti], ...extra });
}

const guarded = guardedCluster(namespaces, { cluster: "c1" });
const unguarded = guardedCluster(namespaces, { cluster: "c1" });
const virtual = namedUpstream("web/vc");
const inVirtual = connectedLocation(virtual, "ns");
const plain = { target: "Cluster", cluster: "c1" } as const;

const clusterColumns: readonly (readonly [
  name: string,
  server: GatewayUpstream,
  upstream: Upstream,
  locationIn: (namespace: string) => RequestLocation,
])[] = [
  [
    "a connected cluster with the policy",
    { ...connection, locations: guarded.guarded },
    { kind: "cluster", cluster: "c1" },
    (namespace) => locationOf(plain, labelsOf[namespace]),
  ],
  [
    "a connected cluster without the policy",
    { ...connection, locations: unguarded.guarded },
    { kind: "cluster", cluster: "c1" },
    () => plain,
  ],
  [
    "a virtual cluster",
    { ...connection, locations: oneLocation(inVirtual) },
    virtual,
    () => inVirtual,
  ],
];

/** The decision that docs/scope.md describes. */
function expected(scope: unknown, locationIn: (namespace: string) => RequestLocation): boolean {
  if (scope === undefined) return true;
  if (asked.kind === "path") return secondOpinion(scope, { ...pathOf(asked), ...locationIn("") });
  const { group, resource, name, namespace } = asked;
  const resourceScope =
    asked.resourceScope === "Unknown"
      ? (authorizationOnlyScope(group, resource) ?? "Unknown")
      : asked.resourceScope;
  const own = group === "" && resource === "namespaces" ? name : "";
  const place = resourceScope === "Cluster" ? own : namespace;
  const sent = { ...resourceOf(asked), namespace: place };
  return secondOpinion(scope, { ...sent, ...locationIn(place), resourceScope });
}

const situation = [fc.option(anyScope, { nil: undefined, freq: 20 }), anyRequest] as const;

describe("every front decides as the page of scopes says", () => {
  beforeAll(async () => {
    unguarded.state.answer = "NotFound";
    for (const { guarded: labels, clock: time } of [guarded, unguarded]) {
      void labels.decided([parseScopeLimit({ projects: [{ project: "web" }] })]);
      await time.run(1_000);
    }
  });
  afterAll(async () => {
    await Promise.all([guarded.guarded.close(), unguarded.guarded.close()]);
  });

  test("labels count in one of the connected clusters", () => {
    expect([guarded.guarded.areTrusted, unguarded.guarded.areTrusted]).toEqual([true, false]);
  });

  test("in the central cluster: webhook and gateway", async () => {
    const inCentral = (namespace: string) => locationOf(managementLocation, labelsOf[namespace]);
    await fc.assert(
      fc.asyncProperty(...situation, async (scope, request) => {
        asked = request;
        const destination = { upstream: { kind: "management" } as const, server: connection };
        const isAllowed = expected(scope, inCentral);
        expect([await atWebhook(scope), await atGateway(scope, destination)]).toEqual([
          isAllowed,
          isAllowed,
        ]);
      }),
      runsAtLength(100, 15_000),
    );
  });

  test.each(clusterColumns)(
    "in %s: gateway, direct endpoint and authorizer",
    async (_name, server, upstream, locationIn) => {
      await fc.assert(
        fc.asyncProperty(...situation, async (scope, request) => {
          asked = request;
          const isAllowed = expected(scope, locationIn);
          const destination = { upstream, server };
          expect([
            await atGateway(scope, destination),
            await atEndpoint(scope, destination),
            await atAuthorizer(scope, destination),
          ]).toEqual([isAllowed, isAllowed, isAllowed]);
        }),
        runsAtLength(100, 15_000),
      );
    },
    600_000,
  );
});
