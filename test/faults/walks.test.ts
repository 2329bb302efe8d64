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
import { Worker } from "./worker.ts";
import { type InProcessPlayOptions, warmUp } from "./in-process-play.ts";
import { Judge } from "./walk-judge.ts";
import { judgeSecretWalk } from "./walk-secret-play.ts";
import { type SecretAction, secretNames, sourceNames } from "./walk-secret-steps.ts";
import type { WalkAction, Walk, WalkStep } from "./walk-steps.ts";
import { takeWalks, type Walked } from "./walks.ts";
import { startProxiedCluster, type ProxiedCluster } from "../support/proxied-cluster.ts";
import { annotations, labels } from "../../src/api/names.ts";

// Always the same walks, so that a change is tested on its own. SEED= selects others, and make
// walks takes many.
const seed = Number(process.env.SEED ?? 1);
const sample = { walks: 12, workers: 6, shrinks: 10 };

let cluster: ProxiedCluster;
let workers: readonly Worker[];

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startProxiedCluster(
    (line) => void process.stderr.write(`control plane: ${line}\n`),
  );
  workers = await Promise.all(
    Array.from({ length: sample.workers }, (_, index) => Worker.open(cluster, `walk${index}`)),
  );
  await Promise.all(workers.map(warmUp));
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

const readers = { verbs: ["get"], teams: ["devs"] };
const put = (spec: unknown, projects = "web"): WalkAction => ({
  do: "put",
  object: { spec, annotations: { [annotations.syncToProjects]: projects }, labels: {} },
  by: "the-alice",
  keepsFinalizers: true,
});
const merge = (body: unknown): WalkAction => ({ do: "merge", body });
const walkOf = (...actions: readonly WalkAction[]): Walk => ({
  kind: "SharedSecret",
  name: "db",
  steps: actions.map((action): WalkStep => ({ action, settled: true })),
});

interface Broken {
  readonly what: string;
  readonly assemble: NonNullable<InProcessPlayOptions["assemble"]>;
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
    what: "never clears the error of an object",
    assemble: staysWrong,
    walk: walkOf(put({ access: [{ ...readers, verbs: ["create"] }] })),
    seen: /^right again: /m,
  },
];

describe.skipIf(!hasDedicatedClusters)("a walk", () => {
  it.concurrent.each(brokenOnes)(
    "detects a controller that $what",
    async ({ what, assemble, walk, seen }) => {
      const worker = workers[brokenOnes.findIndex((one) => one.what === what)];
      if (worker === undefined) throw new Error("there is no worker to walk in");
      expect(
        (await new Judge().judge({ worker, seed, assemble }, walk)).problems.join("\n"),
      ).toMatch(seen);
    },
  );
});

const shared = (projects: string): SecretAction => ({
  do: "shared put",
  at: sourceNames[0],
  data: { password: "cmlnaHQ=" },
  annotations: { [annotations.syncToProjects]: projects },
});
const asking: SecretAction = {
  do: "secret put",
  at: secretNames[0],
  secret: {
    type: "Opaque",
    data: {},
    metadata: {
      labels: { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "the-home" },
      annotations: { [annotations.syncKeys]: "PASS=password" },
    },
  },
};
const withdrawn = [shared("*"), asking, shared("nobody")].map((action) => ({
  action,
  settled: true,
}));

const brokenAtPlaceholders: readonly Pick<Broken, "what" | "assemble" | "seen">[] = [
  {
    what: "leaves data where consent has ended",
    assemble: keepsData,
    seen: /^step 3: the-web\/asking has data of the-home\/db still$/m,
  },
  {
    what: "deletes what it has to empty",
    assemble: deletesEmptied,
    seen: /^step 3: the-web\/asking is absent, not /m,
  },
  {
    what: "loses an annotation of users",
    assemble: losesKeys,
    seen: /^step 2: the-web\/asking is .* not .*sync-keys/m,
  },
];

describe.skipIf(!hasDedicatedClusters)("a walk with placeholders", () => {
  it.concurrent.each(brokenAtPlaceholders)(
    "detects a controller that $what",
    async ({ what, assemble, seen }) => {
      const worker = workers[3 + brokenAtPlaceholders.findIndex((one) => one.what === what)];
      if (worker === undefined) throw new Error("there is no worker to walk in");
      const { problems } = await judgeSecretWalk({ worker, seed, assemble }, withdrawn);
      expect(problems.join("\n")).toMatch(seen);
    },
  );
});
