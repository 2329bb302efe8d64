import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { ownObjects } from "../../src/api/names.ts";
import { webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import {
  parseServerCertificates,
  type ServerCertificates,
} from "../../src/tokens/server-certificates.ts";
import { patch, remove } from "../support/bare-client.ts";
import { home, ownPath, secretPath } from "../support/bench-objects.ts";
import { eventually } from "../support/eventually.ts";
import { repeated } from "../support/measured-run.ts";
import { servesOwnKinds, trustFiles, webhookHost } from "../support/trust.ts";
import { poolAsApiServer, tokenReview } from "../support/webhook-cluster.ts";
import type { Bench, BenchFixture } from "./bench-fixture.ts";
import { createToken, mintedToken, openWaysToEndpoint, startEndpointOf } from "./direct.ts";
import { openOnce } from "./gateway-streams.ts";
import {
  grantAdmins,
  makeAdminKey,
  openWays,
  openWaysTo,
  statusThrough,
  type Way,
} from "./gateway-ways.ts";
import { latencyRow, type Row } from "./report.ts";

/** How often a front is asked until it refuses, in milliseconds. */
const everyMs = 10;
/** As long as kube-apiserver keeps a decision. */
const cachedMs = 1000;
const group = "revoked-bench";
const collection = `/api/v1/namespaces/${home}/configmaps?resourceVersion=0`;

/** A place that accepts a credential until it is revoked. */
interface Front {
  readonly name: string;
  readonly goal: string;
  /** Waits until the credential is accepted; `at` resolves with the time of the first refusal. */
  begin(credential: string): Promise<{ readonly at: Promise<number> }>;
}

/**
 * The time from the answer to a revocation until each front refuses the credential, and until it
 * ends an open watch. Controller, webhook, gateway and direct endpoint run at the same time, and a
 * kube-apiserver that asks the webhook about keys.
 */
export async function revocation({ fixture, size, report }: Bench): Promise<void> {
  const { admin } = fixture;
  const times = size.gateway.credentials;
  await grantAdmins(fixture, group);
  const controller = await fixture.start();
  await controller.ready();
  const keys = await keyFronts(fixture);
  for (const [what, change] of [
    ["disabled", (path: string) => patch(path, { spec: { disabled: true } })],
    ["deleted", remove],
  ] as const) {
    fixture.say(`${times} keys that are ${what}`);
    const rows = await revocationRows(`${what} key`, keys.fronts, {
      times,
      make: (index) => makeAdminKey(fixture, `${what}-${index}`, group),
      revoke: (index) => admin.send(change(ownPath("ownedaccesskeys", `${what}-${index}`))),
    });
    report(rows);
  }
  await keys.stop();
  const endpoint = await startEndpointOf(fixture, controller);
  const ways = await openWaysToEndpoint(fixture, endpoint, "");
  fixture.say(`${times} tokens that are deleted`);
  const nameOf = (index: number) => `deleted-${index}`;
  const fronts = [requestFront, watchFront].map((front) => front("direct endpoint", ways.http1));
  report(
    await revocationRows("deleted token", fronts, {
      times,
      async make(index) {
        await createToken(fixture, nameOf(index), group);
        return mintedToken(fixture, nameOf(index));
      },
      revoke: (index) => admin.send(remove(ownPath("directclusterendpointtokens", nameOf(index)))),
    }),
  );
  await ways.close();
  await Promise.all([endpoint.stop(), controller.stop()]);
}

/** Starts what accepts keys. */
async function keyFronts(
  fixture: BenchFixture,
): Promise<{ readonly fronts: readonly Front[]; stop(): Promise<void> }> {
  const { admin, controlPlane } = fixture;
  const webhook = await fixture.startWebhook([`--certificate-names=${webhookHost}`]);
  const gateway = await fixture.startGateway();
  const address = { webhookUrl: webhook.url };
  const apiServer = await controlPlane.addApiServer(await trustFiles(controlPlane, address));
  await servesOwnKinds(apiServer);
  const { url, certificateAuthority: ca } = apiServer;
  const viaGateway = await openWays(fixture, gateway, "");
  const viaApiServer = openWaysTo(fixture, { url, ca, prefix: "", credential: "" });
  const certificates = parseServerCertificates(
    await admin.get(secretPath("latchkey-system", ownObjects.webhookCertificates)),
  );
  const reviews = reviewFront(address, certificates);
  return {
    fronts: [
      reviews.front,
      requestFront("gateway", viaGateway.http1),
      watchFront("gateway", viaGateway.http1, "< 500 ms"),
      requestFront("kube-apiserver with the authorizer", viaApiServer.http1, "< 2000 ms"),
    ],
    async stop() {
      await Promise.all([reviews.close(), viaGateway.close(), viaApiServer.close()]);
      await Promise.all([webhook.stop(), gateway.stop()]);
    },
  };
}

function reviewFront(
  address: { readonly webhookUrl: string },
  certificates: ServerCertificates,
): { readonly front: Front; close(): Promise<void> } {
  const pool = poolAsApiServer(address, certificates);
  const front = polledFront("TokenReview", "< 1000 ms", async (key) => {
    const { body } = await pool.request({
      method: "POST",
      path: webhookPaths.tokenReview,
      body: tokenReview(key),
      headers: { "content-type": "application/json" },
    });
    return (await body.text()).includes('"authenticated":true');
  });
  return { front, close: () => pool.destroy() };
}

function requestFront(name: string, way: Way, goal = "< 1000 ms"): Front {
  return polledFront(`request to the ${name}`, goal, async (credential) => {
    const asked = { ...way, authorization: `Bearer ${credential}` };
    return (await statusThrough(asked, collection)) === 200;
  });
}

function polledFront(
  name: string,
  goal: string,
  accepts: (credential: string) => Promise<boolean>,
): Front {
  const firstRefusal = async (credential: string): Promise<number> => {
    while (await accepts(credential)) await pause(everyMs);
    return performance.now();
  };
  return {
    name,
    goal,
    async begin(credential) {
      await eventually(() => accepts(credential), { what: `${name} to succeed`, every: 20 });
      return { at: firstRefusal(credential) };
    },
  };
}

function watchFront(name: string, way: Way, goal = "< 1000 ms"): Front {
  return {
    name: `watch at the ${name}`,
    goal,
    async begin(credential) {
      const asked = { ...way, authorization: `Bearer ${credential}` };
      const opened = await openOnce(asked, collection, 1);
      void opened.ended.then(() => opened.close());
      return { at: opened.ended };
    },
  };
}

interface Revoked {
  readonly times: number;
  /** Makes the credential of this index. */
  readonly make: (index: number) => Promise<string>;
  readonly revoke: (index: number) => Promise<unknown>;
}

async function revocationRows(
  what: string,
  fronts: readonly Front[],
  { times, make, revoke }: Revoked,
): Promise<readonly Row[]> {
  const waits = await repeated(times, async (index) => {
    const credential = await make(index);
    const begun = await Promise.all(fronts.map((front) => front.begin(credential)));
    // Revocations meet decisions of all ages.
    await pause((index * 370) % cachedMs);
    await revoke(index);
    const answered = performance.now();
    const refused = await Promise.all(begun.map(({ at }) => at));
    return refused.map((at) => Math.max(0, at - answered));
  });
  return fronts.map(({ name, goal }, front) =>
    latencyRow(
      `${what}: ${name}`,
      waits.map((each) => each[front] ?? Number.NaN),
      { goal },
    ),
  );
}
