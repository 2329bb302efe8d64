import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  allow,
  arrange,
  ask,
  latchkeyAccount,
  makeNamespace,
  patchTypes,
  unique,
  type Caller,
} from "../support/policy-request.ts";

const access = [{ users: [unique("reader")], verbs: ["get"] }];
const stored = {
  apiVersion: "management.service/v1",
  kind: "SharedSecret",
  spec: { data: { password: "aHVudGVyMg==" }, access, owner: { user: "olga" } },
};
const updater: Caller = { user: unique("updater") };
const owner: Caller = { user: unique("owner") };
const sync = (name: string) => `management.service/sync-${name}`;
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  const rule = { apiGroups: ["management.service"], resources: ["sharedsecrets"] };
  await allow({ kind: "User", name: updater.user ?? "" }, [
    { ...rule, verbs: ["get", "update", "patch"] },
    { ...rule, resourceNames: ["somebody-elses"], verbs: ["delete"] },
  ]);
  const share = { apiGroups: ["management.service"], resources: ["projects"], verbs: ["share"] };
  for (const { user = "" } of [updater, owner]) await allow({ kind: "User", name: user }, [share]);
  await allow({ kind: "User", name: owner.user ?? "" }, [
    { ...rule, verbs: ["get", "update", "patch", "delete"] },
  ]);
});

async function made(): Promise<string> {
  const metadata = { name: unique("shared"), annotations: { [sync("to-projects")]: "web" } };
  const path = `/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`;
  const answer = await arrange({ method: "POST", path, body: { ...stored, metadata } });
  return `${path}/${answer.metadata.name}`;
}

const texts: { rule: string; body: object }[] = [
  { rule: "data", body: { spec: { data: { password: "c2VzYW1l" } } } },
  { rule: "the description", body: { spec: { description: "shared with everybody" } } },
  {
    rule: "labels and other annotations",
    body: { metadata: { labels: { a: "b" }, annotations: { "example.com/sync-note": "c" } } },
  },
  {
    rule: "an annotation that triggers a reconcile",
    body: { metadata: { annotations: { "management.service/refresh-now": "1" } } },
  },
  {
    rule: "disable-sync",
    body: { metadata: { annotations: { "management.service/disable-sync": "true" } } },
  },
  {
    rule: "nothing, with the same access sent again",
    body: { spec: { access, owner: { user: "olga" } } },
  },
];

const rights: { rule: string; body: object; field: string }[] = [
  {
    rule: "an additional access rule",
    body: { spec: { access: [...access, { users: ["eve"], verbs: ["get"] }] } },
    field: "spec.access",
  },
  { rule: "no access rules", body: { spec: { access: null } }, field: "spec.access" },
  { rule: "another owner", body: { spec: { owner: { user: "eve" } } }, field: "spec.owner" },
  { rule: "no owner", body: { spec: { owner: null } }, field: "spec.owner" },
  {
    rule: "other target projects",
    body: { metadata: { annotations: { [sync("to-projects")]: "*" } } },
    field: `metadata.annotations[${sync("to-projects")}]`,
  },
  {
    rule: "no target projects",
    body: { metadata: { annotations: null } },
    field: `metadata.annotations[${sync("to-projects")}]`,
  },
  {
    rule: "a copy annotation",
    body: { metadata: { annotations: { "management.service/copy-labels": "team" } } },
    field: "metadata.annotations[management.service/copy-labels]",
  },
  {
    rule: "the annotations of the copies",
    body: { metadata: { annotations: { "management.service/copy-annotations": "team=x" } } },
    field: "metadata.annotations[management.service/copy-annotations]",
  },
  {
    rule: "a new sync annotation",
    body: { metadata: { annotations: { [sync("secret-name")]: "db" } } },
    field: `metadata.annotations[${sync("secret-name")}]`,
  },
];

describe.skipIf(!inject("hasPolicies"))("a change of a SharedSecret", () => {
  it.each(texts)("to $rule requires only the verb update", async ({ body }) => {
    const answer = await ask(updater, {
      method: "PATCH",
      path: await made(),
      type: patchTypes.merge,
      body,
    });
    expect(answer).toMatchObject({ code: 200 });
  });

  it.each(rights)("to $rule requires the verb delete on the object", async ({ body, field }) => {
    const path = await made();
    const refused = await ask(updater, { method: "PATCH", path, type: patchTypes.merge, body });
    expect(refused).toMatchObject({ code: 403, reason: "Forbidden" });
    expect(refused.message).toContain(
      `${updater.user} may not change ${field} of SharedSecret ${namespace}/`,
    );
    expect(refused.message).not.toContain("aHVudGVyMg==");
    const granted = await ask(owner, { method: "PATCH", path, type: patchTypes.merge, body });
    expect(granted).toMatchObject({ code: 200 });
  });

  it("is rejected with all fields that the user may not change", async () => {
    const body = { metadata: { annotations: null }, spec: { access: [], owner: null } };
    const { message } = await ask(updater, {
      method: "PATCH",
      path: await made(),
      type: patchTypes.merge,
      body,
    });
    expect(message).toContain(
      `spec.access, spec.owner, metadata.annotations[${sync("to-projects")}]`,
    );
  });

  it("can be made by the controller, which has the permissions that it grants", async () => {
    const body = { spec: { access: [] } };
    const answer = await ask(latchkeyAccount("latchkey-controller"), {
      method: "PATCH",
      path: await made(),
      type: patchTypes.merge,
      body,
    });
    expect(answer).toMatchObject({ code: 200 });
  });
});
