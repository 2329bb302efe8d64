import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { expectNoTrouble } from "./controller-oracle.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { becomes } from "../support/becomes.ts";
import { api, as, makeNamespace, type Caller } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  may,
  view,
  type Place,
} from "../support/shared-secret-requests.ts";

afterAll(expectNoTrouble);

const sixVerbs = ["get", "list", "watch", "update", "patch", "delete"];
const neverGranted = ["create", "deletecollection"];

describe.concurrent("a user in access", () => {
  it("can get exactly that SharedSecret with kubectl, and cannot any more when the rule is removed", async () => {
    const namespace = await makeNamespace();
    const open = await makeSharedSecret({
      namespace,
      spec: { access: [{ users: ["carol"], verbs: ["get"] }], data: { a: base64("open") } },
    });
    const closed = await makeSharedSecret({
      namespace,
      spec: { access: [{ users: ["dave"], verbs: ["get"] }] },
    });
    await becomesReady(open);
    await becomesReady(closed);
    const get = async (...args: string[]) => {
      const { code, stderr } = await tryKubectl(inject("controlPlane"), [
        "get",
        "-n",
        namespace,
        ...args,
        "--as=carol",
        "-o",
        "name",
      ]);
      return code === 0 ? "shown" : stderr;
    };
    await becomes("carol to be let in", () => get("shsec", open.name), "shown");
    expect(await get("shsec", closed.name)).toContain("Forbidden");
    expect(await get("shsec")).toContain("Forbidden");
    expect(await get("secrets")).toContain("Forbidden");

    await api.merge(open.path, { spec: { access: [] } });
    await becomes(
      "carol to be shut out",
      async () => (await get("shsec", open.name)).includes("Forbidden"),
      true,
    );
  });

  it("can list and watch only by the field selector of that name", async () => {
    const namespace = await makeNamespace();
    const place = await makeSharedSecret({
      namespace,
      spec: { access: [{ users: ["carol"], verbs: ["list"] }] },
    });
    await becomesReady(place);
    const list = async (query: string) =>
      (await as({ user: "carol" }).get(place.path.replace(/\/[^/]+$/, query))).code;
    await becomes(
      "the list to be allowed",
      () => list(`?fieldSelector=metadata.name%3D${place.name}`),
      200,
    );
    expect(await list("")).toBe(403);
  });

  it("has the permissions that SelfSubjectAccessReview reports", async () => {
    const namespace = await makeNamespace();
    const place = await makeSharedSecret({
      namespace,
      spec: { access: [{ users: ["carol"], verbs: ["get"] }] },
    });
    await becomesReady(place);
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const review = (user: string, name: string) => {
      const resourceAttributes = {
        group: "management.service",
        resource: "sharedsecrets",
        verb: "get",
        namespace,
        name,
      };
      return as({ user }).create(path, { spec: { resourceAttributes } });
    };
    await becomes("carol to be let in", () => review("carol", place.name), {
      status: { allowed: true },
    });
    expect(await review("carol", "another")).toMatchObject({ status: { allowed: false } });
    expect(await review("dave", place.name)).toMatchObject({ status: { allowed: false } });
  });
});

describe("each verb", () => {
  const holders = [...sixVerbs, "*"].map((verb) => ({
    verb,
    user: `holder-of-${verb === "*" ? "all" : verb}`,
  }));
  let place: Place;
  beforeAll(async () => {
    const namespace = await makeNamespace();
    const access = holders.map(({ verb, user }) => ({ name: user, users: [user], verbs: [verb] }));
    place = await makeSharedSecret({ namespace, spec: { access } });
    await becomesReady(place);
  });

  it.each(holders)("$verb is granted on this object only", async ({ verb, user }) => {
    const granted = async ({ namespace, name }: Pick<Place, "namespace" | "name">) => {
      const verbs = [...sixVerbs, ...neverGranted, "*"];
      const answers = await Promise.all(
        verbs.map((action) => may({ user }, { verb: action, namespace, name })),
      );
      return verbs.filter((_, index) => answers[index]);
    };
    await becomes(
      `${user} to hold the verb`,
      () => granted(place),
      verb === "*" ? sixVerbs : [verb],
    );
    expect(await granted({ namespace: place.namespace, name: "another" })).toEqual([]);
    expect(await granted({ namespace: "default", name: place.name })).toEqual([]);
    expect(
      await may(
        { user },
        {
          verb: verb === "*" ? "get" : verb,
          namespace: place.namespace,
          name: place.name,
          subresource: "status",
        },
      ),
    ).toBe(false);
  });

  it("in equal lists shares one Role, and the status counts the Roles", async () => {
    expect(await view(place)).toMatchObject({
      access: { roles: 7, bindings: 7 },
      conditions: { AccessApplied: { status: "True" } },
    });
  });
});

interface Naming {
  rule: string;
  spec: (namespace: string) => object;
  named: (namespace: string) => Caller;
  others: (namespace: string) => Caller;
  verbs?: string[];
  subresource?: string;
}

const robot = (namespace: string, name = "robot"): Caller => ({
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: ["system:serviceaccounts"],
});
const read = { verbs: ["get"] };

const namings: Naming[] = [
  {
    rule: "a user",
    spec: () => ({ access: [{ users: ["carol"], ...read }] }),
    named: () => ({ user: "carol" }),
    others: () => ({ user: "Carol" }),
  },
  {
    rule: "a team as a group",
    spec: () => ({ access: [{ teams: ["Payments Team"], ...read }] }),
    named: () => ({ user: "erin", groups: ["Payments Team"] }),
    others: () => ({ user: "Payments Team" }),
  },
  {
    rule: "a user name in the format of an identity provider",
    spec: () => ({
      access: [{ users: ["oidc:Ann O'Neill <ann@example.com>", "\u{1F511} key"], ...read }],
    }),
    named: () => ({ user: "oidc:Ann O'Neill <ann@example.com>" }),
    others: () => ({ user: "ann@example.com" }),
  },
  {
    rule: "all authenticated users, by * in users",
    spec: () => ({ access: [{ users: ["*"], ...read }] }),
    named: () => ({ user: "somebody" }),
    others: () => ({ user: "system:anonymous", groups: ["system:unauthenticated"] }),
  },
  {
    rule: "all authenticated users, by * in teams",
    spec: () => ({ access: [{ teams: ["*"], ...read }] }),
    named: () => ({ user: "somebody" }),
    others: () => ({ user: "system:anonymous", groups: ["system:unauthenticated"] }),
  },
  {
    rule: "a service account",
    spec: (namespace) => ({
      access: [{ users: [`system:serviceaccount:${namespace}:robot`], ...read }],
    }),
    named: (namespace) => robot(namespace),
    others: (namespace) => robot(namespace, "another"),
  },
  {
    rule: "the status, by its subresource",
    spec: () => ({
      access: [{ users: ["carol"], subresources: ["status"], verbs: ["get", "patch"] }],
    }),
    named: () => ({ user: "carol" }),
    others: () => ({ user: "dave" }),
    verbs: ["get", "patch"],
    subresource: "status",
  },
  {
    rule: "every subresource",
    spec: () => ({ access: [{ users: ["carol"], subresources: ["*"], verbs: ["*"] }] }),
    named: () => ({ user: "carol" }),
    others: () => ({ user: "dave" }),
    verbs: sixVerbs,
    subresource: "status",
  },
  {
    rule: "the owning user",
    spec: () => ({ owner: { user: "olga" } }),
    named: () => ({ user: "olga" }),
    others: () => ({ user: "dave", groups: ["olga"] }),
    verbs: sixVerbs,
  },
  {
    rule: "the owning user, on the status",
    spec: () => ({ owner: { user: "olga" } }),
    named: () => ({ user: "olga" }),
    others: () => ({ user: "dave" }),
    verbs: sixVerbs,
    subresource: "status",
  },
  {
    rule: "the owning team",
    spec: () => ({ owner: { user: "olga", team: "Owners" } }),
    named: () => ({ user: "dave", groups: ["Owners"] }),
    others: () => ({ user: "Owners" }),
    verbs: sixVerbs,
  },
];

describe.concurrent("access can be granted to", () => {
  it.each(namings)("$rule", async ({ spec, named, others, verbs = ["get"], subresource }) => {
    const namespace = await makeNamespace();
    const { name, ...place } = await makeSharedSecret({ namespace, spec: { ...spec(namespace) } });
    await becomesReady({ name, ...place });
    const allowedVerbs = async (caller: Caller) => {
      const action = { namespace, name, ...(subresource !== undefined && { subresource }) };
      const answers = await Promise.all(
        [...sixVerbs, ...neverGranted].map(async (verb) =>
          (await may(caller, { verb, ...action })) ? [verb] : [],
        ),
      );
      return answers.flat();
    };
    await becomes("the verbs to be allowed", () => allowedVerbs(named(namespace)), verbs);
    expect(await allowedVerbs(others(namespace))).toEqual([]);
  });
});
