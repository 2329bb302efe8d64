import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  allow,
  answered,
  arrange,
  ask,
  patchTypes,
  unique,
  type Caller,
} from "../support/policy-request.ts";

const namespaces = "/api/v1/namespaces";
const label = "management.service/project";
const space = "management.service/space";
const virtualCluster = "management.service/virtual-cluster";
const web = unique("web");
const pay = unique("pay");
/** May write every namespace, and assign only to the project web. */
const operator: Caller = { user: unique("operator") };

beforeAll(async () => {
  await allow({ kind: "User", name: operator.user ?? "" }, [
    {
      apiGroups: [""],
      resources: ["namespaces", "namespaces/status", "namespaces/finalize"],
      verbs: ["create", "get", "update", "patch"],
    },
    {
      apiGroups: ["management.service"],
      resources: ["projects"],
      resourceNames: [web],
      verbs: ["assign"],
    },
  ]);
});

describe.skipIf(!inject("hasPolicies"))("a namespace in a project", () => {
  const creations = [
    { rule: "can be created with assign on the project", labels: { [label]: web }, code: 201 },
    {
      rule: "cannot be created with assign only on another project",
      labels: { [label]: pay },
      code: 403,
    },
    { rule: "cannot be created with an empty project name", labels: { [label]: "" }, code: 403 },
    { rule: "can be created by any user without a project", labels: { team: "a" }, code: 201 },
    {
      rule: "can be created with a space of that project",
      labels: { [label]: web, [space]: "s" },
      code: 201,
    },
    {
      rule: "cannot be created with a space of another project",
      labels: { [label]: pay, [space]: "s" },
      code: 403,
    },
  ];
  it.each(creations)("$rule", async ({ labels, code }) => {
    const body = { metadata: { name: unique("policy"), labels } };
    const answer = await ask(operator, { method: "POST", path: `${namespaces}?dryRun=All`, body });
    expect(answer).toMatchObject(
      answered(
        code,
        labels[label] === ""
          ? "requires the verb assign on all projects"
          : `requires the verb assign on projects.management.service "${labels[label]}"`,
      ),
    );
  });

  const changes: {
    rule: string;
    from?: string;
    to: string | null;
    code: number;
    under?: string;
  }[] = [
    { rule: "a namespace can join a project that the caller may assign to", to: web, code: 200 },
    { rule: "a namespace cannot join another project", to: pay, code: 403 },
    {
      rule: "a namespace can move to a project that the caller may assign to",
      from: pay,
      to: web,
      code: 200,
    },
    { rule: "a namespace cannot move to another project", from: web, to: pay, code: 403 },
    { rule: "a namespace can leave any project", from: pay, to: null, code: 200 },
    { rule: "a namespace can keep its project", from: pay, to: pay, code: 200 },
    {
      rule: "the subresource status does not bypass the policy",
      to: pay,
      code: 403,
      under: "/status",
    },
  ];
  it.each(changes)("$rule", async ({ from, to, code, under = "" }) => {
    const name = unique("policy");
    await arrange({
      method: "POST",
      path: namespaces,
      body: { metadata: { name, labels: from === undefined ? {} : { [label]: from } } },
    });
    const body = { metadata: { labels: { [label]: to, touched: "yes" } } };
    const answer = await ask(operator, {
      method: "PATCH",
      path: `${namespaces}/${name}${under}`,
      type: patchTypes.merge,
      body,
    });
    expect(answer).toMatchObject(
      answered(
        code,
        `may not change metadata.labels[${label}] of Namespace ${name}: this requires the verb assign on projects.management.service "${to}"`,
      ),
    );
  });

  type Labels = Readonly<Record<string, string | null>>;
  const parts: {
    rule: string;
    from: Labels;
    to: Labels;
    code: number;
    refusal?: string;
    under?: string;
  }[] = [
    {
      rule: "a namespace of the caller's project can get a space",
      from: { [label]: web },
      to: { [space]: "s" },
      code: 200,
    },
    {
      rule: "a namespace of another project cannot get a space",
      from: { [label]: pay },
      to: { [space]: "s" },
      code: 403,
      refusal: `"${pay}"`,
    },
    {
      rule: "a space of another project cannot change",
      from: { [label]: pay, [space]: "s" },
      to: { [space]: "t" },
      code: 403,
      refusal: `"${pay}"`,
    },
    {
      rule: "a space of another project cannot be removed",
      from: { [label]: pay, [space]: "s" },
      to: { [space]: null },
      code: 403,
      refusal: `"${pay}"`,
    },
    {
      rule: "a virtual cluster of another project cannot change",
      from: { [label]: pay, [virtualCluster]: "v" },
      to: { [virtualCluster]: "w" },
      code: 403,
      refusal: `"${pay}"`,
    },
    {
      rule: "a namespace can keep its space when it joins the caller's project",
      from: { [label]: pay, [space]: "s" },
      to: { [label]: web },
      code: 200,
    },
    {
      rule: "a namespace cannot change project and space in one request without assign on the former project",
      from: { [label]: pay, [space]: "s" },
      to: { [label]: web, [space]: "t" },
      code: 403,
      refusal: `"${pay}", which the namespace leaves`,
    },
    {
      rule: "a namespace cannot leave its project and change its space in one request",
      from: { [label]: pay, [space]: "s" },
      to: { [label]: null, [space]: "t" },
      code: 403,
      refusal: `"${pay}", which the namespace leaves`,
    },
    {
      rule: "a namespace can leave its project and keep its space",
      from: { [label]: pay, [space]: "s" },
      to: { [label]: null },
      code: 200,
    },
    {
      rule: "a namespace without a project cannot get a space, which would take effect in the next project",
      from: {},
      to: { [space]: "s" },
      code: 403,
      refusal: "all projects.management.service",
    },
    {
      rule: "a namespace without a project cannot change its space",
      from: { [space]: "s" },
      to: { [space]: "t" },
      code: 403,
      refusal: "all projects.management.service",
    },
    {
      rule: "a namespace without a project can lose its space",
      from: { [space]: "s" },
      to: { [space]: null },
      code: 200,
    },
    {
      rule: "the subresource status does not bypass the policy for a space",
      from: { [label]: pay },
      to: { [space]: "s" },
      code: 403,
      refusal: `"${pay}"`,
      under: "/status",
    },
  ];
  it.each(parts)("$rule", async ({ from, to, code, refusal = "", under = "" }) => {
    const name = unique("policy");
    await arrange({ method: "POST", path: namespaces, body: { metadata: { name, labels: from } } });
    const answer = await ask(operator, {
      method: "PATCH",
      path: `${namespaces}/${name}${under}`,
      type: patchTypes.merge,
      body: { metadata: { labels: to } },
    });
    expect(answer).toMatchObject(answered(code, refusal));
  });

  it("the subresource finalize does not bypass the policy", async () => {
    const {
      code: _,
      metadata,
      ...rest
    } = await arrange({
      method: "POST",
      path: namespaces,
      body: { metadata: { name: unique("policy") } },
    });
    const body = {
      ...rest,
      metadata: { ...metadata, labels: { ...metadata.labels, [label]: pay } },
    };
    const answer = await ask(operator, {
      method: "PUT",
      path: `${namespaces}/${metadata.name}/finalize`,
      body,
    });
    expect(answer).toMatchObject({ code: 403 });
  });
});
