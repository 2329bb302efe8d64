import { expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import {
  granteeOfClusterRoleBinding,
  granteeOfRoleBinding,
  isHonoured,
  reviewSpec,
} from "../../../src/domain/grants/former-grantee.ts";

const ann = { subject: { kind: "User", name: "ann" }, verb: "get" };
const inTeam = granteeOfRoleBinding(
  { namespace: "team", name: "latchkey-db-0123456789abcdef" },
  ann,
);
const requester = granteeOfClusterRoleBinding("latchkey-requester-00ff-", ann);

// The reasons of kube-apiserver 1.36.3 (pkg/registry/rbac/validation/rule.go).
const by = (binding: string): string => `RBAC: allowed by ${binding} of Role "some" to User "ann"`;

test.for([
  [
    "Latchkey's RoleBinding",
    inTeam,
    true,
    by('RoleBinding "latchkey-db-0123456789abcdef/team"'),
    true,
  ],
  [
    "one of Latchkey's ClusterRoleBindings",
    requester,
    true,
    by('ClusterRoleBinding "latchkey-requester-00ff-3"'),
    true,
  ],
  [
    "a RoleBinding with that name in another namespace",
    inTeam,
    true,
    by('RoleBinding "latchkey-db-0123456789abcdef/other"'),
    false,
  ],
  [
    "a RoleBinding whose name begins with that name",
    inTeam,
    true,
    by('RoleBinding "latchkey-db-0123456789abcdef-2/team"'),
    false,
  ],
  [
    "a ClusterRoleBinding instead of a RoleBinding",
    inTeam,
    true,
    by('ClusterRoleBinding "latchkey-db-0123456789abcdef/team"'),
    false,
  ],
  [
    "the ClusterRoleBinding of another requester",
    requester,
    true,
    by('ClusterRoleBinding "latchkey-requester-00fe-3"'),
    false,
  ],
  ["cluster-admin", requester, true, by('ClusterRoleBinding "cluster-admin"'), false],
  ["another authorizer without a reason", requester, true, "", false],
  ["no authorizer", inTeam, false, "", false],
  [
    "no authorizer, with a reason that names the binding",
    inTeam,
    false,
    by('RoleBinding "latchkey-db-0123456789abcdef/team"'),
    false,
  ],
] as const)(
  "evaluates a request that is allowed by %s",
  ([, grantee, allowed, reason, honoured]) => {
    expect(isHonoured(grantee, { allowed, reason })).toBe(honoured);
  },
);

const resourceAttributes = {
  group: "management.service",
  resource: "sharedsecrets",
  verb: "get",
  namespace: "team",
  name: "db",
};

test.for([
  ["user", { kind: "User", name: "ann" }, { user: "ann" }],
  ["group without a user", { kind: "Group", name: "devs" }, { groups: ["devs"] }],
  [
    "service account by its username",
    { kind: "ServiceAccount", namespace: "ci", name: "bot" },
    { user: "system:serviceaccount:ci:bot" },
  ],
] as const)("reviews the access of a %s", ([, subject, asked]) => {
  expect(
    reviewSpec({ ...inTeam, subject }, resources.sharedSecrets, { namespace: "team", name: "db" }),
  ).toEqual({ ...asked, resourceAttributes });
});

test("reviews the access to a cluster-scoped object without a namespace", () => {
  expect(reviewSpec(requester, resources.ownedAccessKeys, { name: "k" })).toEqual({
    user: "ann",
    resourceAttributes: {
      group: "management.service",
      resource: "ownedaccesskeys",
      verb: "get",
      name: "k",
    },
  });
});
