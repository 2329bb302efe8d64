import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { ownObjects } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { post } from "../support/bare-client.ts";
import { home, namesOf, ownPath, tokenRequest } from "../support/bench-objects.ts";
import type { Bench, BenchFixture, RunningServer } from "./bench-fixture.ts";
import { requestRows } from "./gateway-requests.ts";
import { getThrough, grantAdmins, openWaysTo, secretCa, type Way } from "./gateway-ways.ts";
import { type Row, row } from "./report.ts";

const admins = "direct-bench";
const prefix = "/kubernetes/cluster";
const concurrencies = [1, 16, 64];

/**
 * Requests through a direct endpoint, with a token that it has verified before and with one that it
 * has not, beside the same requests to the API server.
 */
export async function direct({ fixture, size: { gateway: size }, report }: Bench): Promise<void> {
  const { admin, controlPlane } = fixture;
  await grantAdmins(fixture, admins);
  const path = `/api/v1/namespaces/${home}/configmaps/direct`;
  const object = { metadata: { name: "direct" }, data: { text: "x".repeat(600) } };
  await admin.send(post(path.slice(0, path.lastIndexOf("/")), object));
  const controller = await fixture.start();
  await controller.ready();
  const authority = join(controlPlane.directory, "issuer-ca.crt");
  writeFileSync(authority, await secretCa(fixture, ownObjects.issuerCertificates));
  const endpoint = await fixture.startDirectEndpoint([
    "--cluster-name=bench",
    `--jwks-url=${controller.issuerUrl}/openid/v1/jwks`,
    `--certificate-authority=${authority}`,
  ]);
  const tokens = await mintedTokens(fixture, size.cuts);
  const ca = await secretCa(fixture, ownObjects.directCertificates);
  const [credential = ""] = tokens;
  const ways = openWaysTo(fixture, { url: endpoint.url, ca, prefix, credential });
  for (const concurrency of concurrencies) {
    fixture.say(`GET 1 KB, ${concurrency} at a time`);
    const requests = { name: "GET 1 KB", path, requests: size.small, concurrency };
    report(await requestRows(ways, endpoint, requests));
  }
  report([await firstRequestRow(ways.http1, path, { endpoint, tokens: tokens.slice(1) })]);
  await ways.close();
  await Promise.all([endpoint.stop(), controller.stop()]);
}

/** Tokens of an administrator. */
async function mintedTokens({ admin }: BenchFixture, count: number): Promise<readonly string[]> {
  const collection = ownPath("directclusterendpointtokens");
  const names = namesOf("direct", count + 1);
  const by = { user: admins, groups: [admins] };
  for (const name of names) await admin.send({ ...tokenRequest(name, ""), by });
  const tokenOf = async (name: string): Promise<string | undefined> => {
    const object = await admin.get(`${collection}/${name}`);
    return stringAt(recordAt(object, "status"), "token");
  };
  return Promise.all(
    names.map((name) => eventually(() => tokenOf(name), { what: `${name} to be minted` })),
  );
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
