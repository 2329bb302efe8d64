import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import { api, bind } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";
import { sharedSecretPath, view } from "../support/shared-secret-requests.ts";
import { type Asked, type SyncedPlaces, syncMistakes } from "./why-mistakes.ts";

const skip = inject("cli") === undefined;
const tenant = "bob";

/** What people see of a mistake: a row of docs/troubleshooting.md. */
type Row = readonly [get: string, events: string, why: string, tenant: string];

const page = readFileSync(join(repository, "docs", "troubleshooting.md"), "utf8");
const rows: ReadonlyMap<string, Row> = new Map(
  [
    ...page.matchAll(/^\| (\[[^\]]+\]\(#[^)]+\)) +\| (.+?) +\| (.*?) +\| (.+?) +\| (.*?) +\|$/gm),
  ].map(([, title = "", get = "", events = "", why = "", asTenant = ""]) => [
    /^\[([^\]]+)\]/.exec(title)?.[1] ?? "",
    [get, events, why, asTenant].map((cell) => cell.replaceAll("`", "")) as unknown as Row,
  ]),
);

async function getCell({ home }: SyncedPlaces): Promise<string> {
  const { conditions } = await view({ path: sharedSecretPath(home, "db") });
  const { Ready, Synced, ClustersSynced } = conditions;
  const other = ClustersSynced?.status === "False" ? `, ${ClustersSynced.reason}` : "";
  return `${Ready?.status} ${Ready?.reason} ${Synced?.reason}${other}`;
}

async function eventsCell({ home, target }: SyncedPlaces): Promise<string> {
  const all = await Promise.all(
    [home, target, "default"].map((namespace) =>
      api.get(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`),
    ),
  );
  const found = all
    .flatMap((events) => listAt(events, "items"))
    .filter((event) => stringAt(event, "type") === "Warning")
    .flatMap((event) => {
      const { kind, name, namespace } = recordAt(event, "regarding");
      const isOurs = [home, target].some((place) => place === namespace || place === name);
      return isOurs ? [`${String(kind)} ${stringAt(event, "reason")}`] : [];
    });
  return [...new Set(found)].toSorted().join(", ");
}

/** The reasons of the answer in their order, each once. */
async function whyCell(
  args: readonly string[],
  user: string,
  { home }: SyncedPlaces,
): Promise<string> {
  const { stdout, stderr } = await runCli(["why", ...args, "-o", "json"], { user });
  if (stdout === "") throw new Error(stderr);
  const items = listAt(JSON.parse(stdout), "items");
  // Other SharedSecrets of this name are those of other mistakes.
  const wrong = items.filter((item) => {
    const { source, causes } = recordAt({ item }, "item");
    const isOurs = source === undefined || JSON.stringify([source, causes]).includes(`"${home}"`);
    return isOurs && stringAt(item, "reason") !== "Forbidden";
  });
  const problems = wrong.filter((item) => stringAt(item, "state") === "problem");
  const shown = (problems.length > 0 ? problems : wrong).map((item) => stringAt(item, "reason"));
  return [...new Set(shown)].join(", ");
}

/** The question of a tenant: what the administrator asks about the copy, or where it would be. */
function tenantArgs({ args }: Asked, { target }: SyncedPlaces): readonly string[] {
  return args[0]?.startsWith("secret/") === true ? args : ["secret/db", "-n", target];
}

it("docs/troubleshooting.md has a row for each mistake with a copy", () => {
  expect([...rows.keys()]).toEqual(Object.keys(syncMistakes));
});

describe.skipIf(skip).concurrent("docs/troubleshooting.md has what people see when", () => {
  it.for(Object.entries(syncMistakes))("%s", async ([title, makeMistake]) => {
    const { places, ...asked } = await makeMistake();
    const wanted = rows.get(title);
    await bind({ kind: "User", name: tenant }, "edit", places.target);
    const row = async (): Promise<Row> => [
      await getCell(places),
      await eventsCell(places),
      await whyCell(asked.args, "admin", places),
      await whyCell(tenantArgs(asked, places), tenant, places),
    ];
    await eventually(
      async () => {
        expect(await row()).toEqual(wanted);
        return true;
      },
      { what: `the row of ${title}` },
    );
    await tellsNothing(tenantArgs(asked, places), places);
  });
});

/** The metadata and the status of what a tenant may read in its namespace. */
async function ownObjects({ target }: SyncedPlaces): Promise<string> {
  const [secrets, own] = await Promise.all([
    api.get(`/api/v1/namespaces/${target}/secrets`),
    api.get(`/api/v1/namespaces/${target}`),
  ]);
  return JSON.stringify([listAt(secrets, "items"), recordAt(own, "metadata")]);
}

/**
 * Asks again when the SharedSecret is gone: where the objects of the namespace are the same, so is
 * the answer to a tenant.
 */
async function tellsNothing(args: readonly string[], places: SyncedPlaces): Promise<void> {
  const ask = async () => runCli(["why", ...args], { user: tenant });
  const [objects, answer] = [await ownObjects(places), await ask()];
  const path = sharedSecretPath(places.home, "db");
  const { metadata } = await api.get(path);
  // A finalizer of others keeps it.
  if (metadata.deletionTimestamp !== undefined) return;
  await api.delete(path);
  await eventually(async () => (await api.find(path)).code === 404, { what: `${path} to be gone` });
  if ((await ownObjects(places)) !== objects) return;
  expect(await ask()).toEqual(answer);
}
