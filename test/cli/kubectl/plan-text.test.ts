import { expect, test } from "vitest";
import { paintWith } from "../../../src/cli/kubectl/output.ts";
import type { PlanReport } from "../../../src/cli/kubectl/plan-report.ts";
import { planText } from "../../../src/cli/kubectl/plan-text.ts";

const paint = paintWith(false);
const empty: PlanReport = {
  changes: false,
  ...{ objects: [], copies: [], access: [], stuck: [], notes: [], missing: [] },
};
const copy = { sharedSecret: "team-a/db", reason: "arrives", message: "why", assumed: false };

test("a plan without changes is one line", () => {
  expect(planText(empty, paint)).toBe("Nothing changes.\n");
});

test("a plan with missing rights does not say that nothing changes", () => {
  expect(planText({ ...empty, missing: ["list namespaces"] }, paint).split("\n")).toEqual([
    "Not visible to you; this plan leaves out what needs these rights",
    "  list namespaces",
    "Nothing that you may see changes.",
    "",
  ]);
});

test("a plan names copies, access, and what is stuck or assumed", () => {
  const report: PlanReport = {
    ...empty,
    changes: true,
    objects: [
      { kind: "SharedSecret", name: "new/db", file: "f", effect: "created", checked: false },
    ],
    copies: [
      { ...copy, secret: "web/db", action: "create" },
      { ...copy, secret: "shop/db", action: "delete", assumed: true },
    ],
    access: [
      {
        ...{ sharedSecret: "team-a/db", kind: "RoleBinding", name: "latchkey-db-1" },
        ...{ action: "replace", verbs: ["get", "list"], assumed: false },
        ...{ added: ["User bob"], removed: ["Group devs"] },
      },
    ],
    stuck: [{ ...copy, secret: "old/db", reason: "not-managed", assumed: true }],
    notes: ["a note"],
  };
  expect(planText(report, paint).split("\n")).toEqual([
    "Objects",
    "  SharedSecret new/db created (not checked: its namespace does not exist yet)",
    "Copies",
    "  + create web/db",
    "      why",
    "  - delete shop/db (assumed: you may not read this Secret)",
    "      why",
    "Access",
    "  ~ replace RoleBinding of team-a/db; latchkey-db-1; get,list; + User bob, - Group devs",
    "Stuck",
    "  old/db from team-a/db (assumed: you may not read this Secret)",
    "      why",
    "Notes",
    "  a note",
    "Copies: 1 to create, 1 to delete. Roles and RoleBindings: 1 to change, 1 stuck.",
    "",
  ]);
});
