import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasLoneClusters } from "../support/lone-cluster.ts";
import { keepsBindings, keepsCopies, staysWrong } from "./broken-controllers.ts";
import { Lane } from "./lane.ts";
import { type PlayOptions, warmUp } from "./play.ts";
import { Judge } from "./walk-judge.ts";
import type { Deed, Walk, WalkStep } from "./walk-steps.ts";
import { takeWalks, type Walked } from "./walks.ts";
import { startWorld, type World } from "../support/proxied-cluster.ts";
import { annotations } from "../../src/api/names.ts";

// The same walks every time: a change is judged by itself. SEED= draws others, and make walks takes
// many.
const seed = Number(process.env.SEED ?? 1);
const sample = { walks: 9, lanes: 6, shrinks: 10 };

let world: World;
let lanes: readonly Lane[];

beforeAll(async () => {
  if (!hasLoneClusters) return;
  world = await startWorld((line) => void process.stderr.write(`control plane: ${line}\n`));
  lanes = await Promise.all(
    Array.from({ length: sample.lanes }, (_, index) => Lane.open(world, `walk${index}`)),
  );
  await Promise.all(lanes.map(warmUp));
});

afterAll(() => world?.stop());

describe.skipIf(!hasLoneClusters)("an object that is edited again and again", () => {
  it(`ends as if its last state had been the first, and right after a right one (${sample.walks} walks, SEED=${seed})`, async () => {
    const walked: Walked[] = [];
    await takeWalks(lanes, {
      seed,
      walks: sample.walks,
      shrinks: sample.shrinks,
      onWalked: (one) => walked.push(one),
    });
    const failed = walked.filter(({ problems }) => problems.length > 0);
    expect(Object.fromEntries(failed.map((one) => [`SEED=${one.seed}`, one.problems]))).toEqual({});
    expect(walked).toHaveLength(sample.walks);
  });
});

const readers = { verbs: ["get"], teams: ["devs"] };
const put = (spec: unknown, projects = "web"): Deed => ({
  do: "put",
  object: { spec, annotations: { [annotations.syncToProjects]: projects }, labels: {} },
  by: "the-alice",
  keepsFinalizers: true,
});
const merge = (body: unknown): Deed => ({ do: "merge", body });
const walkOf = (...deeds: readonly Deed[]): Walk => ({
  kind: "SharedSecret",
  name: "db",
  steps: deeds.map((deed): WalkStep => ({ deed, settled: true })),
});

interface Broken {
  readonly what: string;
  readonly assemble: NonNullable<PlayOptions["assemble"]>;
  readonly walk: Walk;
  readonly seen: RegExp;
}

const brokenOnes: readonly Broken[] = [
  {
    what: "never removes a RoleBinding",
    assemble: keepsBindings,
    walk: walkOf(put({ access: [readers] }), merge({ spec: { access: null } })),
    seen: /^end state: unexpected: RoleBindingList/m,
  },
  {
    what: "never removes a copy",
    assemble: keepsCopies,
    walk: walkOf(put({}), merge({ metadata: { annotations: null } })),
    seen: /^end state: unexpected: SecretList/m,
  },
  {
    what: "never takes back that an object is wrong",
    assemble: staysWrong,
    walk: walkOf(put({ access: [{ ...readers, verbs: ["create"] }] })),
    seen: /^right again: /m,
  },
];

describe.skipIf(!hasLoneClusters)("a walk", () => {
  it.concurrent.each(brokenOnes)(
    "shows a controller that $what",
    async ({ what, assemble, walk, seen }) => {
      const lane = lanes[brokenOnes.findIndex((one) => one.what === what)];
      if (lane === undefined) throw new Error("there is no lane to walk in");
      expect((await new Judge().judge({ lane, seed, assemble }, walk)).problems.join("\n")).toMatch(
        seen,
      );
    },
  );
});
