import { expect, test } from "vitest";
import { explainKey } from "../../../src/domain/access-key/explain-key.ts";
import { unscopedText } from "../../../src/domain/access-key/unscoped-key.ts";
import { born } from "../../support/observed-objects.ts";
import { resolvedKey } from "./resolved-key.ts";

test.each([
  [{ user: "alice" }, false, "no scope: all rights of alice"],
  [{ team: "web" }, false, "no scope: all rights of team web"],
  [{ subject: "ci" }, false, "no scope: all rights of ci"],
  [{}, false, "no scope: all rights of its user"],
  [{ user: "alice" }, true, "no scope: all rights of alice, as far as its parent key has them"],
])("what %j may do, with a parent key: %s", (owner, hasParent, text) => {
  expect(unscopedText(owner, { hasParent })).toBe(text);
});

test.each([
  ["says so", "none", true],
  ["with a scope does not", "unlimited", false],
])("why of a key that is accepted %s", (_what, kind, isSaid) => {
  const entries = { roles: [], projects: [], spaces: [], virtualClusters: [], clusters: [] };
  const scope = kind === "none" ? "none" : { ...entries, rules: [] };
  const key = resolvedKey({ owner: { user: "alice" }, spec: { scope } });
  const { state, message } = explainKey(key, born);
  expect(state).toBe("ok");
  expect(message.endsWith(" It has no scope: all rights of alice.")).toBe(isSaid);
});
