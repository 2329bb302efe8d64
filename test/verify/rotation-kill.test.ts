import { setTimeout as pause } from "node:timers/promises";
import { decodeProtectedHeader, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownObjects } from "../../src/api/names.ts";
import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  isRotationRequested,
  type ObservedSigningKeys,
  parseSigningKeys,
} from "../../src/tokens/signing-keys.ts";
import type { ApiRequest } from "../support/api-request.ts";
import { get, mergePatch } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import {
  type DirectEndpoint,
  mintToken,
  rotateSigningKey,
  startEndpoint,
} from "../support/direct-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { freePort } from "../support/free-port.ts";
import { issuerCa } from "../support/gateway-address.ts";
import { type ControllerProcess, startController } from "../support/latchkey-process.ts";
import { allowRequesters } from "../support/scenario-play.ts";

const secrets = "/api/v1/namespaces/latchkey-system/secrets";
const secretPath = `${secrets}/${ownObjects.signingKeys}`;
const daySeconds = 86_400;

/** When the process is killed: its write is not sent, or it is committed and not answered. */
const moments = ["before", "after"] as const;

let cluster: DedicatedCluster;
let proxy: FaultProxy;
let controller: ControllerProcess;
let direct: DirectEndpoint;

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
  return FaultProxy.before(cluster.controlPlane, {
    async write(request, forward) {
      const moment = armed;
      if (moment === undefined || !isSigningKeysPatch(request)) return forward();
      armed = undefined;
      if (moment === "after") await forward();
      await kill();
      return "drop";
    },
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

function mint(): Promise<string> {
  minted += 1;
  return mintToken(cluster, `token-${minted}`, { spec: { ttl: 3_600 } });
}

const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid);

const statusOf = (token: string) => direct.statusOf(token);

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

const rotate = () => rotateSigningKey(cluster);

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
  const address = `127.0.0.1:${await freePort()}`;
  const issuer = `https://${address}`;
  controller = await startController({
    // Only its own kubeconfig uses the proxy.
    controlPlane: { ...controlPlane, url: proxy.url },
    program,
    address,
    restart: "never",
    args: [`--issuer=${issuer}`, `--maximum-token-ttl=${daySeconds}s`],
  });
  await controller.waitReady();
  direct = await startEndpoint(controlPlane, { program, issuer, ca: await issuerCa(controlPlane) });
});

afterAll(async () => {
  await direct?.stop();
  await controller?.stop();
  proxy?.kill();
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
