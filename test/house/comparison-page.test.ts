import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(repository, "docs", "comparison.md"), "utf8");

/** The first cells of the rows of the table, without its head. */
const behaviours = page
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .slice(2)
  .map((line) => line.split("|")[1]?.trim());

/** The tests of what the page says about Latchkey, by the file in `test` and the begin of the title. */
const proofs: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  "edited copy": [["product/controller-sync-repair.test.ts", "a value is changed"]],
  "deleted copy": [["product/controller-sync-repair.test.ts", "it is deleted"]],
  "unmanaged Secret of the name": [
    [
      "product/controller-sync-unmanaged.test.ts",
      "is reported and not changed, does not block other targets, and its deletion resolves the conflict",
    ],
  ],
  "two sources for one Secret": [
    [
      "product/controller-sync-unmanaged.test.ts",
      "are both reported: the older one owns the target, and the newer one takes over when the older one is deleted",
    ],
  ],
  "who must agree": [
    ["cluster/policy-share.test.ts", "cannot name another project"],
    ["product/controller-sync.test.ts", "the namespace no longer accepts copies"],
  ],
  "why a copy is missing": [
    ["product/controller-events.test.ts", "has an Event on the unmanaged Secret"],
    ["product/controller-status.test.ts", "lists ten failures and counts all"],
  ],
  "source deleted": [
    [
      "product/controller-sync-trouble.test.ts",
      "removes its copies, also those that lost the label, are paused or are immutable",
    ],
  ],
  "namespace no longer selected": [
    ["product/controller-sync.test.ts", "the namespace leaves its project"],
  ],
  "changes during an outage": [
    ["verify/restart.test.ts", "reaches the same end state when it is killed"],
  ],
  "immutable copy": [
    [
      "product/controller-sync-repair.test.ts",
      "its source changes and it is immutable: it is recreated",
    ],
  ],
  "changed type": [
    [
      "product/controller-sync.test.ts",
      "the copy is Opaque, and is recreated if the option sets another type",
    ],
  ],
  "labels of the source": [
    ["product/controller-sync-repair.test.ts", "are not copied from the source"],
  ],
  "labels added to a copy": [
    [
      "product/controller-sync-repair.test.ts",
      "are kept by a repair and by a change of the source",
    ],
  ],
  "source tracked by Argo CD": [
    ["product/controller-copy-options.test.ts", "are not on its copies, and cause no write"],
  ],
  "health in Argo CD": [
    [
      "product/controller-argocd-health.test.ts",
      "a SharedSecret is Healthy only from the moment that all copies exist",
    ],
  ],
};

const tests = Object.values(proofs)
  .flat()
  .map(([file, title]) => ({ file, title }));

describe("docs/comparison.md", () => {
  test("has a test for each behaviour, and no other behaviour", () => {
    expect(behaviours.length).toBeGreaterThan(10);
    expect(Object.keys(proofs)).toEqual(behaviours);
  });

  test.each(tests)("the test exists: $title", ({ file, title }) => {
    const path = join(repository, "test", file);
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    expect([`"${title}`, `\`${title}`].filter((start) => text.includes(start))).toHaveLength(1);
  });

  test("has an address for each link", () => {
    const links = [...page.matchAll(/\]\[([a-z-]+)\]/g)].map(([, name = ""]) => name);
    const addresses = [...page.matchAll(/^\[([a-z-]+)\]:\s+https:\/\//gm)].map(
      ([, name = ""]) => name,
    );
    expect([...new Set(links)].toSorted()).toEqual(addresses.toSorted());
  });
});
