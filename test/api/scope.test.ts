import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseScope, parseScopeLimit, scopeBounds, writeScope } from "../../src/api/scope.ts";
import { anyScope } from "../domain/scope/arbitraries.ts";

test("a scope that was written is read as the same", () => {
  fc.assert(
    fc.property(anyScope, (raw) => {
      const scope = parseScope(raw);
      expect(scope && parseScope(JSON.parse(JSON.stringify(writeScope(scope))))).toEqual(scope);
      expect(scope).toBeDefined();
    }),
  );
});

test("a scope is written without what is empty", () => {
  const raw = {
    projects: [{ project: "web" }],
    rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["pods"] }] }],
    allowServiceCli: true,
  };
  const scope = parseScope(raw);
  expect(scope && writeScope(scope)).toEqual({
    projects: [{ project: "web" }],
    roles: [{ role: "serviceCLI" }],
    rules: [{ verbs: ["get"], resources: [{ resources: ["pods"] }] }],
  });
});

describe("a scope is bounded in sum:", () => {
  const names = (count: number, text = "n"): readonly string[] =>
    Array.from({ length: count }, () => text);
  const projects = (count: number, project = "n") => ({
    projects: names(count, project).map((name) => ({ project: name })),
  });
  const { rules, entries, characters } = scopeBounds;

  test.each<[string, unknown, unknown]>([
    ["rules", { rules: names(rules).map(() => ({})) }, { rules: names(rules + 1).map(() => ({})) }],
    ["projects", projects(entries), projects(entries + 1)],
    [
      "entries of several lists",
      { ...projects(entries / 2), rules: [{ verbs: names(entries / 2 - 1) }] },
      { ...projects(entries / 2), rules: [{ verbs: names(entries / 2) }] },
    ],
    [
      "entries inside of rules",
      { rules: [{ resources: [{ group: "", resources: names(entries - 2) }] }] },
      { rules: [{ resources: [{ group: "", resources: names(entries - 1) }] }] },
    ],
    [
      "entries inside of roles",
      { roles: [{ role: "r", projects: names(entries - 1) }] },
      { roles: [{ role: "r", projects: names(entries - 1), virtualClusters: ["v"] }] },
    ],
    [
      "characters of one text",
      projects(1, "x".repeat(characters)),
      projects(1, "x".repeat(characters + 1)),
    ],
    [
      "characters of several texts",
      { ...projects(1, "x".repeat(characters - 1)), clusters: [{ cluster: "c" }] },
      { ...projects(1, "x".repeat(characters - 1)), clusters: [{ cluster: "cc" }] },
    ],
    [
      "characters beyond the basic plane, which count once",
      projects(1, "\u{1f600}".repeat(characters)),
      projects(1, "\u{1f600}".repeat(characters + 1)),
    ],
  ])("%s", (_what, within, beyond) => {
    expect(parseScope(within)).toBeDefined();
    expect(parseScopeLimit(beyond)).toBe("unreadable");
  });

  test("what is far beyond is given up at once, whatever is in it", () => {
    // A reader that went on would meet the entry that no scope can hold.
    const endless = new Proxy(names(500_000), {
      get: (list, name) =>
        name === "map"
          ? () => {
              throw new Error("was read");
            }
          : Reflect.get(list, name),
    });
    for (const field of ["roles", "projects", "spaces", "virtualClusters", "clusters", "rules"])
      expect(parseScope({ [field]: endless })).toBeUndefined();
    for (const field of [
      "verbs",
      "resources",
      "resourceNames",
      "namespaces",
      "nonResourceURLs",
      "requestTargets",
      "virtualClusters",
    ])
      expect(parseScope({ rules: [{ [field]: endless }] })).toBeUndefined();
  });
});
