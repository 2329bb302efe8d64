import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { clusterList, syncList, type SyncList } from "../../src/domain/sync/option-items.ts";
import { bind, makeNamespace, type Answer, type Caller } from "../support/policy-request.ts";
import { runs } from "../support/property-runs.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import {
  dryCreate,
  grantSharing,
  grantUser,
  made,
  manifest,
  merge,
  sharingAdmins,
  withPolicies,
} from "./policy-fixture.ts";

const admins = sharingAdmins();
const { tenant, platform } = admins;
/** The projects that `tenant` may share with. */
const own = ["a", "b", "a.b", "-", "_"];
const mostQuestions = 16;
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  await grantSharing(admins, namespace, own);
  await grantUser(tenant, `share management.service clusters ${own.join()}`);
  await bind({ kind: "User", name: platform.user }, "latchkey-cluster-sharer");
});

const letters = fc.constantFrom("a", "b", ".", "-", "_", "c");
const names = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...own) },
  { weight: 1, arbitrary: fc.string({ unit: letters, minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom("*", "a*", "c") },
);
const separators = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(",", ", ", " ,\t", ",,", "\n", "\r\n", ",\n ") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      " ",
      "\t",
      "\u0085",
      "\u00a0",
      "\u2003",
      ";",
      "\ufeff",
      "%2C",
      "\uff0c",
    ),
  },
);
/** Realistic lists, and lists with unusual syntax. */
const lists = fc
  .array(fc.tuple(names, separators), { maxLength: 20 })
  .map((parts) => parts.flat().join(""));
const longLists = fc
  .tuple(fc.constantFrom("p,", "p", ",", " ", "\n", "a ,"), fc.integer({ min: 60, max: 4_200 }))
  .map(([part, times]) => part.repeat(times));

const entriesOf = (list: SyncList): readonly string[] =>
  list.kind === "entries" ? list.entries : [];
const listed = (list: string) => ({ annotations: { [annotations.syncToProjects]: list } });
const shared = (list: string) => manifest("SharedSecret", listed(list));
const create = (caller: Caller, list: string) =>
  dryCreate(caller, sharedSecretPath(namespace), shared(list));

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

withPolicies("the policy parses a list of projects like the controller", () => {
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
        const path = await made(sharedSecretPath(namespace), shared(before));
        const answer = await merge(tenant, `${path}?dryRun=All`, { metadata: listed(after) });
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
});

const toClusters = (list: string) => ({ annotations: { [annotations.syncToClusters]: list } });
const nearlyAll = fc.oneof(lists, longLists, fc.constantFrom("*", " *, ", "*,a", "**", "a*,b"));

withPolicies("the policy parses a list of connected clusters like the controller", () => {
  it("when it decides whether the list is valid", async () => {
    await fc.assert(
      fc.asyncProperty(nearlyAll, async (list) => {
        const object = manifest("SharedSecret", toClusters(list));
        const answer = await dryCreate(platform, sharedSecretPath(namespace), object);
        expect(verdictOf(answer)).toBe(
          clusterList(list).kind === "refused" ? "unreadable" : "stored",
        );
      }),
      runs(300),
    );
  });

  it("when it checks the names that an update adds", async () => {
    const stored = nearlyAll.filter((list) => clusterList(list).kind === "entries");
    await fc.assert(
      fc.asyncProperty(stored, nearlyAll, async (before, after) => {
        const object = manifest("SharedSecret", toClusters(before));
        const path = await made(sharedSecretPath(namespace), object);
        const answer = await merge(tenant, `${path}?dryRun=All`, { metadata: toClusters(after) });
        const [was, read] = [entriesOf(clusterList(before)), clusterList(after)];
        const fresh = entriesOf(read).filter((name) => !was.includes(name));
        expect(verdictOf(answer)).toBe(before === after ? "stored" : expected(read, fresh));
      }),
      runs(150),
    );
  });
});
