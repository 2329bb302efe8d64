import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  Reporter,
  SerializedError,
  TestCase,
  TestModule,
  TestSpecification,
} from "vitest/node";
import { repository } from "../support/install.ts";
import { endSetup } from "../support/setups.ts";
import { reportLines, type Skipped } from "./report-lines.ts";

/** The file in which a run writes its report, and fails if a test is skipped unexpectedly. */
const reportFile = process.env["LATCHKEY_REPORT"];
const isGivenCluster =
  process.env["USE_EXISTING_CLUSTER"] === "true" || process.env["KUBEBUILDER_ASSETS"] !== undefined;
const expectedFile = join(repository, "test/support/expected-skips.txt");

/**
 * Stops the processes of each project after its last test. Prints why tests were skipped. Where
 * LATCHKEY_REPORT names a file, writes what failed, what was skipped and the counts to it, and fails
 * a run that skips a test that expected-skips.txt lacks.
 */
export default class RunReport implements Reporter {
  #hasFilter = false;
  /** How many files of each project are not over. */
  readonly #left = new Map<string, number>();

  onInit({ config }: Parameters<NonNullable<Reporter["onInit"]>>[0]): void {
    this.#hasFilter = config.testNamePattern !== undefined;
  }

  onTestRunStart(files: readonly TestSpecification[]): void {
    for (const { project } of files) this.#count(project.name, 1);
  }

  async onTestModuleEnd({ project }: TestModule): Promise<void> {
    if (this.#count(project.name, -1) === 0) await endSetup(project.name);
  }

  #count(project: string, change: number): number {
    const left = (this.#left.get(project) ?? 0) + change;
    this.#left.set(project, left);
    return left;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    // A filter of names skips all other tests.
    if (this.#hasFilter) return;
    const { lines, unexpected, counts } = reportLines({
      skipped: modules.flatMap((module) => [...module.children.allTests("skipped")].map(skippedOf)),
      failed: [...modules.flatMap(failuresOf), ...errors.map(({ message }) => message)],
      passed: modules.flatMap((module) => [...module.children.allTests("passed")]).length,
      expected: readFileSync(expectedFile, "utf8"),
    });
    if (reportFile === undefined) {
      const skipped = lines.filter((line) => line.startsWith("skipped"));
      return void process.stderr.write(skipped.map((line) => `${line}\n`).join(""));
    }
    writeFileSync(reportFile, `${[...lines, ...unexpected, counts].join("\n")}\n`);
    if (unexpected.length > 0) process.exitCode = 1;
  }
}

/** A test that was skipped; the reason is its own, that of a suite around it, or unknown. */
function skippedOf(test: TestCase): Skipped {
  const result = test.result();
  const note = result.state === "skipped" ? result.note : undefined;
  let reason = note ?? test.meta().skipped;
  for (let at: TestCase["parent"] = test.parent; reason === undefined; at = at.parent) {
    reason = at.meta().skipped;
    if (at.type === "module") break;
  }
  return {
    file: test.module.relativeModuleId,
    name: test.fullName,
    reason: reason ?? (isGivenCluster ? "the tests use an existing cluster" : "no reason is given"),
  };
}

function failuresOf(module: TestModule): readonly string[] {
  const first = (message: string) => message.split("\n").slice(0, 8).join("\n    ");
  const failed = [...module.children.allTests("failed")].map((test) => {
    const [error] = test.result().errors ?? [];
    return `${module.relativeModuleId} > ${test.fullName}\n    ${first(error?.message ?? "")}`;
  });
  const around = module
    .errors()
    .map(({ message }) => `${module.relativeModuleId}\n    ${first(message)}`);
  return [...failed, ...around];
}
