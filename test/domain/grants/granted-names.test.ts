import { describe, expect, test } from "vitest";
import type { GrantBinding, GrantRole } from "../../../src/api/requester-grant.ts";
import {
  grantKey,
  grantState,
  grantedNames,
  requesterHash,
} from "../../../src/domain/grants/granted-names.ts";
import { observedBinding, observedRole } from "../../support/observed-objects.ts";

const object = { kind: "OwnedAccessKey", name: "one" } as const;
const name = "ownedaccesskeys/one";
const role = observedRole("alice", 0, [name]);
const bobs = observedRole("bob", 0, [name]);
const binding = observedBinding("alice", 0);
const none = { granted: false, named: false, namedByOthers: false };

describe("the grants of one object", () => {
  test.each<[string, string | undefined, readonly GrantRole[], readonly GrantBinding[], object]>([
    [
      "are in force when a role names it and is bound",
      "alice",
      [role],
      [binding],
      { granted: true, named: true, namedByOthers: false },
    ],
    ["are not in force without the binding", "alice", [role], [], { ...none, named: true }],
    [
      "are not in force with another's binding",
      "alice",
      [role],
      [{ ...binding, subjects: [] }],
      { ...none, named: true },
    ],
    ["are not in force without a role", "alice", [], [binding], none],
    [
      "are not in force when the role names another",
      "alice",
      [observedRole("alice", 0, ["ownedaccesskeys/two"])],
      [binding],
      none,
    ],
    [
      "are not in force when the kind is another",
      "alice",
      [observedRole("alice", 0, ["directclusterendpointtokens/one"])],
      [binding],
      none,
    ],
    [
      "are not in force when the rule was edited",
      "alice",
      [{ ...role, rules: role.rules.map((rule) => ({ ...rule, verbs: ["get"] })) }],
      [binding],
      { ...none, named: true },
    ],
    [
      "may be another's beside one's own",
      "alice",
      [role, bobs],
      [binding],
      { granted: true, named: true, namedByOthers: true },
    ],
    [
      "may be another's, bound or not",
      "alice",
      [bobs],
      [],
      { ...none, named: true, namedByOthers: true },
    ],
    [
      "are all another's when nobody is certain",
      undefined,
      [role],
      [binding],
      { ...none, named: true, namedByOthers: true },
    ],
    ["are none when nobody is certain and no role names it", undefined, [], [], none],
    [
      "are not Latchkey's without its label",
      "alice",
      [{ ...role, metadata: { ...role.metadata, labels: {} } }],
      [binding],
      none,
    ],
  ])("%s", (_rule, requester, roles, bindings, state) => {
    expect(grantState(object, { requester, roles, bindings })).toEqual(state);
  });

  test("are found by plural and name", () => {
    expect([grantKey(object), ...grantedNames(role)]).toEqual([name, name]);
  });

  test("are tied to a requester by a hash that fits a label and a name", () => {
    expect(
      [requesterHash("alice"), requesterHash("bob")].map((hash) => /^[0-9a-f]{32}$/.test(hash)),
    ).toEqual([true, true]);
    expect(requesterHash("alice")).not.toBe(requesterHash("bob"));
  });
});
