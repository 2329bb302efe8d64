import { expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import {
  accessItem,
  objectItem,
  type PlanReport,
  planText,
} from "../../../src/client/explain/plan-report.ts";
import { paintWith } from "../../../src/client/output.ts";

const paint = paintWith(false);
const empty: PlanReport = {
  objects: [],
  copies: [],
  access: [],
  clusters: [],
  stuck: [],
  notes: [],
  missing: [],
};
const source = { kind: "SharedSecret", namespace: "team-a", name: "db" };
const assumed = { reason: "Assumed", message: "It is assumed." };

function secret(namespace: string, isAssumed = false) {
  const object = { kind: "Secret", namespace, name: "db" };
  const causes = isAssumed ? [{ object, ...assumed }] : [];
  return { object, source, reason: "Arrives", message: "It is so.", causes };
}

test("a plan without changes is one line", () => {
  expect(planText(empty, paint)).toBe("Nothing changes.\n");
});

test("a plan with missing rights does not say that nothing changes", () => {
  const missing = [{ verb: "list", resource: resources.namespaces } as const];
  expect(planText({ ...empty, missing }, paint).split("\n")).toEqual([
    "Not visible to you; this plan leaves out what needs these rights",
    "  list namespaces",
    "Nothing that you may see changes.",
    "",
  ]);
});

test("a plan names copies, access, and what is stuck or assumed", () => {
  const ref = { namespace: "new", name: "db" };
  const manifest = { apiVersion: "v1", kind: "SharedSecret", metadata: ref };
  const report: PlanReport = {
    ...empty,
    objects: [
      objectItem({
        kind: "SharedSecret",
        resource: resources.sharedSecrets,
        ref,
        manifest,
        file: "f",
        object: manifest,
        isNew: true,
        isChecked: false,
      }),
    ],
    copies: [
      { ...secret("web"), state: "create" },
      { ...secret("shop", true), state: "delete" },
    ],
    access: [
      accessItem(
        {
          sharedSecret: { namespace: "team-a", name: "db" },
          kind: "RoleBinding",
          name: "latchkey-db-1",
          action: "replace",
          verbs: ["get", "list"],
          assumed: false,
          added: [{ kind: "User", name: "bob" }],
          removed: [{ kind: "Group", name: "devs" }],
        },
        false,
      ),
    ],
    stuck: [{ ...secret("old", true), state: "problem" }],
    notes: [
      {
        object: source,
        state: "info",
        reason: "NotPlanned",
        message: "A note.",
        causes: [],
      },
    ],
  };
  expect(planText(report, paint).split("\n")).toEqual([
    "Objects",
    '  SharedSecret "new/db": It is created from f. The API server cannot check it, because its namespace does not exist yet.',
    "Copies",
    '  + create Secret "web/db" of SharedSecret "team-a/db"',
    "      It is so.",
    '  - delete Secret "shop/db" of SharedSecret "team-a/db"',
    "      It is so. It is assumed.",
    "Access",
    '  ~ replace RoleBinding "team-a/latchkey-db-1" of SharedSecret "team-a/db"',
    '      The verbs are get, list. User "bob" gains access. Group "devs" loses access.',
    "Stuck",
    '  Secret "old/db" of SharedSecret "team-a/db"',
    "      It is so. It is assumed.",
    "Notes",
    '  SharedSecret "team-a/db": A note.',
    "Copies: 1 to create, 1 to delete. Roles and RoleBindings: 1 to change, 1 stuck.",
    "",
  ]);
});
