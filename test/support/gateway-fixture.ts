import { noTokens } from "./no-tokens.ts";
import { connect, type TLSSocket } from "node:tls";
import type { AccessKeyCache } from "../../src/authn/access-key-cache.ts";
import { UnknownKeyRetries } from "../../src/authn/identify-key.ts";
import type { ObservedAccessKey } from "../../src/api/owned-access-key.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import { type InFlightLimits, inFlightLimits } from "../../src/domain/gateway/in-flight-limits.ts";
import { asksForUpgrade } from "../../src/domain/gateway/request-head.ts";
import { type BodyShares, bodyShares } from "../../src/gateway/own-body.ts";
import type { Authenticator } from "../../src/gateway/credential.ts";
import { gatewayHandler } from "../../src/gateway/gateway-handler.ts";
import { keyAuthenticator } from "../../src/gateway/key-authenticator.ts";
import { InFlightRequests } from "../../src/gateway/in-flight-requests.ts";
import type { Discovery } from "../../src/kube/client/discovery.ts";
import { createForwarder } from "../../src/kube/forward/forwarder.ts";
import { findUpstreamIn } from "../../src/gateway/upstreams.ts";
import { gatewayRoutes, type Routes } from "../../src/domain/gateway/request-target.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { type Clock, systemClock } from "../../src/runtime/clock.ts";
import {
  frontLimits,
  type ServerLimits,
  type ServerTls,
} from "../../src/runtime/server-options.ts";
import { type Server, startServer } from "../../src/runtime/server.ts";
import { issueCertificate, newCa } from "../../src/tokens/certificate-signing.ts";
import { fakeCredentials } from "./fake-credentials.ts";
import { observedMetadata } from "./observed-objects.ts";
import { recordingLog } from "./recording-log.ts";
import { resolvedKeyWith } from "./review-fixture.ts";
import { startUpstreamRecorder, type UpstreamRecorder } from "./upstream-recorder.ts";

/** What a test changes about a gateway. */
export interface GatewayFixtureOptions {
  readonly clock?: Clock;
  readonly limits?: Partial<ServerLimits>;
  readonly inFlightLimits?: Partial<InFlightLimits>;
  /** Milliseconds to the head of an answer. */
  readonly headTimeoutMs?: number;
  /** Connections to the API server for requests with a short answer. */
  readonly connections?: number;
  /** Who may ask, and where; default: the keys, at the paths of the gateway. */
  readonly credentials?: FrontCredentials;
  /** Keys by their text; default: {@link aliceKey} and {@link bobKey}. */
  readonly keys?: Readonly<Record<string, ResolvedKey>>;
  /** The server of the credentials; default: that of the recorder. */
  readonly server?: string;
}

/** How a front finds out who asks, and the paths that it serves. */
export interface FrontCredentials {
  readonly routes: Routes;
  readonly authenticator: (terms: {
    readonly clock: Clock;
    readonly isFresh: () => boolean;
    readonly onResult: (result: string) => void;
  }) => Authenticator;
}

/** A gateway in this process, between raw clients and a recorder. */
export interface GatewayFixture {
  readonly port: number;
  readonly ca: string;
  readonly recorder: UpstreamRecorder;
  readonly inFlight: InFlightRequests;
  readonly bodies: BodyShares;
  readonly front: Server;
  readonly log: ReturnType<typeof recordingLog>;
  /** The refusals that were counted, as `<cause> <status>`. */
  readonly refusals: readonly string[];
  /** The results that the authenticator counted. */
  readonly identifications: readonly string[];
  readonly cuts: readonly string[];
  /** How often the gateway's own credential was given up. */
  forgotten(): number;
  /** The keys of now; a test may change them, and call `inFlight.changed`. */
  readonly keys: Map<string, ResolvedKey>;
  isFresh: boolean;
  readonly discovery: FakeDiscovery;
  close(): Promise<void>;
}

/** The texts of the keys that exist by default. */
export const aliceKey = "key-of-alice-for-tests";
export const bobKey = "key-of-bob-for-tests";

/** Where the gateway serves the recorder. */
export const managementPath = "/kubernetes/management";

/** A key of a user. */
export function keyOf(user: string, spec: Partial<ObservedAccessKey["spec"]> = {}): ResolvedKey {
  const resolved = resolvedKeyWith({ user, groups: ["devs"], ...spec });
  return {
    ...resolved,
    key: { ...resolved.key, metadata: observedMetadata({ uid: `uid-${user}` }) },
  };
}

/** A server certificate and its CA, in PEM. */
export interface TestCertificates {
  readonly ca: string;
  readonly tls: ServerTls;
}

let certificates: Promise<TestCertificates> | undefined;

/** A certificate for 127.0.0.1, made once in a process. */
export function testCertificates(): Promise<TestCertificates> {
  return (certificates ??= newTestCertificates());
}

/** A certificate for 127.0.0.1 of a CA of its own. */
export async function newTestCertificates(): Promise<TestCertificates> {
  const terms = { dnsNames: ["localhost", "127.0.0.1"], clientName: "none", now: Date.now() };
  const ca = await newCa(terms);
  const { certificate, privateKey } = await issueCertificate("serving", ca, terms);
  return {
    ca: ca.certificate,
    tls: {
      certificate,
      privateKey: SecretText.reveal(privateKey),
      clientAuthority: ca.certificate,
    },
  };
}

/** Starts a front server with the gateway's handler, and a recorder behind it. */
export async function startGateway(options: GatewayFixtureOptions = {}): Promise<GatewayFixture> {
  const { clock = systemClock, limits = {} } = options;
  const [{ ca, tls }, recorder] = await Promise.all([testCertificates(), startUpstreamRecorder()]);
  const keys = new Map(
    Object.entries(options.keys ?? { [aliceKey]: keyOf("alice"), [bobKey]: keyOf("bob") }),
  );
  const seen = { refusals: new Array<string>(), cuts: new Array<string>() };
  const identifications: string[] = [];
  const log = recordingLog();
  const bodies = bodyShares();
  const inFlight = new InFlightRequests({
    clock,
    yielder: new Yielder(clock),
    isFresh: () => fixture.isFresh,
    onCut: (kind) => void seen.cuts.push(kind),
  });
  const own = fakeCredentials(options.server ?? recorder.url);
  const forwarder = createForwarder({
    clock,
    credentials: own.credentials,
    headTimeoutMs: options.headTimeoutMs ?? 75_000,
    connections: options.connections ?? 128,
  });
  const discovery = fakeDiscovery();
  const server = { forwarder, credentials: own.credentials, discovery };
  const { routes, authenticator } = options.credentials ?? keyCredentials(keys);
  const handler = gatewayHandler({
    clock,
    inFlight,
    log,
    bodies,
    routes,
    authenticator: authenticator({
      clock,
      isFresh: () => fixture.isFresh,
      onResult: (result) => void identifications.push(result),
    }),
    findUpstream:
      options.credentials === undefined ? findUpstreamIn(server, () => undefined) : () => server,
    limits: { ...inFlightLimits, ...options.inFlightLimits },
    metrics: {
      answered() {},
      refused: (cause, status) => void seen.refusals.push(`${cause} ${status}`),
      overhead() {},
    },
  });
  const front = await startServer({
    host: "127.0.0.1",
    port: 0,
    tls,
    clock,
    ...handler,
    limits: { ...frontLimits, ...limits },
    isUpgrade: asksForUpgrade,
  });
  const fixture: GatewayFixture = {
    port: front.port,
    ca,
    recorder,
    inFlight,
    bodies,
    front,
    log,
    identifications,
    keys,
    ...seen,
    forgotten: own.forgotten,
    isFresh: true,
    discovery,
    async close() {
      await front.close(0);
      await Promise.all([forwarder.close(), recorder.close()]);
    },
  };
  return fixture;
}

function keyCredentials(keys: ReadonlyMap<string, ResolvedKey>): FrontCredentials {
  return {
    routes: gatewayRoutes,
    authenticator: ({ clock, isFresh, onResult }) =>
      keyAuthenticator({
        endKey: () => Promise.reject(new Error("no key is ended")),
        tokens: noTokens,
        accessKeys: fakeAccessKeys(keys, isFresh),
        clock,
        onResult,
        unknownKeyRetries: new UnknownKeyRetries(),
        onUse() {},
        onMismatch() {},
      }),
  };
}

function fakeAccessKeys(
  keys: ReadonlyMap<string, ResolvedKey>,
  isFresh: () => boolean,
): Pick<
  AccessKeyCache,
  "lookup" | "withIndexOf" | "byId" | "isFresh" | "isWatchOpen" | "locationOf" | "roles"
> {
  return {
    lookup: (presented) => keys.get(SecretText.reveal(presented)) ?? "unknown",
    withIndexOf: () => [],
    byId: (uid) => [...keys.values()].find(({ key }) => key.metadata.uid === uid),
    isFresh,
    isWatchOpen: () => true,
    locationOf: () => ({ target: "Management" }),
    roles: () => new Map(),
  };
}

/** A discovery that serves everything; what is asked for while it is slow waits for ever. */
interface FakeDiscovery extends Pick<Discovery, "known" | "find"> {
  isSlow: boolean;
  /** How many wait. */
  readonly waiting: number;
}

function fakeDiscovery(): FakeDiscovery {
  let waiting = 0;
  return {
    isSlow: false,
    get waiting() {
      return waiting;
    },
    known() {
      return this.isSlow ? undefined : "Namespaced";
    },
    find(_group, _plural, left?: AbortSignal) {
      if (!this.isSlow) return Promise.resolve("Namespaced");
      waiting += 1;
      return new Promise((_resolve, reject) =>
        left?.addEventListener("abort", () => {
          waiting -= 1;
          reject(new Error("the request is over"));
        }),
      );
    },
  };
}

/** Opens a connection to a gateway with the protocol that ALPN chooses. */
export function openConnection(
  { port, ca }: Pick<GatewayFixture, "port" | "ca">,
  protocols: readonly string[] = ["http/1.1"],
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, ca, ALPNProtocols: [...protocols] };
    const socket = connect(Object.assign(options, { allowHalfOpen: true }));
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve(socket);
    });
    socket.once("error", reject);
  });
}
