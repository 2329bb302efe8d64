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

// The sentences of kube-apiserver 1.36.3 (pkg/registry/rbac/validation/rule.go).
const by = (binding: string): string => `RBAC: allowed by ${binding} of Role "some" to User "ann"`;

test.for([
  [
    "our own RoleBinding",
    inTeam,
    true,
    by('RoleBinding "latchkey-db-0123456789abcdef/team"'),
    true,
  ],
  [
    "one of our ClusterRoleBindings",
    requester,
    true,
    by('ClusterRoleBinding "latchkey-requester-00ff-3"'),
    true,
  ],
  [
    "a RoleBinding of that name elsewhere",
    inTeam,
    true,
    by('RoleBinding "latchkey-db-0123456789abcdef/other"'),
    false,
  ],
  [
    "a RoleBinding whose name begins so",
    inTeam,
    true,
    by('RoleBinding "latchkey-db-0123456789abcdef-2/team"'),
    false,
  ],
  [
    "a ClusterRoleBinding for a RoleBinding",
    inTeam,
    true,
    by('ClusterRoleBinding "latchkey-db-0123456789abcdef/team"'),
    false,
  ],
  [
    "another requester's ClusterRoleBinding",
    requester,
    true,
    by('ClusterRoleBinding "latchkey-requester-00fe-3"'),
    false,
  ],
  ["cluster-admin", requester, true, by('ClusterRoleBinding "cluster-admin"'), false],
  ["another authorizer, without a word", requester, true, "", false],
  ["nobody", inTeam, false, "", false],
  [
    "nobody, though something names it",
    inTeam,
    false,
    by('RoleBinding "latchkey-db-0123456789abcdef/team"'),
    false,
  ],
] as const)("whom %s lets in", ([, grantee, allowed, reason, honoured]) => {
  expect(isHonoured(grantee, { allowed, reason })).toBe(honoured);
});

const resourceAttributes = {
  group: "management.service",
  resource: "sharedsecrets",
  verb: "get",
  namespace: "team",
  name: "db",
};

test.for([
  ["user", { kind: "User", name: "ann" }, { user: "ann" }],
  ["group, as a member of it alone", { kind: "Group", name: "devs" }, { groups: ["devs"] }],
  [
    "service account, by its user name",
    { kind: "ServiceAccount", namespace: "ci", name: "bot" },
    { user: "system:serviceaccount:ci:bot" },
  ],
] as const)("the question about a %s", ([, subject, asked]) => {
  expect(
    reviewSpec({ ...inTeam, subject }, resources.sharedSecrets, { namespace: "team", name: "db" }),
  ).toEqual({ ...asked, resourceAttributes });
});

test("the question about what is in no namespace names none", () => {
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
