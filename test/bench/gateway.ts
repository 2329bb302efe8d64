import { home } from "../support/bench-objects.ts";
import type { BenchFixture, RunningGateway } from "./bench-fixture.ts";
import { execRows } from "./gateway-exec.ts";
import { garbageRow, mintRow } from "./gateway-keys.ts";
import { requestRows } from "./gateway-requests.ts";
import { cutRow, type Watched, watchRows } from "./gateway-streams.ts";
import { grantAdmins, makeAdminKey, openWays, type Ways } from "./gateway-ways.ts";
import type { Row } from "./report.ts";
import type { Size } from "./sizes.ts";

const user = "gateway-bench";
const concurrencies = [1, 16, 64];

/** What the rows are measured with. */
interface Terms {
  readonly fixture: BenchFixture;
  readonly gateway: RunningGateway;
  readonly ways: Ways;
  readonly size: Size["gateway"];
}

/** Requests and streams through the gateway; requests beside the same ones to the API server. */
export async function gatewayRows(
  fixture: BenchFixture,
  size: Size["gateway"],
  report: (rows: readonly Row[]) => void,
): Promise<void> {
  await grantAdmins(fixture);
  const key = await makeAdminKey(fixture, user);
  const paths = await seed(fixture);
  // Each part has a gateway of its own: memory that another part took is not given back.
  const measured = async (part: (terms: Terms) => Promise<void>): Promise<void> => {
    const gateway = await fixture.startGateway();
    const ways = await openWays(fixture, gateway, key);
    await part({ fixture, gateway, ways, size });
    await ways.close();
    await gateway.stop();
  };
  for (const watches of size.watches)
    await measured(async ({ gateway, ways }) => {
      fixture.say(`${watches} watches`);
      report(await watchRows(fixture, ways, gateway, { ...paths, watches }));
    });
  await measured((terms) => measureRequests(terms, paths, report));
  await measured((terms) => measureStreams(terms, paths, report));
}

async function measureRequests(
  { fixture, gateway, ways, size }: Terms,
  paths: Paths,
  report: (rows: readonly Row[]) => void,
): Promise<void> {
  for (const { name, path, requests } of [
    { name: "GET 1 KB", path: paths.object, requests: size.small },
    { name: "list 1 MB", path: paths.list, requests: size.lists },
  ])
    for (const concurrency of concurrencies) {
      fixture.say(`${name}, ${concurrency} at a time`);
      report(await requestRows(ways, gateway, { name, path, requests, concurrency }));
    }
}

async function measureStreams(
  { fixture, gateway, ways, size }: Terms,
  paths: Paths,
  report: (rows: readonly Row[]) => void,
): Promise<void> {
  fixture.say("unknown keys, cuts, exec, tokens");
  report([await garbageRow(ways, gateway, size.small)]);
  report([await cutRow(fixture, ways, { ...paths, cuts: size.cuts, user })]);
  report(await execRows(fixture, ways));
  const controller = await fixture.start();
  await controller.ready();
  report([await mintRow(ways, size.cuts)]);
  await controller.stop();
}

interface Paths extends Watched {
  readonly list: string;
}

async function seed({ admin }: BenchFixture): Promise<Paths> {
  const configMaps = `/api/v1/namespaces/${home}/configmaps`;
  const configMap = (name: string, bytes: number, labels: object) =>
    admin.send({
      method: "POST",
      path: configMaps,
      body: { metadata: { name, labels }, data: { text: "x".repeat(bytes) } },
    });
  await configMap("one", 600, { size: "small" });
  for (let at = 0; at < 10; at += 1) await configMap(`big-${at}`, 100_000, { size: "big" });
  return {
    object: `${configMaps}/one`,
    list: `${configMaps}?labelSelector=size%3Dbig&resourceVersion=0`,
    collection: `${configMaps}?labelSelector=size%3Dsmall&resourceVersion=0`,
  };
}
