import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseScope, parseScopeLimit, scopeBounds, writeScope } from "../../src/api/scope.ts";
import { anyScope } from "../domain/scope/arbitraries.ts";

test("parseScope is the inverse of writeScope", () => {
  fc.assert(
    fc.property(anyScope, (raw) => {
      const scope = parseScope(raw);
      expect(scope && parseScope(JSON.parse(JSON.stringify(writeScope(scope))))).toEqual(scope);
      expect(scope).toBeDefined();
    }),
  );
});

test("writeScope omits empty fields", () => {
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

describe("parseScope limits", () => {
  const names = (count: number, text = "n"): readonly string[] =>
    Array.from({ length: count }, () => text);
  const projects = (count: number, project = "n") => ({
    projects: names(count, project).map((name) => ({ project: name })),
  });
  const { rules, entries, characters } = scopeBounds;

  test.each<[string, unknown, unknown]>([
    [
      "the number of rules",
      { rules: names(rules).map(() => ({})) },
      { rules: names(rules + 1).map(() => ({})) },
    ],
    ["the number of projects", projects(entries), projects(entries + 1)],
    [
      "the total number of entries of several lists",
      { ...projects(entries / 2), rules: [{ verbs: names(entries / 2 - 1) }] },
      { ...projects(entries / 2), rules: [{ verbs: names(entries / 2) }] },
    ],
    [
      "the total number of entries in rules",
      { rules: [{ resources: [{ group: "", resources: names(entries - 2) }] }] },
      { rules: [{ resources: [{ group: "", resources: names(entries - 1) }] }] },
    ],
    [
      "the total number of entries in roles",
      { roles: [{ role: "r", projects: names(entries - 1) }] },
      { roles: [{ role: "r", projects: names(entries - 1), virtualClusters: ["v"] }] },
    ],
    [
      "the characters of one string",
      projects(1, "x".repeat(characters)),
      projects(1, "x".repeat(characters + 1)),
    ],
    [
      "the total number of characters of several strings",
      { ...projects(1, "x".repeat(characters - 1)), clusters: [{ cluster: "c" }] },
      { ...projects(1, "x".repeat(characters - 1)), clusters: [{ cluster: "cc" }] },
    ],
    [
      "characters outside the basic plane, each counted once",
      projects(1, "\u{1f600}".repeat(characters)),
      projects(1, "\u{1f600}".repeat(characters + 1)),
    ],
  ])("%s", (_what, within, beyond) => {
    expect(parseScope(within)).toBeDefined();
    expect(parseScopeLimit(beyond)).toBe("unreadable");
  });

  test("a long list before it parses the entries", () => {
    // Parsing the entries would throw.
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
