import { noTokens } from "./no-tokens.ts";
import type { AccessKeyCache } from "../../src/authn/access-key-cache.ts";
import { UnknownKeyRetries } from "../../src/authn/identify-key.ts";
import type { ObservedAccessKey } from "../../src/api/owned-access-key.ts";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import type { Discovery } from "../../src/kube/client/discovery.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import type { HttpRequest } from "../../src/runtime/routes.ts";
import type { AdmissionContext } from "../../src/webhooks/admission-context.ts";
import { FakeClient } from "./fake-client.ts";
import { observedMetadata } from "./observed-objects.ts";
import { TestClock } from "./test-clock.ts";

/** A valid key with this spec. */
export function resolvedKeyWith(spec: Partial<ObservedAccessKey["spec"]> = {}): ResolvedKey {
  return {
    key: {
      metadata: observedMetadata(),
      spec: {
        user: "alice",
        disabled: false,
        ttlAfterLastActivity: false,
        groups: [],
        scope: "none",
        ...spec,
      },
      keyDigest: "d1",
      status: {},
      conditions: [],
    },
    requester: { kind: "known", name: "alice", uid: "", groups: [] },
    config: { maximumKeyTtl: 0, namespace: "latchkey-system", prefixes: { user: "", team: "" } },
  };
}

/**
 * Fakes of the dependencies of reviewers: a cache with one key or none, and recorders of its uses.
 */
export function fakeReviewDeps({
  view,
  isCold = false,
  isFollowing = true,
  found = view ?? "unknown",
  sharing = [],
}: {
  readonly view?: ResolvedKey;
  readonly isCold?: boolean;
  readonly isFollowing?: boolean;
  readonly found?: ReturnType<AccessKeyCache["lookup"]>;
  readonly sharing?: readonly ObservedAccessKey[];
}) {
  const standing = { found };
  const [used, results, mismatched] = [
    new Array<string>(),
    new Array<string>(),
    new Array<string>(),
  ];
  const accessKeys: Pick<
    AccessKeyCache,
    "lookup" | "withIndexOf" | "byId" | "isFresh" | "isWatchOpen" | "locationOf" | "roles"
  > = {
    lookup: () => standing.found,
    withIndexOf: () => sharing,
    isWatchOpen: () => isFollowing,
    byId: (uid) => (uid === view?.key.metadata.uid ? view : undefined),
    isFresh: () => !isCold,
    locationOf: (namespace) => ({
      target: "Management",
      ...(namespace === "web-1" ? { project: "web" } : {}),
    }),
    roles: () => new Map(),
  };
  const discovery: Pick<Discovery, "known" | "find"> = {
    known: (group, plural) => (group === "" && plural === "secrets" ? "Namespaced" : undefined),
    async find(_group, plural) {
      if (plural === "broken")
        throw new KubeError("GET /apis: 500", { code: "ServerError", status: 500 });
      return plural === "nodes" ? "Cluster" : "Unknown";
    },
  };
  return {
    accessKeys,
    discovery,
    clock: new TestClock(),
    standing,
    used,
    results,
    mismatched,
    tokens: noTokens,
    unknownKeyRetries: new UnknownKeyRetries(),
    onMismatch: (keys: readonly ObservedAccessKey[]) =>
      void mismatched.push(...keys.map(({ metadata }) => metadata.uid)),
    onUse: (key: ObservedAccessKey) => void used.push(key.metadata.uid),
    onResult: (result: string) => void results.push(result),
  };
}

/** What steps of admission decide from: no key, and an API server that allows everything. */
export function fakeAdmissionContext({
  accessKeys,
  ...given
}: Partial<Omit<AdmissionContext, "accessKeys">> & {
  readonly accessKeys?: Partial<AdmissionContext["accessKeys"]>;
} = {}): AdmissionContext {
  const fakes = fakeReviewDeps({});
  return {
    options: { namespace: "latchkey-system", quotaKeys: 100, quotaExempt: [] },
    client: new FakeClient(() => ({ status: { allowed: true } })),
    discovery: { ...fakes.discovery, kindOf: async () => undefined },
    connectorKey: { current: () => undefined },
    clock: fakes.clock,
    ...given,
    accessKeys: {
      ...fakes.accessKeys,
      countOf: () => 0,
      ofIndex: () => [],
      issuers: () => new Map(),
      references: () => false,
      ...accessKeys,
    },
  };
}

/** A client without a certificate. */
export const anonymousClient = { clientName: undefined, address: "192.0.2.1" };

/** A review as kube-apiserver sends it. */
export function posted(body: unknown): HttpRequest {
  return {
    method: "POST",
    path: "/review",
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
}
