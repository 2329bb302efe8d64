import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { ownObjects } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { post } from "../support/bare-client.ts";
import { home, namesOf, ownPath, tokenRequest } from "../support/bench-objects.ts";
import type { Bench, BenchFixture, RunningController, RunningServer } from "./bench-fixture.ts";
import { requestRows } from "./gateway-requests.ts";
import {
  getThrough,
  grantAdmins,
  type OpenWays,
  openWaysTo,
  secretCa,
  type Way,
} from "./gateway-ways.ts";
import { type Row, row } from "./report.ts";

const admins = "direct-bench";
const prefix = "/kubernetes/cluster";
const concurrencies = [1, 16, 64];

/**
 * Requests through a direct endpoint, with a token that it has verified before and with one that it
 * has not, beside the same requests to the API server.
 */
export async function direct({ fixture, size: { gateway: size }, report }: Bench): Promise<void> {
  const { admin } = fixture;
  await grantAdmins(fixture, admins);
  const path = `/api/v1/namespaces/${home}/configmaps/direct`;
  const object = { metadata: { name: "direct" }, data: { text: "x".repeat(600) } };
  await admin.send(post(path.slice(0, path.lastIndexOf("/")), object));
  const controller = await fixture.start();
  await controller.ready();
  const endpoint = await startEndpointOf(fixture, controller);
  const tokens = await mintedTokens(fixture, size.credentials);
  const [credential = ""] = tokens;
  const ways = await openWaysToEndpoint(fixture, endpoint, credential);
  for (const concurrency of concurrencies) {
    fixture.say(`GET 1 KB, ${concurrency} at a time`);
    const requests = { name: "GET 1 KB", path, requests: size.small, concurrency };
    report(await requestRows(ways, endpoint, requests));
  }
  report([await firstRequestRow(ways.http1, path, { endpoint, tokens: tokens.slice(1) })]);
  await ways.close();
  await Promise.all([endpoint.stop(), controller.stop()]);
}

/** Starts a direct endpoint that trusts the tokens of this controller. */
export async function startEndpointOf(
  fixture: BenchFixture,
  { issuerUrl }: RunningController,
): Promise<RunningServer> {
  const authority = join(fixture.controlPlane.directory, "issuer-ca.crt");
  writeFileSync(authority, await secretCa(fixture, ownObjects.issuerCertificates));
  return fixture.startDirectEndpoint([
    "--cluster-name=bench",
    `--jwks-url=${issuerUrl}/openid/v1/jwks`,
    `--certificate-authority=${authority}`,
  ]);
}

/** Opens the ways through a direct endpoint, and past it, with a token. */
export async function openWaysToEndpoint(
  fixture: BenchFixture,
  { url }: RunningServer,
  credential: string,
): Promise<OpenWays> {
  const ca = await secretCa(fixture, ownObjects.directCertificates);
  return openWaysTo(fixture, { url, ca, prefix, credential });
}

/** Creates tokens of an administrator. */
async function mintedTokens(fixture: BenchFixture, count: number): Promise<readonly string[]> {
  const names = namesOf("direct", count + 1);
  for (const name of names) await createToken(fixture, name, admins);
  return Promise.all(names.map((name) => mintedToken(fixture, name)));
}

/** Creates the token of this name as a member of this group. */
export async function createToken(
  { admin }: BenchFixture,
  name: string,
  group: string,
): Promise<void> {
  const by = { user: group, groups: [group] };
  await admin.send({ ...tokenRequest(name, ""), by });
}

/** Waits until the token of this name is minted. */
export function mintedToken({ admin }: BenchFixture, name: string): Promise<string> {
  const tokenOf = async (): Promise<string | undefined> => {
    const object = await admin.get(ownPath("directclusterendpointtokens", name));
    return stringAt(recordAt(object, "status"), "token");
  };
  return eventually(tokenOf, { what: `${name} to be minted`, every: 20 });
}

/** One request with each token, which the endpoint verifies first. */
async function firstRequestRow(
  way: Way,
  path: string,
  { endpoint, tokens }: { readonly endpoint: RunningServer; readonly tokens: readonly string[] },
): Promise<Row> {
  const end = await endpoint.readings.begin();
  const began = performance.now();
  for (const token of tokens) await getThrough({ ...way, authorization: `Bearer ${token}` }, path);
  const seconds = (performance.now() - began) / 1000;
  const { cpuSeconds } = await end();
  const name = "GET 1 KB with a token that is new each time, HTTP/1.1";
  return row(name, [tokens.length / seconds, "/s"], {
    note: `${((cpuSeconds * 1e6) / tokens.length).toFixed(0)} us of the endpoint`,
  });
}
