import { inFlightLimits, type InFlightLimits } from "../../src/domain/gateway/in-flight-limits.ts";
import { type BodyShares, bodyShares } from "../../src/gateway/own-body.ts";
import type { GatewayContext } from "../../src/gateway/request-in-progress.ts";
import { keyAuthenticator } from "../../src/gateway/key-authenticator.ts";
import { InFlightRequests } from "../../src/gateway/in-flight-requests.ts";
import { findUpstreamIn } from "../../src/gateway/upstreams.ts";
import { gatewayRoutes } from "../../src/domain/gateway/request-target.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import { UnknownKeyRetries } from "../../src/authn/identify-key.ts";
import { fakeCredentials } from "../support/fake-credentials.ts";
import { fakeForwarder, type FakeForwarder } from "../support/fake-forwarder.ts";
import { aliceKey, bobKey, keyOf } from "../support/gateway-fixture.ts";
import { recordingLog } from "../support/recording-log.ts";
import { noTokens } from "../support/no-tokens.ts";
import { TestClock } from "../support/test-clock.ts";

/** What a handler of the gateway needs, without sockets, and with a clock that a test moves. */
export interface FakeGatewayDeps extends GatewayContext {
  readonly clock: TestClock;
  readonly log: ReturnType<typeof recordingLog>;
  readonly forwarder: FakeForwarder;
  readonly keys: Map<string, ResolvedKey>;
  /** What was counted: `<cause> <status>` of refusals, `<verb> <status>` of answers. */
  readonly refusals: string[];
  readonly answers: string[];
  readonly used: string[];
  readonly results: string[];
  readonly cuts: string[];
  /** May be changed. */
  readonly state: { isFresh: boolean };
}

/** What a test changes about them. */
export interface FakeGatewayOptions {
  readonly limits?: Partial<InFlightLimits>;
  readonly unknownKeyRetries?: number;
}

/** The bytes of bodies that are in use. */
export function bodyBytes({ small, large }: BodyShares): number {
  return small.used + large.used;
}

/** Makes them. */
export function fakeGatewayDeps(options: FakeGatewayOptions = {}): FakeGatewayDeps {
  const { limits = {}, unknownKeyRetries } = options;
  const [clock, log, forwarder] = [new TestClock(), recordingLog(), fakeForwarder()];
  const state = { isFresh: true };
  const keys = new Map([
    [aliceKey, keyOf("alice")],
    [bobKey, keyOf("bob")],
  ]);
  const lists = () => new Array<string>();
  const [refusals, answers, used, results, cuts] = [lists(), lists(), lists(), lists(), lists()];
  const { credentials } = fakeCredentials("https://api:6443");
  return {
    clock,
    log,
    forwarder,
    keys,
    refusals,
    answers,
    used,
    results,
    cuts,
    state,
    routes: gatewayRoutes,
    authenticator: keyAuthenticator({
      endKey: () => Promise.reject(new Error("no key is ended")),
      tokens: noTokens,
      accessKeys: {
        lookup: (presented) => keys.get(SecretText.reveal(presented)) ?? "unknown",
        withIndexOf: () => [],
        byId: (uid) => [...keys.values()].find(({ key }) => key.metadata.uid === uid),
        isFresh: () => state.isFresh,
        isWatchOpen: () => true,
        locationOf: () => ({ target: "Management" }),
        roles: () => new Map(),
      },
      clock,
      unknownKeyRetries: new UnknownKeyRetries(unknownKeyRetries),
      onUse: (key) => void used.push(key.metadata.uid),
      onMismatch() {},
      onResult: (result) => void results.push(result),
    }),
    findUpstream: findUpstreamIn(
      {
        forwarder,
        credentials,
        discovery: { known: () => "Namespaced", find: () => Promise.resolve("Namespaced") },
      },
      () => undefined,
    ),
    inFlight: new InFlightRequests({
      clock,
      yielder: new Yielder(clock),
      isFresh: () => state.isFresh,
      onCut: (kind) => void cuts.push(kind),
    }),
    limits: { ...inFlightLimits, ...limits },
    bodies: bodyShares(),
    metrics: {
      answered: (verb, status) => void answers.push(`${verb} ${status}`),
      refused: (cause, status) => void refusals.push(`${cause} ${status}`),
      overhead() {},
    },
  };
}
