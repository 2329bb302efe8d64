import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { decodeProtectedHeader, SignJWT } from "jose";
import { Agent, fetch, Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownObjects } from "../../src/api/names.ts";
import { isRecord, listAt, parseConditions, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  isRotationRequested,
  type ObservedSigningKeys,
  parseSigningKeys,
} from "../../src/tokens/signing-keys.ts";
import { requesters } from "../support/actions.ts";
import type { ApiRequest } from "../support/api-request.ts";
import { type Caller, get, mergePatch, post } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { freePort } from "../support/free-port.ts";
import { directEndpointCa, issuerCa } from "../support/gateway-address.ts";
import { applyDirectEndpointRbac } from "../support/install.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import {
  type ControllerProcess,
  type DirectEndpointProcess,
  startDirectEndpoint,
} from "../support/latchkey-process.ts";
import { startController } from "../support/latchkey-process.ts";
import { allowRequesters } from "../support/scenario-play.ts";

const collection = "/apis/management.service/v1/directclusterendpointtokens";
const secrets = "/api/v1/namespaces/latchkey-system/secrets";
const secretPath = `${secrets}/${ownObjects.signingKeys}`;
const alice: Caller = { user: "alice", groups: [requesters] };
const daySeconds = 86_400;

/** When the process is killed: its write is not sent, or it is committed and not answered. */
const moments = ["before", "after"] as const;

let cluster: DedicatedCluster;
let upstream: Pool;
let proxy: FaultProxy;
let controller: ControllerProcess;
let issuer: string;
let endpoint: DirectEndpointProcess;
let dispatcher: Agent;
let stopProxy = () => {};

/** Set: the next write of the signing keys kills the controller. */
let armed: (typeof moments)[number] | undefined;
let kills = 0;

function isSigningKeysPatch({ method, plural, name }: ApiRequest): boolean {
  return method === "PATCH" && plural === "secrets" && name === ownObjects.signingKeys;
}

async function kill(): Promise<void> {
  const dead = controller.exited();
  controller.kill("SIGKILL");
  expect(await dead).toMatchObject({ signal: "SIGKILL" });
  kills += 1;
}

async function startKillingProxy(): Promise<FaultProxy> {
  const { controlPlane } = cluster;
  upstream = new Pool(controlPlane.url, {
    ...{ allowH2: true, keepAliveTimeout: 600_000, connections: 8, pipelining: 100 },
    connect: { ca: controlPlane.certificateAuthority },
  });
  return FaultProxy.start({
    upstream,
    view: { prefix: "", system: "latchkey-system" },
    steering: {
      async write(request, forward) {
        const moment = armed;
        if (moment === undefined || !isSigningKeysPatch(request)) return forward();
        armed = undefined;
        if (moment === "after") await forward();
        await kill();
        return "drop";
      },
    },
    events: { onTraffic() {}, onWrite() {}, onCommit() {}, onList() {} },
  });
}

const readSecret = () => cluster.arrange(get(secretPath));
const readKeys = async (): Promise<ObservedSigningKeys> => parseSigningKeys(await readSecret());

/** The states of all keys, in order of the alphabet. */
async function states(): Promise<string> {
  return (await readKeys()).keys
    .map(({ state }) => state)
    .sort()
    .join(" ");
}

/** Lets the keys of a state have it since some seconds earlier, as if that time had passed. */
async function passTime(state: "next" | "retired", seconds: number): Promise<void> {
  const secret = await readSecret();
  const encoded = stringAt(recordAt(secret, "data"), "keys.json") ?? "";
  const stored: unknown = JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
  const keys = listAt(stored, "keys")
    .filter(isRecord)
    .map((key) => {
      const since = new Date(Date.parse(String(key["since"])) - seconds * 1_000).toISOString();
      return key["state"] === state ? { ...key, since } : key;
    });
  const data = { "keys.json": Buffer.from(JSON.stringify({ keys })).toString("base64") };
  const { uid, resourceVersion } = secret.metadata;
  const body = { metadata: { uid, resourceVersion }, data };
  await cluster.arrange(mergePatch(secretPath, body));
}

let minted = 0;

async function mint(): Promise<string> {
  minted += 1;
  const name = `token-${minted}`;
  const body = { kind: "DirectClusterEndpointToken", apiVersion: "management.service/v1" };
  const object = { ...body, metadata: { name }, spec: { ttl: 3_600 } };
  const made = await cluster.ask(alice, post(collection, object));
  expect(made).toMatchObject({ code: 201 });
  return eventually(
    async () => {
      const { status } = await cluster.arrange(get(`${collection}/${name}`));
      const isReady = parseConditions(status).some(
        ({ type, status: value }) => type === "Ready" && value === "True",
      );
      return isReady && (stringAt(status, "token") ?? "");
    },
    { what: `${name} to be minted`, every: 20 },
  );
}

const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid);

async function statusOf(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const url = `${endpoint.endpointUrl}/kubernetes/cluster/version`;
  const response = await fetch(url, { dispatcher, headers });
  await response.text();
  return response.status;
}

/** Makes the endpoint fetch the keys: any client can sign with a kid that it does not know. */
async function sendUnknownKid(): Promise<void> {
  const { privateKey } = await crypto.subtle.generateKey(
    { name: "ECDSA", namedCurve: "P-256" },
    true,
    ["sign", "verify"],
  );
  const header = { alg: "ES256", typ: "JWT", kid: "unknown" };
  expect(await statusOf(await new SignJWT({}).setProtectedHeader(header).sign(privateKey))).toBe(
    401,
  );
}

/**
 * Waits until the endpoint knows the keys of now: real verifiers have fetched them while the time
 * passed that a test skips.
 */
async function untilFetched(): Promise<void> {
  const { keys } = await readKeys();
  const path = `${secrets}/${ownObjects.directKeys}`;
  const isFetched = async () => {
    await sendUnknownKid();
    const kept = recordAt(await cluster.arrange(get(path)), "data");
    const text = Buffer.from(stringAt(kept, "jwks.json") ?? "", "base64").toString("utf8");
    return keys.every(({ kid }) => text.includes(kid));
  };
  await eventually(isFetched, { what: "the endpoint to fetch the keys", every: 1_000 });
}

const rotate = () =>
  promisify(execFile)(process.execPath, [
    ...[cluster.program, "rotate-signing-key"],
    `--kubeconfig=${cluster.controlPlane.adminKubeconfig}`,
  ]);

/** Kills the controller at its next write of the keys, restarts it, and waits for the states. */
async function killAt(
  moment: (typeof moments)[number],
  cause: () => Promise<unknown>,
  expected: string,
): Promise<void> {
  const before = kills;
  const was = await states();
  armed = moment;
  await cause();
  await eventually(() => kills > before, { what: `the kill ${moment} the write to "${expected}"` });
  // Nothing is half done: the Secret has the states of before or after the write.
  expect(await states()).toBe(moment === "before" ? was : expected);
  controller.start();
  await controller.waitReady();
  await eventually(async () => (await states()) === expected, { what: `the keys "${expected}"` });
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  const { controlPlane, program } = cluster;
  await allowRequesters(cluster);
  proxy = await startKillingProxy();
  stopProxy = () => proxy.kill();
  const issuerAddress = `127.0.0.1:${await freePort()}`;
  issuer = `https://${issuerAddress}`;
  controller = await startController({
    // Only its own kubeconfig uses the proxy.
    controlPlane: { ...controlPlane, url: proxy.url },
    ...{ program, issuerAddress, restart: "never" },
    args: [`--issuer=${issuer}`, `--maximum-token-ttl=${daySeconds}s`],
  });
  await controller.waitReady();
  const issuerFile = join(controlPlane.directory, "issuer-ca.crt");
  writePrivately(issuerFile, await issuerCa(controlPlane));
  await applyDirectEndpointRbac(controlPlane);
  endpoint = await startDirectEndpoint({
    ...{ controlPlane, program, restart: "never" },
    args: [
      ...["--cluster-name=east", `--issuer=${issuer}`],
      `--certificate-authority=${issuerFile}`,
    ],
  });
  await endpoint.waitReady();
  dispatcher = new Agent({ connect: { ca: await directEndpointCa(controlPlane) } });
});

afterAll(async () => {
  await dispatcher?.destroy();
  await endpoint?.stop();
  await controller?.stop();
  stopProxy();
  await upstream?.destroy();
  await cluster?.stop();
});

describe.skipIf(!hasDedicatedClusters)("a controller that is killed in a rotation", () => {
  it.for(moments)(
    "%s each of its writes continues; one key signs, and no token is refused",
    async (moment) => {
      const [former, over] = [await mint(), new AbortController()];
      const valid = new Set([former]);
      const seen: number[] = [];
      const trying = (async () => {
        while (!over.signal.aborted) {
          for (const token of valid) seen.push(await statusOf(token));
          await pause(100);
        }
      })();

      await killAt(moment, rotate, "next signing");
      expect(isRotationRequested(await readKeys())).toBe(false);
      valid.add(await mint());
      await untilFetched();

      await killAt(moment, () => passTime("next", 3_600), "retired signing");
      const token = await mint();
      valid.add(token);
      expect(kidOf(token)).not.toBe(kidOf(former));
      await untilFetched();

      // The tokens of the retired key would have expired by then.
      for (const each of valid) if (kidOf(each) === kidOf(former)) valid.delete(each);
      await killAt(moment, () => passTime("retired", daySeconds + 3_600), "signing");
      expect((await readKeys()).signing.kid).toBe(kidOf(token));
      valid.add(await mint());
      over.abort();
      await trying;
      expect([...new Set(seen)]).toEqual([200]);
      const isRefused = async () => {
        await sendUnknownKid();
        return (await statusOf(former)) === 401;
      };
      await eventually(isRefused, { what: "a token of the removed key to be refused", every: 500 });
      process.stderr.write(`killed ${moment} each write: ${seen.length} requests answered 200\n`);
    },
  );
});
