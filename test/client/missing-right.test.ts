import { expect, test, describe } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { exitCodeOf, sentenceOf } from "../../src/client/failure.ts";
import { readObject } from "../../src/client/missing-right.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";

test.each([
  [{ namespace: "team", name: "db" }, { name: "db" }],
  [{ namespace: "team", name: ".." }, undefined],
  [{ namespace: "%2F", name: "db" }, undefined],
])("of an annotation, %j is read if it can exist", async (ref, found) => {
  const read = async () => ({ name: ref.name });
  expect(await readObject(resources.sharedSecrets, ref, read)).toEqual({ found, missing: [] });
});

const ours = 'in API group "management.service"';
const inNamespace = 'in the namespace "web"';

describe("a 403 names the missing right and who may grant it", () => {
  test.each([
    [
      "of a SharedSecret",
      `sharedsecrets.management.service "db" is forbidden: User "bob" cannot get resource "sharedsecrets" ${ours} ${inNamespace}`,
      "you do not have the right get sharedsecrets.management.service/db in namespace web; a user who may update the SharedSecret can add you to its spec.access, or an administrator of the namespace can grant it with a Role",
    ],
    [
      "of SharedSecrets without a name",
      `sharedsecrets.management.service is forbidden: User "bob" cannot create resource "sharedsecrets" ${ours} ${inNamespace}`,
      "you do not have the right create sharedsecrets.management.service in namespace web; an administrator of the namespace can grant it with a Role",
    ],
    [
      "in all namespaces",
      `secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" at the cluster scope: RBAC`,
      "you do not have the right list secrets in all namespaces; an administrator of the cluster can grant it with a ClusterRole",
    ],
    [
      "to create keys",
      `ownedaccesskeys.management.service is forbidden: User "bob" cannot create resource "ownedaccesskeys" ${ours} at the cluster scope`,
      "you do not have the right create ownedaccesskeys.management.service; an administrator of the cluster can bind the ClusterRole latchkey-requester to you",
    ],
    [
      "to a key of another user",
      `ownedaccesskeys.management.service "ci" is forbidden: User "bob" cannot delete resource "ownedaccesskeys" ${ours} at the cluster scope`,
      "you do not have the right delete ownedaccesskeys.management.service/ci; an administrator of the cluster can grant it with a ClusterRole",
    ],
    [
      "to act as another user",
      `users "x" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope`,
      "you do not have the right impersonate users/x; an administrator of the cluster can grant it with a ClusterRole",
    ],
    [
      "to act as another user on what is requested, as Kubernetes 1.36 says it",
      `ownedaccesskeys.management.service is forbidden: User "bob" cannot impersonate-on:user-info:list resource "ownedaccesskeys" ${ours} at the cluster scope`,
      "you do not have the right impersonate-on:user-info:list ownedaccesskeys.management.service; an administrator of the cluster can grant it with a ClusterRole",
    ],
    [
      "of a scope",
      "forbidden: the scope of this credential does not allow list secrets in namespace web: no entry of the scope covers it",
      "the scope of the key does not cover this request; use a key with a wider scope, which needs a credential that has it",
    ],
  ])("%s", (_what, explanation, hint) => {
    const error = refused(explanation, true);
    expect([exitCodeOf(error), sentenceOf(error)]).toEqual([5, `${explanation}: ${hint}`]);
  });

  test("but not a 403 of a policy, which says itself what to change", () => {
    const explanation = `sharedsecrets.management.service "db" is forbidden: ValidatingAdmissionPolicy 'x' denied request: use another label`;
    const error = refused(explanation, false);
    expect([exitCodeOf(error), sentenceOf(error)]).toEqual([1, explanation]);
  });
});

function refused(explanation: string, lacksPermission: boolean): KubeError {
  return new KubeError("GET", { code: "Forbidden", status: 403, explanation, lacksPermission });
}
