import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { expectNoTrouble } from "./controller-oracle.ts";
import { eventually } from "../support/eventually.ts";
import { make, type OwnKind } from "../support/keys-and-tokens.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { becomesGone } from "../support/becomes.ts";
import { as, bind, makeNamespace, unique } from "../support/policy-request.ts";
import { runs } from "../support/property-runs.ts";
import { makeSharedSecret } from "../support/shared-secret-requests.ts";

/** The user with grants on the objects of these tests; kubectl authenticates with a token. */
const alice = { user: "alice" };

/** More kubectl processes at a time are slower than the settle time on two cores. */
const atOnce = 6;

/** Deletes of each kind in each mode of kubectl. */
const deletes = runs(8).numRuns;

const canLogIn = inject("controlPlane").tokens[alice.user] !== undefined;

/** An object that alice may delete. */
interface Granted {
  readonly plural: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly path: string;
}

const makers: Readonly<Record<string, (count: number) => Promise<readonly Granted[]>>> = {
  SharedSecret: async (count) => {
    const namespace = await makeNamespace();
    const spec = { access: [{ users: [alice.user], verbs: ["get", "list", "watch", "delete"] }] };
    return Promise.all(
      numbered(count, async () => ({
        plural: "sharedsecrets",
        ...(await makeSharedSecret({ namespace, name: unique("own"), spec })),
      })),
    );
  },
  OwnedAccessKey: (count) => makeOwn("OwnedAccessKey", "ownedaccesskeys", count),
  DirectClusterEndpointToken: (count) =>
    makeOwn("DirectClusterEndpointToken", "directclusterendpointtokens", count),
};

function makeOwn(kind: OwnKind, plural: string, count: number): Promise<readonly Granted[]> {
  return Promise.all(
    numbered(count, async () => ({ plural, ...(await make(kind, { by: alice })) })),
  );
}

function numbered<T>(count: number, of: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => of(index));
}

/** Deletes objects as alice with one kubectl each, this many at a time, and returns the errors. */
async function deleteAll(
  objects: readonly (readonly Granted[])[],
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const waiting = [...objects];
  const problems: string[] = [];
  const work = async () => {
    for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
      const [first] = some;
      const namespace = first?.namespace;
      // A kubectl that hangs never returns: the time is a limit, not an expectation.
      const args = [
        "delete",
        first?.plural ?? "",
        ...some.map(({ name }) => name),
        "--timeout=60s",
        ...(namespace === undefined ? [] : ["-n", namespace]),
      ];
      const { code, stderr } = await tryKubectl(inject("controlPlane"), args, {
        user: alice.user,
        env,
      });
      // A kubectl that is not allowed to wait also exits with 0.
      if (code !== 0) problems.push(stderr.trim());
      await Promise.all(some.map(({ path }) => becomesGone(path)));
    }
  };
  await Promise.all(numbered(atOnce, work));
  return problems;
}

async function becomeReadable(objects: readonly Granted[]): Promise<void> {
  await Promise.all(
    objects.map(({ path }) =>
      eventually(async () => (await as(alice).get(path)).code === 200, {
        what: `alice to read ${path}`,
      }),
    ),
  );
}

beforeAll(() => bind({ kind: "User", name: alice.user }, "latchkey-requester"));

afterAll(expectNoTrouble);

/** kubectl waits in vain if it is slower than the settle time, as on a loaded machine. */
const patience = { retry: 2 };

describe.skipIf(!inject("hasPolicies") || !canLogIn)(
  "kubectl delete by a user with Latchkey's grant returns",
  () => {
    const modes = ["true", "false"].flatMap((watchList) =>
      Object.keys(makers).map((kind) => ({ kind, watchList })),
    );
    it.each(modes)(
      `${deletes} times for one $kind, with KUBE_FEATURE_WatchListClient=$watchList`,
      patience,
      async ({ kind, watchList }) => {
        const objects = (await makers[kind]?.(deletes)) ?? [];
        await becomeReadable(objects);
        expect(
          await deleteAll(
            objects.map((object) => [object]),
            { KUBE_FEATURE_WatchListClient: watchList },
          ),
        ).toEqual([]);
      },
    );

    it.each(Object.keys(makers))("for several of %s at once", patience, async (kind) => {
      const objects = (await makers[kind]?.(20)) ?? [];
      await becomeReadable(objects);
      const groups = numbered(4, (index) => objects.slice(5 * index, 5 * index + 5));
      expect(await deleteAll(groups, {})).toEqual([]);
    });
  },
);
