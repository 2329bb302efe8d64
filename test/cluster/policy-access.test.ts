import { beforeAll, expect, it } from "vitest";
import { latchkeyAccount, makeNamespace, unique, type Caller } from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import { grantUser, made, manifest, merge, withPolicies } from "./policy-fixture.ts";

const access = [{ users: [unique("reader")], verbs: ["get"] }];
const updater: Caller = { user: unique("updater") };
const owner: Caller = { user: unique("owner") };
const sync = (name: string) => `management.service/sync-${name}`;
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  const rights = "get,update,patch management.service sharedsecrets";
  await grantUser(updater, rights, "delete management.service sharedsecrets somebody-elses");
  for (const user of [updater, owner]) await grantUser(user, "share management.service projects");
  await grantUser(owner, rights.replace("patch", "patch,delete"));
});

function stored(): Promise<string> {
  const spec = { data: { password: "aHVudGVyMg==" }, access, owner: { user: "olga" } };
  const annotations = { [sync("to-projects")]: "web" };
  return made(sharedSecretPath(namespace), manifest("SharedSecret", { annotations }, spec));
}

const annotated = (annotations: object | null) => ({ metadata: { annotations } });

const texts: readonly (readonly [string, object])[] = [
  ["data", { spec: { data: { password: "c2VzYW1l" } } }],
  ["the description", { spec: { description: "shared with everybody" } }],
  [
    "labels and other annotations",
    { metadata: { labels: { a: "b" }, annotations: { "example.com/sync-note": "c" } } },
  ],
  ["an annotation that triggers a reconcile", annotated({ "management.service/refresh-now": "1" })],
  ["an unknown annotation", annotated({ "management.service/data-from-key": "a" })],
  ["disable-sync", annotated({ "management.service/disable-sync": "true" })],
  ["nothing, with the same access sent again", { spec: { access, owner: { user: "olga" } } }],
];

const addedRule = [...access, { users: ["eve"], verbs: ["get"] }];
const rights: readonly (readonly [string, object, string])[] = [
  ["an additional access rule", { spec: { access: addedRule } }, "spec.access"],
  ["no access rules", { spec: { access: null } }, "spec.access"],
  ["another owner", { spec: { owner: { user: "eve" } } }, "spec.owner"],
  ["no owner", { spec: { owner: null } }, "spec.owner"],
  ["other target projects", annotated({ [sync("to-projects")]: "*" }), sync("to-projects")],
  ["no target projects", annotated(null), sync("to-projects")],
  ...[
    ["a copy annotation", "management.service/copy-labels", "team"],
    ["the annotations of the copies", "management.service/copy-annotations", "team=x"],
    ["a new sync annotation", sync("secret-name"), "db"],
    ["data keys of it", "management.service/data-from-keys", "tls.crt"],
  ].map(([rule = "", name = "", value]) => [rule, annotated({ [name]: value }), name] as const),
];

withPolicies("a change of a SharedSecret", () => {
  it.each(texts)("to %s requires only the verb update", async (_rule, body) => {
    expect(await merge(updater, await stored(), body)).toMatchObject({ code: 200 });
  });

  it.each(rights)("to %s requires the verb delete on the object", async (_rule, body, name) => {
    const path = await stored();
    const field = name.startsWith("spec.") ? name : `metadata.annotations[${name}]`;
    const refused = await merge(updater, path, body);
    expect(refused).toMatchObject({ code: 403, reason: "Forbidden" });
    expect(refused.message).toContain(
      `${updater.user} may not change ${field} of SharedSecret ${namespace}/`,
    );
    expect(refused.message).not.toContain("aHVudGVyMg==");
    expect(await merge(owner, path, body)).toMatchObject({ code: 200 });
  });

  it("is rejected with all fields that the user may not change", async () => {
    const body = { metadata: { annotations: null }, spec: { access: [], owner: null } };
    const { message } = await merge(updater, await stored(), body);
    expect(message).toContain(
      `spec.access, spec.owner, metadata.annotations[${sync("to-projects")}]`,
    );
  });

  it("can be made by the controller, which has the permissions that it grants", async () => {
    const body = { spec: { access: [] } };
    expect(await merge(latchkeyAccount("latchkey-controller"), await stored(), body)).toMatchObject(
      { code: 200 },
    );
  });
});
