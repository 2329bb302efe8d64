import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import {
  deletesEmptied,
  keepsBindings,
  keepsCopies,
  keepsData,
  losesKeys,
  staysWrong,
} from "./broken-controllers.ts";
import type { Worker } from "./worker.ts";
import { type InProcessPlayOptions, openWorkers } from "./in-process-play.ts";
import { judgeWalk, type WalkModel } from "./walk.ts";
import { objectModel } from "./walk-object.ts";
import type { ObjectAction } from "./walk-object-steps.ts";
import { secretModel } from "./walk-secret.ts";
import { askingSecret, type SecretAction, secretNames, sourceNames } from "./walk-secret-steps.ts";
import { takeWalks, type Walked } from "./walks.ts";
import { startProxiedCluster, type ProxiedCluster } from "../support/proxied-cluster.ts";
import { annotations } from "../../src/api/names.ts";

// Always the same walks, so that a change is tested on its own. SEED= selects others, and make
// walks takes many.
const seed = Number(process.env.SEED || 1);
const sample = { walks: 12, workers: 6, shrinks: 10 };

let cluster: ProxiedCluster;
let workers: readonly Worker[];

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startProxiedCluster(
    (line) => void process.stderr.write(`control plane: ${line}\n`),
  );
  workers = await openWorkers(cluster, "walk", sample.workers);
});

afterAll(() => cluster?.stop());

describe.skipIf(!hasDedicatedClusters)("an object after random edits", () => {
  it(`has the same end state as an object that was created in its last state, and becomes ready after a valid spec (${sample.walks} walks, SEED=${seed})`, async () => {
    const walked: Walked[] = [];
    await takeWalks(workers, {
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

type Assemble = NonNullable<InProcessPlayOptions["assemble"]>;

/** The problems that a walk finds with a controller, on a worker of its own. */
async function problemsWith<Action>(
  model: WalkModel<Action>,
  { at, assemble, actions }: { at: number; assemble: Assemble; actions: readonly Action[] },
): Promise<string> {
  const worker = workers[at];
  if (worker === undefined) throw new Error("there is no worker to walk in");
  const walk = { name: "db", steps: actions.map((action) => ({ action, settled: true })) };
  return (await judgeWalk({ worker, seed, assemble }, model, walk)).problems.join("\n");
}

const readers = { verbs: ["get"], teams: ["devs"] };
const put = (spec: unknown, projects = "web"): ObjectAction => ({
  do: "put",
  object: { spec, annotations: { [annotations.syncToProjects]: projects }, labels: {} },
  by: "the-alice",
  keepsFinalizers: true,
});
const merge = (body: unknown): ObjectAction => ({ do: "merge", body });

interface Broken {
  readonly at: number;
  readonly what: string;
  readonly assemble: Assemble;
  readonly seen: RegExp;
}

const brokenOnes: readonly (Broken & { readonly actions: readonly ObjectAction[] })[] = [
  {
    at: 0,
    what: "never removes a RoleBinding",
    assemble: keepsBindings,
    actions: [put({ access: [readers] }), merge({ spec: { access: null } })],
    seen: /^end state: unexpected: RoleBindingList/m,
  },
  {
    at: 1,
    what: "never removes a copy",
    assemble: keepsCopies,
    actions: [put({}), merge({ metadata: { annotations: null } })],
    seen: /^end state: unexpected: SecretList/m,
  },
  {
    at: 2,
    what: "never clears the error of an object",
    assemble: staysWrong,
    actions: [put({ access: [{ ...readers, verbs: ["create"] }] })],
    seen: /^right again: /m,
  },
];

describe.skipIf(!hasDedicatedClusters)("a walk", () => {
  it.concurrent.each(brokenOnes)("detects a controller that $what", async ({ seen, ...broken }) => {
    expect(await problemsWith(await objectModel("SharedSecret"), broken)).toMatch(seen);
  });
});

const shared = (projects: string): SecretAction => ({
  do: "shared put",
  at: sourceNames[0],
  data: { password: "cmlnaHQ=" },
  annotations: { [annotations.syncToProjects]: projects },
});
const asking: SecretAction = { do: "secret put", at: secretNames[0], secret: askingSecret };
const withdrawn = [shared("*"), asking, shared("nobody")];

const brokenAtPlaceholders: readonly Broken[] = [
  {
    at: 3,
    what: "leaves data where consent has ended",
    assemble: keepsData,
    seen: /^step 3: the-web\/asking has data of the-home\/db without consent$/m,
  },
  {
    at: 4,
    what: "deletes what it has to empty",
    assemble: deletesEmptied,
    seen: /^step 3: the-web\/asking is absent$/m,
  },
  {
    at: 5,
    what: "loses an annotation of users",
    assemble: losesKeys,
    seen: /^step 2: the-web\/asking has lost .*sync-keys$/m,
  },
];

describe.skipIf(!hasDedicatedClusters)("a walk with placeholders", () => {
  it.concurrent.each(brokenAtPlaceholders)(
    "detects a controller that $what",
    async ({ seen, ...broken }) => {
      expect(await problemsWith(secretModel, { ...broken, actions: withdrawn })).toMatch(seen);
    },
  );
});
