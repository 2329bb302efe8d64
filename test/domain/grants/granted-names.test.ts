import { describe, expect, test } from "vitest";
import type { GrantedObject, GrantRole, ObservedRoleBinding } from "../../../src/api/role.ts";
import {
  grantKey,
  grantState,
  grantedObject,
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

describe("the state of the grants of an object", () => {
  test.each<
    [string, string | undefined, readonly GrantRole[], readonly ObservedRoleBinding[], object]
  >([
    [
      "is granted if a role names the object and is bound",
      "alice",
      [role],
      [binding],
      { granted: true, named: true, namedByOthers: false },
    ],
    ["is not granted without the binding", "alice", [role], [], { ...none, named: true }],
    [
      "is not granted with a binding to another subject",
      "alice",
      [role],
      [{ ...binding, subjects: [] }],
      { ...none, named: true },
    ],
    ["is not granted without a role", "alice", [], [binding], none],
    [
      "is not granted if the role names another object",
      "alice",
      [observedRole("alice", 0, ["ownedaccesskeys/two"])],
      [binding],
      none,
    ],
    [
      "is not granted if the role names another kind",
      "alice",
      [observedRole("alice", 0, ["directclusterendpointtokens/one"])],
      [binding],
      none,
    ],
    [
      "is not granted if the rule was edited",
      "alice",
      [{ ...role, rules: role.rules.map((rule) => ({ ...rule, verbs: ["get"] })) }],
      [binding],
      { ...none, named: true },
    ],
    [
      "reports the grant of another requester in addition",
      "alice",
      [role, bobs],
      [binding],
      { granted: true, named: true, namedByOthers: true },
    ],
    [
      "reports the grant of another requester, bound or not",
      "alice",
      [bobs],
      [],
      { ...none, named: true, namedByOthers: true },
    ],
    [
      "reports every role as another's if the requester is unknown",
      undefined,
      [role],
      [binding],
      { ...none, named: true, namedByOthers: true },
    ],
    [
      "reports nothing if the requester is unknown and no role names the object",
      undefined,
      [],
      [],
      none,
    ],
    [
      "ignores roles without Latchkey's label",
      "alice",
      [{ ...role, metadata: { ...role.metadata, labels: {} } }],
      [binding],
      none,
    ],
  ])("%s", (_rule, requester, roles, bindings, state) => {
    expect(grantState(object, { requester, roles, bindings })).toEqual(state);
  });

  test("is indexed by plural and name", () => {
    expect([grantKey(object), ...grantedNames(role)]).toEqual([name, name]);
  });

  test.each<GrantedObject>([
    { kind: "OwnedAccessKey", name: "a" },
    { kind: "DirectClusterEndpointToken", name: "a" },
  ])("is read from its key: $kind", (object) => {
    expect(grantedObject(grantKey(object))).toEqual(object);
  });

  test("has a requester hash that is valid in labels and names", () => {
    expect(
      [requesterHash("alice"), requesterHash("bob")].map((hash) => /^[0-9a-f]{32}$/.test(hash)),
    ).toEqual([true, true]);
    expect(requesterHash("alice")).not.toBe(requesterHash("bob"));
  });
});
