import { describe, expect, test } from "vitest";
import { labels, ownObjects } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import { publishedListRoutes } from "../../src/controllers/issuer-routes.ts";
import { ListPolls } from "../../src/controllers/list-polls.ts";
import { ServedRoles } from "../../src/controllers/served-roles.ts";
import { mostRoleBytes } from "../../src/domain/scope/published-roles.ts";
import { routed } from "../../src/runtime/routes.ts";
import { verifyRolesList } from "../../src/tokens/roles-list.ts";
import { ownNamespace, rawSigningKeys, syncedInformers } from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";
import { settled } from "../support/test-clock.ts";
import { publishedKeys } from "../tokens/signed-text.ts";

const issuer = "https://latchkey.example/id";
const key = keyOf({ namespace: ownNamespace, name: ownObjects.signingKeys });
const secret = rawSigningKeys(undefined, { resourceVersion: "10" });

/** A ClusterRole that is a role of scopes, and permits this verb on pods. */
function clusterRole(name: string, role: string, verb: string): RawObject {
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: [verb] }];
  return rawObject({ name, labels: { [labels.scopeRole]: role } }, { rules });
}

const view = clusterRole("view", "viewer", "get");
const list = clusterRole("list", "viewer", "list");
const edit = clusterRole("edit", "editor", "update");

async function setup(clusterroles: readonly RawObject[] = [view, list, edit]) {
  const found = await syncedInformers({ secrets: [secret], clusterroles });
  const { informers, listWatch, clock, log } = found;
  const keys = () => informers.stores.signingKeys.get(key);
  const { stores } = informers;
  const { roles: known } = informers.published;
  // The watches of the fake never end, so that nothing proves them after 30 s.
  const published = {
    isListed: () => known.isListed(),
    isFresh: () => true,
    onChange: (listener: () => void) => known.onChange(listener),
  };
  const roles = new ServedRoles(issuer, { stores, published, log });
  const polls = new ListPolls(roles, { keys, published, clock });
  const handler = routed(publishedListRoutes(issuer, "roles", polls));
  const get = async (after?: string) =>
    handler(
      {
        method: "GET",
        path: "/id/openid/v1/roles",
        body: "",
        ...(after !== undefined && { query: `after=${after}` }),
      },
      { clientName: undefined, address: "192.0.2.1" },
    );
  const verified = async (text: string) => {
    const seen = keys();
    if (seen === undefined) throw new Error("no keys");
    const options = { keys: publishedKeys(seen), issuer, now: clock.now() };
    const result = await verifyRolesList(text, options);
    if (!result.ok) throw new Error(result.reason);
    return result.list;
  };
  /** The answer, at least 250 ms after the last signature. */
  const answered = async (after?: string) => {
    const answer = get(after);
    await clock.run(250);
    return answer;
  };
  const current = async () => verified((await answered()).body);
  return { get, answered, current, verified, roles, listWatch, clock, log };
}

const verbsOf = ({
  roles,
}: {
  readonly roles: ReadonlyMap<string, readonly { readonly verbs: readonly string[] }[]>;
}) => [...roles].map(([role, rules]) => [role, ...rules.flatMap(({ verbs }) => verbs)]);

describe("the list of roles", () => {
  test("has the rules of all ClusterRoles of a role", async () => {
    const { current } = await setup();
    expect(verbsOf(await current())).toEqual([
      ["editor", "update"],
      ["viewer", "list", "get"],
    ]);
  });

  test("is empty without roles, and has no role without a name", async () => {
    expect((await (await setup([])).current()).roles.size).toBe(0);
    expect((await (await setup([clusterRole("a", "", "get")])).current()).roles.size).toBe(0);
  });

  test("has the same version at each replica, whatever the order of its events", async () => {
    const one = await (await setup([view, list, edit])).current();
    const other = await (await setup([edit, list, view])).current();
    expect(one.version).toBe(other.version);
    const changed = await (
      await setup([view, clusterRole("list", "viewer", "watch"), edit])
    ).current();
    expect(changed.version).not.toBe(one.version);
  });

  test("is answered when a role changes, is added or is deleted", async () => {
    const { get, current, verified, listWatch, clock } = await setup();
    const changes = [
      ["MODIFIED", clusterRole("view", "viewer", "watch"), "watch"],
      ["ADDED", clusterRole("more", "viewer", "patch"), "patch"],
      ["DELETED", clusterRole("edit", "editor", "update"), "watch"],
    ] as const;
    for (const [type, object, verb] of changes) {
      const before = await current();
      const waiting = get(before.version);
      await settled();
      listWatch.emit("clusterroles", type, object);
      await clock.run(250);
      const after = await verified((await waiting).body);
      expect(after.version).not.toBe(before.version);
      expect(verbsOf(after).flat()).toContain(verb);
      expect(after.roles.has("editor")).toBe(type !== "DELETED");
    }
  });

  test("is answered at once to a client with any other version, and with 304 to one with this", async () => {
    const { get, answered, current, clock } = await setup();
    const { version } = await current();
    for (const other of ["", "0.1", version.replace(/./g, "0")])
      expect((await answered(other)).status).toBe(200);
    const waiting = get(version);
    await clock.run(50_000);
    expect((await waiting).status).toBe(304);
  });

  test("has another version for each signing key", async () => {
    const { current, listWatch } = await setup();
    const before = await current();
    listWatch.emit("secrets", "MODIFIED", rawSigningKeys(undefined, { resourceVersion: "11" }));
    await settled();
    expect((await current()).version).not.toBe(before.version);
  });
});

describe("a role that is too large", () => {
  test("is left out, in the log, the warnings and the list", async () => {
    const { current, roles, log } = await setup([
      view,
      clusterRole("big", "big", "x".repeat(mostRoleBytes)),
    ]);
    const { roles: served, omitted } = await current();
    expect([[...served.keys()], omitted]).toEqual([["viewer"], 1]);
    expect(roles.warnings()).toEqual([
      "1 roles of scopes are too large to be published and cover nothing in connected clusters: big; give them fewer rules",
    ]);
    expect(log.lines.filter(({ level }) => level === "warn")).toEqual([
      expect.objectContaining({ fields: { objects: ["big"], omitted: 1 } }),
    ]);
  });

  test("is published when it is smaller, without a warning", async () => {
    const { current, roles, listWatch } = await setup([
      clusterRole("big", "big", "x".repeat(mostRoleBytes)),
    ]);
    expect((await current()).omitted).toBe(1);
    listWatch.emit("clusterroles", "MODIFIED", clusterRole("big", "big", "get"));
    await settled();
    expect([(await current()).omitted, roles.warnings()]).toEqual([0, []]);
  });
});
