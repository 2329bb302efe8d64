import { closeParts, runParts } from "../../src/runtime/run-process.ts";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { decodeProtectedHeader, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownObjects } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import { recordAt } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { rotateSigningKey } from "../../src/client/admin/rotate-signing-key.ts";
import { type Assembly, assembleController } from "../../src/controllers/assemble.ts";
import { publishedKeyRoutes, publishedListRoutes } from "../../src/controllers/issuer-routes.ts";
import { ListPolls } from "../../src/controllers/list-polls.ts";
import { ServedRevocations } from "../../src/controllers/served-revocations.ts";
import { publishedBeforeMs } from "../../src/domain/endpoint-token/key-rotation.ts";
import type { Authenticator } from "../../src/gateway/credential.ts";
import { followIssuer, type FollowedIssuer } from "../../src/published/follow-issuer.ts";
import { tokenAuthenticator } from "../../src/gateway/token-authenticator.ts";
import { type Client, createClient } from "../../src/kube/client/client.ts";
import { mostOwnResponseBytes } from "../../src/kube/client/exchange.ts";
import { loadCredentials } from "../../src/kube/credentials/load-credentials.ts";
import { createTransport, type Transport } from "../../src/kube/client/transport.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { routed } from "../../src/runtime/routes.ts";
import {
  isRotationRequested,
  type ObservedSigningKeys,
  parseSigningKeys,
} from "../../src/tokens/signing-keys.ts";
import { VerifiedTokens } from "../../src/tokens/verified-tokens.ts";
import { JumpClock } from "../faults/jump-clock.ts";
import { controllerSettings } from "../faults/programs.ts";
import { accountKubeconfig, type ServiceAccountLogin } from "../support/account-login.ts";
import { type CachingFront, startCachingFront } from "./caching-front.ts";
import { get } from "../support/cluster-connection.ts";
import { startConnectProxy } from "../support/connect-proxy.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { mintToken } from "../support/direct-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { recordingLog } from "../support/recording-log.ts";
import { FakeStateSecret } from "../support/revoked-list-fixture.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { isMissing, orMissing } from "../support/prepared.ts";
import { StrictVerifier } from "./strict-verifier.ts";
import { startVerifier, type TokenVerifier } from "../support/token-verifiers.ts";

const namespace = "latchkey-system";
const secretPath = `/api/v1/namespaces/${namespace}/secrets/${ownObjects.signingKeys}`;
const audience = "management.service/direct";
const maximumTokenTtl = 3_600;
/** How late the replica that publishes the keys observes them: it is ready for up to 30 s. */
const lateMs = 25_000;
const stepMs = 5_000;

/**
 * One clock for Latchkey and the verifiers. The API server and go-oidc have the real time, from
 * which tokens may differ by minutes: the clock starts behind it, and the rotations take it ahead.
 */
const clock = new JumpClock(-200_000);
const log = recordingLog();

let cluster: DedicatedCluster;
let login: ServiceAccountLogin;
let transport: Transport;
let client: Client;
let front: CachingFront;
let strict: StrictVerifier;
let goOidc: TokenVerifier | undefined;
let stopProxy = async () => {};
let controller: { readonly stop: () => Promise<void> };
let endpoint: { readonly authenticator: Authenticator; readonly stop: () => Promise<void> };

/** Runs the controller in this process, with its routes behind the front. */
async function startController() {
  const credentials = await loadCredentials({ kubeconfig: login.kubeconfig, env: {} }, systemClock);
  const metrics = createMetrics();
  const assembly: Assembly = assembleController(
    { ...controllerSettings, issuer: front.url, maximumTokenTtl, namespace, identity: "one" },
    { credentials, clock, random: Math.random, log, metrics },
  );
  const stop = new AbortController();
  const running = assembly.run(stop.signal);
  const { stores, published } = assembly.informers;
  const keys = lateKeys(() =>
    stores.signingKeys.get(keyOf({ namespace, name: ownObjects.signingKeys })),
  );
  const list = new ServedRevocations(front.url, stores);
  const polls = new ListPolls(list, { keys, published: published.revoked, clock });
  const terms = { issuer: front.url, jwksUrl: undefined };
  front.handler = routed([
    ...publishedKeyRoutes(terms, keys, published.revoked.isFresh),
    ...publishedListRoutes(terms.issuer, "revoked", polls),
  ]);
  return {
    async stop() {
      stop.abort();
      polls.end();
      await running;
      await assembly.close();
    },
  };
}

/** The signing keys as they were some time ago: the newest that are old enough. */
function lateKeys(current: () => ObservedSigningKeys | undefined) {
  const seen: { readonly at: number; readonly keys: ObservedSigningKeys }[] = [];
  return (): ObservedSigningKeys | undefined => {
    const keys = current();
    if (keys !== undefined && keys !== seen.at(-1)?.keys)
      seen.push({ at: clock.monotonic(), keys });
    return (seen.findLast(({ at }) => at + lateMs <= clock.monotonic()) ?? seen[0])?.keys;
  };
}

/** Follows the issuer like a direct endpoint. */
function startEndpoint() {
  const metrics = createMetrics();
  const secret = new FakeStateSecret();
  const { get, patch } = secret.client;
  const tokens = new VerifiedTokens(new Map(), { issuer: front.url, audiences: [audience] });
  const followed: FollowedIssuer = followIssuer(
    {
      issuer: front.url,
      namespace,
      jwksUrl: undefined,
      issuerCa: { current: () => front.ca, warnings: () => [] },
      maximumListAge: undefined,
    },
    {
      client: { get, patch },
      clock,
      random: Math.random,
      log,
      metrics,
      secretName: ownObjects.directKeys,
      proxyOf: () => undefined,
      onKeys: (known) => tokens.replaceKeys(known),
      onList() {},
    },
  );
  const stop = new AbortController();
  const running = runParts(followed.parts, stop.signal);
  const authenticator = tokenAuthenticator({
    tokens,
    keys: followed.keys,
    revoked: followed.revoked,
    roles: followed.roles,
    clock,
    prefixes: { user: "", groups: "" },
    namespace,
    onResult() {},
  });
  return {
    followed,
    authenticator,
    async stop() {
      stop.abort();
      await running;
      await closeParts(followed.parts);
    },
  };
}

let minted = 0;

function mint(): Promise<string> {
  minted += 1;
  return mintToken(cluster, `token-${minted}`);
}

const readKeys = async (): Promise<ObservedSigningKeys> =>
  parseSigningKeys(await cluster.arrange(get(secretPath)));

const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid);

async function endpointAccepts(token: string): Promise<boolean> {
  const result = await endpoint.authenticator.authenticate(new SecretText(token), "192.0.2.1");
  return result.kind === "credential";
}

async function goAccepts(token: string): Promise<boolean> {
  if (goOidc === undefined) return true;
  const question = { issuer: front.url, audience, ca: front.ca, token };
  return recordAt({ verdict: await goOidc.verify(question) }, "verdict")["ok"] === true;
}

const verifiers = {
  "direct endpoint": endpointAccepts,
  "strict verifier": (token: string) => strict.accepts(token),
  "go-oidc": goAccepts,
};

/** The verifiers that refuse one of the tokens. */
async function refusals(tokens: readonly string[]): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const [name, accepts] of Object.entries(verifiers))
    for (const token of tokens)
      if (!(await accepts(token))) refused.push(`${name} refuses a token of ${kidOf(token)}`);
  return refused;
}

/** A token of a key, like those that Latchkey mints; valid for an hour by both clocks. */
function forge(key: Pick<ObservedSigningKeys["signing"], "kid" | "privateKey">): Promise<string> {
  const iat = Math.floor(Date.now() / 1000);
  const exp = Math.floor(Math.max(clock.now(), Date.now()) / 1000) + 3_600;
  const claims = { iss: front.url, aud: audience, sub: "alice", jti: "forged", iat, nbf: iat, exp };
  return new SignJWT({ ...claims, groups: [], "management.service": { name: "forged" } })
    .setProtectedHeader({ alg: "ES256", typ: "JWT", kid: key.kid })
    .sign(key.privateKey);
}

/** Requests a rotation like an administrator; returns what is printed. */
async function rotate(): Promise<string> {
  let printed = "";
  const print = (text: string) => void (printed += text);
  await rotateSigningKey({ namespace, newEpoch: false }, { client, clock, print });
  return printed;
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  await allowRequesters(cluster);
  const { controlPlane } = cluster;
  login = await accountKubeconfig(controlPlane, {
    directory: mkdtempSync(join(controlPlane.directory, "rotation-")),
    account: "latchkey-controller",
  });
  const credentials = await loadCredentials(
    { kubeconfig: controlPlane.adminKubeconfig, env: {} },
    systemClock,
  );
  transport = createTransport({
    credentials,
    clock: systemClock,
    connections: 2,
    timeoutMs: 30_000,
    mostBytes: mostOwnResponseBytes,
  });
  client = createClient(transport, "an-administrator");
  front = await startCachingFront(clock);
  controller = await startController();
  endpoint = startEndpoint();
  strict = new StrictVerifier(front, clock);
  const report = (line: string) => void process.stderr.write(`go-oidc: ${line}\n`);
  const proxy = await startConnectProxy({});
  stopProxy = () => proxy.stop();
  const started = await orMissing(startVerifier("go-oidc", proxy.url, { report }));
  if (isMissing(started)) report(`it verifies no token: ${started.missing}`);
  else goOidc = started;
});

afterAll(async () => {
  goOidc?.stop();
  await stopProxy();
  await strict?.stop();
  await endpoint?.stop();
  await controller?.stop();
  await front?.stop();
  await transport?.close();
  login?.close();
  await cluster?.stop();
});

describe.skipIf(!hasDedicatedClusters)("a rotation of the signing keys", () => {
  /** The keys that a test has seen, and the last token of each. */
  const tokens = new Map<string, string>();
  const known = new Map<string, ObservedSigningKeys["signing"]>();

  it("refuses no token at any verifier, through a cache and a replica that is behind, three times", async () => {
    const first = await mint();
    tokens.set(kidOf(first), first);
    await eventually(() => endpointAccepts(first), { what: "the endpoint to be ready" });
    const unknown = { ...(await readKeys()).signing, kid: "unknown" };
    const [printed, refused, mostNext] = [
      [await rotate()],
      new Array<string>(),
      new Array<number>(),
    ];
    for (let steps = 0; tokens.size < 4; steps += 1) {
      if (steps > 120) throw new Error(`${tokens.size} keys signed within ${steps} steps`);
      clock.jump(stepMs);
      // A client whose tokens make the endpoint fetch the keys as often as it does.
      await endpointAccepts(await forge(unknown));
      const token = await mint();
      tokens.set(kidOf(token), token);
      refused.push(...(await refusals([...tokens.values()])));
      const keys = await readKeys();
      for (const key of keys.keys) known.set(key.kid, key);
      mostNext.push(keys.keys.filter(({ state }) => state === "next").length);
      const next = keys.keys.find(({ state }) => state === "next");
      // The cache is filled at the last moment at which the replica does not know the new key.
      if (next !== undefined && clock.now() < next.since + lateMs) front.forget();
      if (next !== undefined && !isRotationRequested(keys) && known.size < 4) {
        printed.push(await rotate());
        printed.push(await rotate());
      }
    }
    expect([...new Set(refused)]).toEqual([]);
    expect(front.hits()).toBeGreaterThan(0);
    expect(Math.max(...mostNext)).toBe(1);
    expect(printed[0]).toContain(`after ${publishedBeforeMs / 1000} s`);
    expect(printed[1]).toContain("is published already and signs first");
    expect(printed[2]).toContain("already requested");
    process.stderr.write(`${minted} tokens in three rotations, ${front.hits()} cached responses\n`);
  });

  it("removes retired keys when their last tokens have expired; their tokens are refused then", async () => {
    const { signing, keys } = await readKeys();
    expect(keys.map(({ state }) => state).sort()).toEqual([
      ...["retired", "retired", "retired", "signing"],
    ]);
    const retired = [...known.values()].filter(({ kid }) => kid !== signing.kid);
    await controller.stop();
    // 5 minutes for the clocks of verifiers, and some for the front and the replica that is behind.
    clock.jump((maximumTokenTtl + 300) * 1000 + 120_000);
    controller = await startController();
    await eventually(async () => (await readKeys()).keys.length === 1, {
      what: "the retired keys to be removed",
    });
    const forged = await Promise.all(retired.map(forge));
    const good = await forge(signing);
    const areRefused = async () => {
      clock.jump(stepMs);
      // go-oidc fetches the keys only for a kid that it does not know.
      await goAccepts(await forge({ ...signing, kid: `unknown-${clock.monotonic()}` }));
      const accepted = await Promise.all(
        forged.flatMap((token) => Object.values(verifiers).map((accepts) => accepts(token))),
      );
      return (goOidc === undefined ? accepted.filter((_, i) => i % 3 !== 2) : accepted).every(
        (isAccepted) => !isAccepted,
      );
    };
    await eventually(areRefused, { what: "the tokens of retired keys to be refused" });
    expect(await refusals([good])).toEqual([]);
  });
});
