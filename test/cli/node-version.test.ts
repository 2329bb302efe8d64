import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { nodeVersionProblem, oldestNode } from "../../src/cli/node-version.ts";

test.each(["24.0.0", "24.21.0", "25.1.0", "26.0.0-nightly"])("%s runs Latchkey", (version) => {
  expect(nodeVersionProblem(version)).toBeUndefined();
});

test.each(["20.20.2", "22.18.0", "9.0.0"])("%s is too old", (version) => {
  expect(nodeVersionProblem(version)).toBe(
    `Node.js ${version} is too old; run Latchkey with Node.js 24 or later`,
  );
});

test("the oldest version is the one that the image and the bundle are made for", () => {
  const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  expect(text("Dockerfile")).toContain(`gcr.io/distroless/nodejs${oldestNode}-`);
  expect(text("package.json")).toContain(`--target=node${oldestNode} `);
});
