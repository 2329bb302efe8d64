import { readdirSync } from "node:fs";
import { join } from "node:path";
import { minors } from "../support/control-plane-module.ts";
import { repository } from "../support/install.ts";
import { ImportClosure } from "../run/import-closure.ts";
import type { Placed } from "../support/verify-report.ts";

/** One part of `make verify`: a command of this repository. */
export interface Part extends Placed {
  readonly name: string;
  readonly what: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The command that makes what the tests of a part need; undefined if it runs no tests. */
export function preparationOf({ command }: Part): readonly string[] | undefined {
  return command.includes("test") ? [...command, "--prepare-only"] : undefined;
}

const script = (name: string, ...args: readonly string[]): readonly string[] => [
  ...["npm", "run", "--silent", name, "--", ...args],
];
const vitest = (...projects: readonly string[]): readonly string[] =>
  script("test", ...projects.map((project) => `--project=${project}`));

/** The parts in the order in which they run. */
export function parts(seed: string): readonly Part[] {
  return [
    {
      name: "crash",
      what: "crashes, outages and real time",
      command: vitest("verify", "verify-alone", "verify-journeys"),
    },
    {
      name: "properties",
      what: "the property tests with all rows, and 12 times as many runs",
      command: [
        ...vitest("unit", "cluster", "product", "product-keys", "dedicated", "verify-journeys"),
        ...filesWithProperties(),
      ],
      env: { PROPERTY_RUNS: "4" },
    },
    {
      name: "program",
      what: "what users run: the client as a program, kubectl",
      command: vitest("verify-program"),
    },
    ...minors.slice(1).map((minor) => ({
      name: `earlier-version-${minor}`,
      what: `Kubernetes ${minor}`,
      command: vitest("cluster", "product", "product-keys", "dedicated", "verify-journeys"),
      env: { KUBERNETES_MINOR: minor },
    })),
    {
      name: "search",
      what: "600,000 states of small worlds",
      command: script("search"),
      env: { STATES: "600000" },
      onOneCore: true,
    },
    {
      // At this size it shows that the benchmark runs; its figures say nothing.
      name: "bench",
      what: "the smallest benchmark",
      command: script("bench"),
      env: { SIZE: "tiny" },
      onOneCore: true,
    },
    {
      name: "faults",
      what: "a sample of the fault matrix",
      command: vitest("verify-faults"),
      onOneCore: true,
    },
    {
      name: "walks",
      what: "60 walks",
      command: script("walks"),
      env: { WALKS: "60", SEED: seed },
      onOneCore: true,
    },
    {
      name: "soak",
      what: "five minutes of changes and broken watches",
      command: script("soak"),
      env: { MINUTES: "5", SEED: seed },
      onOneCore: true,
    },
    {
      name: "fuzz",
      what: "three minutes of random input",
      command: script("fuzz"),
      env: { MINUTES: "3", SEED: seed },
      onOneCore: true,
    },
  ];
}

/** The test files with rows or runs that PROPERTY_RUNS adds, their own or of a file that they load. */
function filesWithProperties(): readonly string[] {
  const closure = new ImportClosure();
  const added = join(repository, "test/support/property-runs.ts");
  return readdirSync(join(repository, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", name))
    .filter((path) => closure.of([join(repository, path)]).has(added));
}
