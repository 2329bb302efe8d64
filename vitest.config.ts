import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";

/** Tests on a cluster mostly wait, so there are more workers than the two cores of a small machine. */
const maxWorkers = 8;

/** Files of a worker share its modules: their import takes longer than most tests. */
const isolate = false;

/** A property takes PROPERTY_RUNS times as long. */
const runs = Number(process.env.PROPERTY_RUNS || 1);

const onCluster = {
  ...{ testTimeout: 300_000 * runs, hookTimeout: 600_000, maxWorkers, maxConcurrency: 8, isolate },
};
const onProduct = { ...onCluster, globalSetup: ["test/product/product-setup.ts"] };

/** `make test`: every behaviour once. All projects run at the same time. */
const everyChange = [
  {
    name: "unit",
    include: [
      "test/{api,domain,tokens,kube,runtime,policies,authn,certificates,published,controllers,webhooks,gateway,cli,client,release,run,support,house,bench,soak,mutants,fuzz,search}/**/*.test.ts",
    ],
    testTimeout: 120_000 * runs,
    maxWorkers,
    isolate,
  },
  {
    name: "cluster",
    include: ["test/cluster/**/*.test.ts"],
    globalSetup: ["test/cluster/global-setup.ts"],
    ...onCluster,
  },
  // Through an API server without flags of Latchkey, and through one that authenticates keys.
  { name: "product", include: ["test/product/{controller,gateway}-*.test.ts"], ...onProduct },
  { name: "product-keys", include: ["test/product/{webhook,cli,client}-*.test.ts"], ...onProduct },
  { name: "dedicated", include: ["test/dedicated/**/*.test.ts"], ...onCluster },
];

/** Projects with another number of workers run after those with the usual one. */
const atLength = {
  testTimeout: 900_000,
  hookTimeout: 600_000,
  maxWorkers: 4,
  sequence: { groupOrder: 1 },
};

/** `make verify`: what needs real time, repetition or a second form. */
const everyRelease = [
  { name: "verify", include: ["test/verify/*.test.ts"], ...atLength },
  // How well an honest request fares depends on what else runs.
  {
    name: "verify-alone",
    include: ["test/verify/alone/*.test.ts"],
    ...atLength,
    maxWorkers: 1,
    sequence: { groupOrder: 2 },
  },
  // On each version of Kubernetes.
  { name: "verify-journeys", include: ["test/journeys/**/*.test.ts"], ...onCluster },
  { name: "verify-faults", include: ["test/faults/**/*.test.ts"], ...atLength },
  // The tests of the client, on the compiled program.
  // What users run: the client as a compiled program, kubectl and the clients of others.
  {
    name: "verify-program",
    include: ["test/program/*.test.ts", "test/product/cli-*.test.ts"],
    ...onProduct,
  },
];

interface Project {
  readonly name: string;
  readonly include: string[];
  readonly globalSetup?: string[];
}

/** All projects. */
export const projects: readonly Project[] = [...everyChange, ...everyRelease];

export default defineConfig({
  test: {
    projects: projects.map((test) => ({
      test: { ...test, expect: { poll: { timeout: 60_000 } } },
    })),
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/run/run-report.ts"],
  },
});
