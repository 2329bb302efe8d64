import fc from "fast-check";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { syncList, type SyncList } from "../../src/domain/sync/sync-list.ts";
import {
  allow,
  arrange,
  ask,
  bind,
  makeNamespace,
  patchTypes,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import { runs } from "../support/property-runs.ts";

/** The admin of a namespace, who may share only with these projects. */
const tenant: Caller = { user: unique("tenant") };
const own = ["a", "b", "a.b", "-", "_"];
/** The admin of a namespace, who may share with every project. */
const platform: Caller = { user: unique("platform") };
const mostQuestions = 16;
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  for (const { user = "" } of [tenant, platform])
    await bind({ kind: "User", name: user }, "latchkey-sharedsecret-admin", namespace);
  await allow({ kind: "User", name: tenant.user ?? "" }, [
    {
      apiGroups: ["management.service"],
      resources: ["projects"],
      resourceNames: own,
      verbs: ["share"],
    },
  ]);
  await bind({ kind: "User", name: platform.user ?? "" }, "latchkey-project-sharer");
});

const letters = fc.constantFrom("a", "b", ".", "-", "_", "c");
const names = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...own) },
  { weight: 1, arbitrary: fc.string({ unit: letters, minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom("*", "a*", "c") },
);
const separators = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(",", ", ", " ,", ",,", ", ,") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(" ", "\n", "\t", "\u00a0", "\u2003", ";", "\ufeff", "%2C", "\uff0c"),
  },
);
/** Realistic lists, and lists with unusual syntax. */
const lists = fc
  .array(fc.tuple(names, separators), { maxLength: 20 })
  .map((parts) => parts.flat().join(""));
const longLists = fc
  .tuple(fc.constantFrom("p,", "p", ",", " ", "a ,"), fc.integer({ min: 60, max: 4_200 }))
  .map(([part, times]) => part.repeat(times));

const entriesOf = (list: SyncList): readonly string[] =>
  list.kind === "entries" ? list.entries : [];
const body = (list: string, name = "read"): object => ({
  apiVersion: "management.service/v1",
  kind: "SharedSecret",
  metadata: { name, annotations: { [annotations.syncToProjects]: list } },
  spec: {},
});
const create = (caller: Caller, list: string) =>
  ask(caller, {
    method: "POST",
    path: `${sharedSecretPath(namespace)}?dryRun=All`,
    body: body(list),
  });

/** Creates a SharedSecret with this list as the administrator; returns its name. */
async function made(list: string): Promise<string> {
  const name = unique("read");
  await arrange({ method: "POST", path: sharedSecretPath(namespace), body: body(list, name) });
  return name;
}

type Verdict = "stored" | "unreadable" | "needs share";

function verdictOf({ code, message }: Answer): Verdict {
  expect([200, 201, 403]).toContain(code);
  if (code < 300) return "stored";
  return message.includes("the verb share on") ? "needs share" : "unreadable";
}

/**
 * The expected result for a list of the tenant with this result of the controller's parser, where
 * these names are new.
 */
function expected(list: SyncList, fresh: readonly string[]): Verdict {
  if (list.kind === "refused") return "unreadable";
  return fresh.length <= mostQuestions && fresh.every((name) => own.includes(name))
    ? "stored"
    : "needs share";
}

describe.skipIf(!inject("hasPolicies"))(
  "the policy parses a list of projects like the controller",
  () => {
    it("when it decides whether the list is valid", async () => {
      await fc.assert(
        fc.asyncProperty(fc.oneof(lists, longLists), async (list) => {
          expect(verdictOf(await create(platform, list))).toBe(
            syncList(list).kind === "refused" ? "unreadable" : "stored",
          );
        }),
        runs(300),
      );
    });

    it("when it checks the names of a new SharedSecret", async () => {
      await fc.assert(
        fc.asyncProperty(lists, async (list) => {
          const read = syncList(list);
          expect(verdictOf(await create(tenant, list))).toBe(expected(read, entriesOf(read)));
        }),
        runs(300),
      );
    });

    it("when it checks the names that an update adds", async () => {
      const stored = lists.filter((list) => syncList(list).kind === "entries");
      await fc.assert(
        fc.asyncProperty(stored, lists, async (before, after) => {
          const path = sharedSecretPath(namespace, await made(before));
          const change = { metadata: { annotations: { [annotations.syncToProjects]: after } } };
          const answer = await ask(tenant, {
            method: "PATCH",
            path: `${path}?dryRun=All`,
            type: patchTypes.merge,
            body: change,
          });
          const [was, read] = [entriesOf(syncList(before)), syncList(after)];
          expect(verdictOf(answer)).toBe(
            before === after
              ? "stored"
              : expected(
                  read,
                  entriesOf(read).filter((name) => !was.includes(name)),
                ),
          );
        }),
        runs(150),
      );
    });
  },
);
