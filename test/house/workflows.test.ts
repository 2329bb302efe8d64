import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { isRecord, listAt, numberAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { repository } from "../support/install.ts";

/** What the `run` of a step may name: targets of the Makefile, and paths that exist. */
interface Named {
  readonly targets: readonly string[];
  readonly exists: (path: string) => boolean;
}

const makefile = readFileSync(join(repository, "Makefile"), "utf8");
const named: Named = {
  targets: [...makefile.matchAll(/^([a-z][a-z-]*):/gm)].map(([, target = ""]) => target),
  exists: (path) => existsSync(join(repository, path)),
};

const files = (pattern: string): readonly (readonly [string, string])[] =>
  globSync(pattern, { cwd: repository })
    .toSorted()
    .map((path) => [path, readFileSync(join(repository, path), "utf8")]);
const workflows = files(".github/workflows/*");

test("there are workflows, and targets for them", () => {
  expect(workflows.length).toBeGreaterThan(0);
  expect(named.targets).toEqual(expect.arrayContaining(["test", "verify"]));
});

test.each(workflows)("%s keeps the rules of workflows", (_path, text) => {
  expect(problemsOf(text, named)).toEqual([]);
});

test.each(files(".github/ISSUE_TEMPLATE/*.yml"))("%s is YAML", (_path, text) => {
  expect(isRecord(load(text))).toBe(true);
});

const sound = `
on: push
permissions:
  contents: read
jobs:
  test:
    timeout-minutes: 10
    permissions:
      id-token: write
    steps:
      - uses: actions/checkout@0123456789abcdef0123456789abcdef01234567 # v1.2.3
      - run: |
          .ci/run
          NO_COLOR=1 make test verify VITEST_FLAGS=--bail && make check
`;

describe("the check of a workflow", () => {
  const few: Named = {
    targets: ["test", "verify", "check"],
    exists: (path) => path === ".ci/run",
  };

  test("finds no problem in one that keeps the rules", () => {
    expect(problemsOf(sound, few)).toEqual([]);
  });

  test.each([
    ["  contents: read", "  contents: write", "permissions are not contents: read alone"],
    ["  contents: read", "  contents: read\n  packages: write", "permissions are not"],
    ["permissions:\n  contents: read\n", "", "permissions are not contents: read alone"],
    ["permissions:\n  contents: read\n", "permissions: read-all\n", "permissions are not"],
    ["    timeout-minutes: 10\n", "", "job test has no timeout-minutes"],
    ["timeout-minutes: 10", 'timeout-minutes: "10"', "job test has no timeout-minutes"],
    ["0123456789abcdef0123456789abcdef01234567", "v1", "@v1 is not pinned by a digest"],
    ["0123456789abcdef0123456789abcdef01234567", "0123456", "@0123456 is not pinned"],
    [" # v1.2.3", "", "has no version as its comment"],
    [" # v1.2.3", " # main", "has no version as its comment"],
    ["make check", "make chek", "make chek is no target"],
    ["test verify", "test verfy", "make verfy is no target"],
    [".ci/run", "./.ci/other", "./.ci/other does not exist"],
    [".ci/run", "sh .ci/other", ".ci/other does not exist"],
    [".ci/run", 'echo "${{ github.event.pull_request.title }}"', "is in a run"],
    [".ci/run", "git checkout ${{github.head_ref}}", "is in a run"],
    ["      - run:", "      - run: {", "is not YAML"],
    [sound, "[]", "has no jobs"],
  ])("finds the problem where %j is %j", (part, breach, problem) => {
    expect(sound).toContain(part);
    expect(problemsOf(sound.replace(part, breach), few).join("\n")).toContain(problem);
  });
});

/** What is wrong with a workflow of GitHub Actions. */
function problemsOf(text: string, { targets, exists }: Named): readonly string[] {
  const workflow = parsed(text);
  if (workflow === undefined) return ["is not YAML"];
  const jobs = Object.entries(recordAt(workflow, "jobs"));
  const steps = jobs.flatMap(([, job]) => listAt(job, "steps"));
  const uses = [...jobs.map(([, job]) => job), ...steps].flatMap(
    (user) => stringAt(user, "uses") ?? [],
  );
  const runs = steps.flatMap((step) => stringAt(step, "run") ?? []);
  const permissions = Object.entries(recordAt(workflow, "permissions"));
  return [
    ...(jobs.length > 0 ? [] : ["has no jobs"]),
    ...(permissions.join() === "contents,read" ? [] : ["permissions are not contents: read alone"]),
    ...jobs.flatMap(([name, job]) =>
      numberAt(job, "timeout-minutes") === undefined ? [`job ${name} has no timeout-minutes`] : [],
    ),
    ...uses.flatMap((action) => problemsOfPin(action, text)),
    ...runs.flatMap((run) => [
      ...targetsOf(run).flatMap((name) =>
        targets.includes(name) ? [] : [`make ${name} is no target of the Makefile`],
      ),
      ...pathsOf(run).flatMap((path) => (exists(path) ? [] : [`${path} does not exist`])),
      // The runner puts the value into the script before a shell reads it: a title is then code.
      ...[...run.matchAll(/\$\{\{.*?\}\}/g)].map(
        ([expression]) => `${expression} is in a run: pass it through env`,
      ),
    ]),
  ];
}

function parsed(text: string): unknown {
  try {
    return load(text);
  } catch {
    return undefined;
  }
}

function problemsOfPin(action: string, text: string): readonly string[] {
  if (!/^[\w./-]+@[\da-f]{40}$/.test(action)) return [`${action} is not pinned by a digest`];
  const lines = text.split("\n").filter((line) => line.includes(action));
  return lines.length > 0 && lines.every((line) => / # v\d+\.\d+\.\d+$/.test(line))
    ? []
    : [`${action} has no version as its comment`];
}

/** The targets of each `make` in a script; options and variables of make are none. */
function targetsOf(run: string): readonly string[] {
  return [...run.matchAll(/(?<![\w./-])make((?: +[^\s&|;]+)*)/g)].flatMap(([, words = ""]) =>
    words.split(" ").filter((word) => /^[a-z][\w-]*$/.test(word)),
  );
}

/** The paths below the repository that a script names: words with a slash. */
function pathsOf(run: string): readonly string[] {
  const words = run.split(/[\s"'&|;()=]+/);
  return words.filter((word) => /^[\w.][\w.-]*\/[\w./-]*$/.test(word));
}
