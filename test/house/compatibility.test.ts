import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesOf } from "../../release/chart/chart.ts";
import { oldestMinor } from "../../src/domain/kubernetes-version.ts";
import { controlPlaneModule, minors } from "../support/control-plane-module.ts";
import { repository } from "../support/install.ts";

const page = readFileSync(join(repository, "docs", "compatibility.md"), "utf8");
const rows = [...page.matchAll(/^\| (1\.\d+) +\| (1\.\d+\.\d+) +\|/gm)].map(
  ([, minor = "", patch = ""]) => ({ minor, patch }),
);

/** The patch release of Kubernetes that the tests of a minor version run on. */
function testedPatch(minor: string): string | undefined {
  const { directory } = controlPlaneModule({ KUBERNETES_MINOR: minor });
  const text = readFileSync(join(directory, "go.mod"), "utf8");
  return /^\tk8s\.io\/kubernetes v(\S+)/m.exec(text)?.[1];
}

test("docs/compatibility.md has a row for each tested version of Kubernetes, the newest first", () => {
  expect(rows).toEqual(minors.map((minor) => ({ minor, patch: testedPatch(minor) })));
});

test("kubectl latchkey check and the charts require the oldest version of docs/compatibility.md", () => {
  expect(`1.${oldestMinor}`).toBe(rows.at(-1)?.minor);
  const chart = { name: "any", description: "", parts: [], templates: {}, values: [] };
  const rules = { requirements: [], substitutions: {}, conditionOf: () => undefined };
  const [file] = filesOf({ ...chart, ...rules, keptIf: () => undefined }, "0.0.0");
  expect(file?.text).toContain(`\nkubeVersion: '>=${rows.at(-1)?.minor}.0-0'\n`);
});

test("pages and manifests name no other version of Kubernetes", () => {
  // Decisions and measurements keep the version of their time.
  const former = /^docs\/(?:decisions\/|performance\.md)/;
  const paths = ["*.md", "config", "crds", "release", "src"];
  const named = execFileSync("git", ["ls-files", "-z", ...paths], {
    cwd: repository,
    encoding: "utf8",
  })
    .split("\0")
    .filter((path) => path !== "" && !former.test(path) && existsSync(join(repository, path)))
    .flatMap((path) =>
      [...readFileSync(join(repository, path), "utf8").matchAll(/\bKubernetes v?(1\.\d+)/g)].map(
        ([, minor = ""]) => ({ path, minor }),
      ),
    );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ minor }) => !minors.includes(minor))).toEqual([]);
});
