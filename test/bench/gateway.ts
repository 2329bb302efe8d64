import { post } from "../support/bare-client.ts";
import { home } from "../support/bench-objects.ts";
import {
  type Bench,
  type BenchFixture,
  type RunningServer,
  withController,
} from "./bench-fixture.ts";
import { headRows } from "./heads.ts";
import { readingRows } from "./reading-costs.ts";
import { execRows } from "./gateway-exec.ts";
import { clusterRows } from "./gateway-clusters.ts";
import { floodRow } from "./gateway-floods.ts";
import { garbageRow, mintRows } from "./gateway-keys.ts";
import { newKeyRows } from "./gateway-new-keys.ts";
import { neighbourRows } from "./gateway-neighbours.ts";
import { requestRows } from "./gateway-requests.ts";
import { type Watched, watchRows } from "./gateway-streams.ts";
import { grantAdmins, makeAdminKey, openWays, type Ways } from "./gateway-ways.ts";
import type { Size } from "./sizes.ts";

const user = "gateway-bench";
const concurrencies = [1, 16, 64];

/** What the rows are measured with. */
interface Terms {
  readonly fixture: BenchFixture;
  readonly gateway: RunningServer;
  readonly ways: Ways;
  readonly size: Size["gateway"];
  readonly paths: Paths;
  readonly report: Bench["report"];
}

/** Requests and streams through the gateway; requests beside the same ones to the API server. */
export async function gateway({ fixture, size: { gateway: size }, report }: Bench): Promise<void> {
  await grantAdmins(fixture);
  const key = await makeAdminKey(fixture, user);
  const paths = await seed(fixture, "gateway");
  // Each part has a gateway of its own: memory that another part took is not given back.
  const measured = async (part: (terms: Terms) => Promise<void>): Promise<void> => {
    const running = await fixture.startGateway();
    const ways = await openWays(fixture, running, key);
    await part({ fixture, size, report, paths, ways, gateway: running });
    await ways.close();
    await running.stop();
  };
  for (const watches of size.watches)
    await measured(async ({ gateway: running, ways }) => {
      fixture.say(`${watches} watches`);
      report(await watchRows(fixture, ways, running, { ...paths, watches }));
    });
  await measured(measureRequests);
  await measured(measureStreams);
  await measured(async ({ gateway: running }) => {
    fixture.say("a user beside others");
    report(await neighbourRows(fixture, running, { ...paths, requests: size.lists }));
    report([await floodRow(fixture, running, { ...paths, requests: size.small })]);
  });
  await measured(async ({ gateway: running }) => {
    fixture.say("a user beside connected clusters");
    report(await clusterRows(fixture, running, { ...paths, requests: size.small }));
  });
  report(await headRows());
  report(await readingRows());
}

async function measureRequests(terms: Terms): Promise<void> {
  const { fixture, ways, size, paths, report } = terms;
  const warmUp = { name: "warm-up", path: paths.object, requests: 1500, concurrency: 16 };
  // Not reported: until V8 has compiled what is used most, a request costs half as much again.
  await requestRows(ways, terms.gateway, warmUp);
  for (const { name, path, requests } of [
    { name: "GET 1 KB", path: paths.object, requests: size.small },
    { name: "list 1 MB", path: paths.list, requests: size.lists },
  ])
    for (const concurrency of concurrencies) {
      fixture.say(`${name}, ${concurrency} at a time`);
      report(await requestRows(ways, terms.gateway, { name, path, requests, concurrency }));
    }
}

async function measureStreams(terms: Terms): Promise<void> {
  const { fixture, ways, size, report } = terms;
  fixture.say("unknown keys, exec, tokens");
  report([await garbageRow(ways, terms.gateway, size.small)]);
  report(await execRows(fixture, ways));
  await withController(fixture, async () => {
    report(await mintRows(ways, size.credentials));
    report(await newKeyRows(fixture, ways.http1, size.credentials));
  });
}

interface Paths extends Watched {
  readonly list: string;
}

/** Creates what the requests of a part ask for. */
export async function seed({ admin }: BenchFixture, part: string): Promise<Paths> {
  const configMaps = `/api/v1/namespaces/${home}/configmaps`;
  const configMap = (name: string, bytes: number, labels: object) =>
    admin.send(post(configMaps, { metadata: { name, labels }, data: { text: "x".repeat(bytes) } }));
  await configMap(`${part}-one`, 600, { size: `${part}-small` });
  for (let at = 0; at < 10; at += 1)
    await configMap(`${part}-big-${at}`, 100_000, { size: `${part}-big` });
  return {
    object: `${configMaps}/${part}-one`,
    list: `${configMaps}?labelSelector=size%3D${part}-big&resourceVersion=0`,
    collection: `${configMaps}?labelSelector=size%3D${part}-small&resourceVersion=0`,
  };
}
