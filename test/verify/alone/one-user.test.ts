import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../../support/dedicated-cluster.ts";
import { annotations } from "../../../src/api/names.ts";
import { eventually } from "../../support/eventually.ts";
import { gatewayCa } from "../../support/gateway-address.ts";
import { applyGateway, policiesCount } from "../../support/install.ts";
import { keysPath, makeRoot, postKey } from "../../support/latchkey-objects.ts";
import type { GatewayProcess } from "../../support/latchkey-process.ts";
import { newIssuerKey, signedToken, timesAt } from "../../support/token-issuer.ts";
import { percentile } from "../../support/percentile.ts";
import { type FloodTerms, openSession, send } from "./flood-client.ts";

const mebibyte = 1024 * 1024;
/** The memory limit of config/gateway. */
const limitBytes = 512 * mebibyte;
const configMaps = "/api/v1/namespaces/default/configmaps";
const secret = randomBytes(24).toString("base64url");
/** Each of four users has two keys, for a key alone may have less than half of what a user may. */
const attackers = ["one", "two", "three", "four"].flatMap((user) =>
  ["a", "b"].map((name) => ({ user, name: `${user}-${name}`, key: `${user}-${name}-${secret}` })),
);
const honestKey = `honest-${secret}`;

const [signing, issuer] = [newIssuerKey("one", "RS256"), "https://oidc.example"];
const jobClaims = { iss: issuer, aud: "ci/job", sub: "main", ...timesAt(Date.now()) };
const forgedToken = await signedToken(signing, { ...jobClaims, exp: jobClaims.iat + 36_000 });
const jwks = JSON.stringify({ keys: [signing.publicJwk] });

let cluster: DedicatedCluster;
let gateway: GatewayProcess;
let ca: string;
let flood: ChildProcess | undefined;

const residentBytes = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) * 1024;

/** Sends a request over a connection of its own. */
async function ask(): Promise<number> {
  const over = openSession({ url: gateway.gatewayUrl, ca }, "127.0.0.1");
  const status = await send(over, { path: configMaps, key: honestKey });
  over.destroy();
  return status;
}

function startFlood(attack: Partial<FloodTerms>): void {
  const keys = attackers.map(({ key }) => key);
  const server = { url: gateway.gatewayUrl, ca };
  const terms: FloodTerms = { ...server, keys, floods: [], connections: 0, ...attack };
  flood = spawn(process.execPath, [join(import.meta.dirname, "flood-main.ts")], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  flood.stdin?.end(JSON.stringify(terms));
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  await applyGateway(cluster.controlPlane);
  await policiesCount(cluster.controlPlane);
  await cluster.arrange(makeRoot);
  for (const { name, user, key } of attackers) await cluster.arrange(postKey(name, { user, key }));
  await cluster.arrange(postKey("honest", { user: "root", key: honestKey }));
  await cluster.arrange({
    method: "POST",
    path: "/api/v1/namespaces/latchkey-system/configmaps",
    body: {
      metadata: { name: "latchkey-issuers" },
      data: {
        "issuers.yaml": JSON.stringify({
          apiVersion: "apiserver.config.k8s.io/v1",
          kind: "AuthenticationConfiguration",
          jwt: [{ issuer: { url: issuer, audiences: ["ci"], jwks } }],
        }),
      },
    },
  });
  const rule = { [annotations.issuer]: issuer, [annotations.claims]: "sub=main" };
  const { path, body } = postKey("job", { user: "job" });
  const { metadata, ...rest } = Object(body);
  const trusting = { ...rest, metadata: { ...metadata, annotations: rule } };
  await cluster.arrange({ method: "POST", path, body: trusting });
});

/** Memory that an attack took is not given back: each has a gateway of its own. */
beforeEach(async () => {
  if (!hasDedicatedClusters) return;
  gateway = await cluster.runGateway();
  await gateway.waitReady();
  ca = await gatewayCa(cluster.controlPlane);
  await eventually(async () => (await ask()) === 200, { what: "the key to work" });
});

afterEach(async () => {
  flood?.kill("SIGKILL");
  gateway?.kill("SIGKILL");
  await gateway?.stop();
});

afterAll(() => cluster?.stop());

/** What the attackers do, by name. */
const attacks: Readonly<Record<string, Partial<FloodTerms>>> = {
  "bodies that trickle, for the API server": {
    floods: [{ path: configMaps, count: 250, body: { length: 100_000, sent: 1 } }],
  },
  "bodies of Latchkey's kinds that trickle, without any right": {
    floods: [{ path: keysPath, count: 250, body: { length: 3 * mebibyte, sent: 100_000 } }],
  },
  watches: { floods: [{ path: "/apis/management.service/v1?watch=1", count: 256 }] },
  "requests for resources that do not exist": {
    floods: [
      { path: `/apis/unknown-${secret.slice(0, 5).toLowerCase()}.example/v1/a`, count: 256 },
    ],
  },
  "connections without a credential": { connections: 5_000 },
  "tokens of an issuer with wrong signatures": {
    forgeries: { token: forgedToken, connections: 60 },
  },
};
const all: Partial<FloodTerms> = {
  floods: Object.values(attacks).flatMap(({ floods = [] }) => floods),
  connections: 5_000,
};

describe.skipIf(!hasDedicatedClusters)("a user beside four who flood the gateway", () => {
  it.each([...Object.entries(attacks), ["all of these at once", all] as const])(
    "is not refused: %s",
    async (what, attack) => {
      startFlood(attack);
      const taken: number[] = [];
      let most = residentBytes();
      for (let round = 0; round < 40; round += 1) {
        const began = performance.now();
        expect(await ask()).toBe(200);
        taken.push(performance.now() - began);
        most = Math.max(most, residentBytes());
        await pause(250);
      }
      process.stdout.write(
        `${what}: p50 ${percentile(taken, 0.5).toFixed(0)} ms, longest ${Math.max(...taken).toFixed(0)} ms, ${(most / mebibyte).toFixed(0)} MiB resident\n`,
      );
      expect(most).toBeLessThan(limitBytes);
    },
  );
});
