import { beforeAll, expect, it } from "vitest";
import { answered, arrange, ask, unique, type Caller } from "../support/policy-request.ts";
import { dryCreate, grantUser, made, merge, withPolicies } from "./policy-fixture.ts";

const namespaces = "/api/v1/namespaces";
const label = "management.service/project";
const space = "management.service/space";
const virtualCluster = "management.service/virtual-cluster";
const web = unique("web");
const pay = unique("pay");
/** May write every namespace, and assign only to the project web. */
const operator: Caller = { user: unique("operator") };

beforeAll(() =>
  grantUser(
    operator,
    "create,get,update,patch core namespaces,namespaces/status,namespaces/finalize",
    `assign management.service projects ${web}`,
  ),
);

type Labels = Readonly<Record<string, string | null>>;

/** Creates a namespace as the administrator; returns its path. */
const stored = (labels: Labels): Promise<string> =>
  made(namespaces, { metadata: { name: unique("policy"), labels } });

withPolicies("a namespace in a project", () => {
  it.each<[rule: string, labels: Labels, code: number]>([
    ["can be created with assign on the project", { [label]: web }, 201],
    ["cannot be created with assign only on another project", { [label]: pay }, 403],
    ["cannot be created with an empty project name", { [label]: "" }, 403],
    ["can be created by any user without a project", { team: "a" }, 201],
    ["can be created with a space of that project", { [label]: web, [space]: "s" }, 201],
    ["cannot be created with a space of another project", { [label]: pay, [space]: "s" }, 403],
  ])("%s", async (_rule, labels, code) => {
    const body = { metadata: { name: unique("policy"), labels } };
    expect(await dryCreate(operator, namespaces, body)).toMatchObject(
      answered(
        code,
        labels[label] === ""
          ? "requires the verb assign on all projects"
          : `requires the verb assign on projects.management.service "${labels[label]}"`,
      ),
    );
  });

  const status = "/status";
  it.each<[rule: string, from: Labels, to: string | null, code: number, under?: string]>([
    ["a namespace can join a project that the caller may assign to", {}, web, 200],
    ["a namespace cannot join another project", {}, pay, 403],
    ["a namespace can move to a project that the caller may assign to", { [label]: pay }, web, 200],
    ["a namespace cannot move to another project", { [label]: web }, pay, 403],
    ["a namespace can leave any project", { [label]: pay }, null, 200],
    ["a namespace can keep its project", { [label]: pay }, pay, 200],
    ["the subresource status does not bypass the policy", {}, pay, 403, status],
  ])("%s", async (_rule, from, to, code, under = "") => {
    const path = await stored(from);
    const metadata = { labels: { [label]: to, touched: "yes" } };
    expect(await merge(operator, `${path}${under}`, { metadata })).toMatchObject(
      answered(
        code,
        `may not change metadata.labels[${label}] of Namespace ${path.split("/").at(-1)}: this requires the verb assign on projects.management.service "${to}"`,
      ),
    );
  });

  const ofPay = { [label]: pay };
  const spaceOfPay = { [label]: pay, [space]: "s" };
  const leaves = `"${pay}", which the namespace leaves`;
  const needsAll = "all projects.management.service";
  it.each<[rule: string, from: Labels, to: Labels, refusal?: string, under?: string]>([
    ["a namespace of the caller's project can get a space", { [label]: web }, { [space]: "s" }],
    ["a namespace of another project cannot get a space", ofPay, { [space]: "s" }, `"${pay}"`],
    ["a space of another project cannot change", spaceOfPay, { [space]: "t" }, `"${pay}"`],
    ["a space of another project cannot be removed", spaceOfPay, { [space]: null }, `"${pay}"`],
    [
      "a virtual cluster of another project cannot change",
      { [label]: pay, [virtualCluster]: "v" },
      { [virtualCluster]: "w" },
      `"${pay}"`,
    ],
    [
      "a namespace can keep its space when it joins the caller's project",
      spaceOfPay,
      { [label]: web },
    ],
    [
      "a namespace cannot change project and space in one request without assign on the former project",
      spaceOfPay,
      { [label]: web, [space]: "t" },
      leaves,
    ],
    [
      "a namespace cannot leave its project and change its space in one request",
      spaceOfPay,
      { [label]: null, [space]: "t" },
      leaves,
    ],
    ["a namespace can leave its project and keep its space", spaceOfPay, { [label]: null }],
    [
      "a namespace without a project cannot get a space, which would take effect in the next project",
      {},
      { [space]: "s" },
      needsAll,
    ],
    [
      "a namespace without a project cannot change its space",
      { [space]: "s" },
      { [space]: "t" },
      needsAll,
    ],
    ["a namespace without a project can lose its space", { [space]: "s" }, { [space]: null }],
    [
      "the subresource status does not bypass the policy for a space",
      ofPay,
      { [space]: "s" },
      `"${pay}"`,
      status,
    ],
  ])("%s", async (_rule, from, to, refusal, under = "") => {
    const path = `${await stored(from)}${under}`;
    expect(await merge(operator, path, { metadata: { labels: to } })).toMatchObject(
      answered(refusal === undefined ? 200 : 403, refusal ?? ""),
    );
  });

  it("the subresource finalize does not bypass the policy", async () => {
    const path = await stored({});
    const { code: _, metadata, ...rest } = await arrange({ method: "GET", path });
    const labels = { ...metadata.labels, [label]: pay };
    const body = { ...rest, metadata: { ...metadata, labels } };
    expect(await ask(operator, { method: "PUT", path: `${path}/finalize`, body })).toMatchObject({
      code: 403,
    });
  });
});
