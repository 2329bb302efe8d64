import { beforeAll, afterAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { becomes } from "../support/becomes.ts";
import {
  api,
  as,
  request,
  ask,
  bind,
  makeNamespace,
  type Caller,
} from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  may,
  view,
} from "../support/shared-secret-requests.ts";

afterAll(expectNoTrouble);

interface Mistake {
  rule: string;
  spec: Record<string, unknown>;
  /** Texts of the message that name the field and the error. */
  says: string[];
}

const bad = (entry: object) => ({
  access: [
    { name: "readers", users: ["carol"], verbs: ["get"] },
    { name: "wrong", users: ["mallory"], ...entry },
  ],
});

const mistakes: Mistake[] = [
  {
    rule: "create",
    spec: bad({ verbs: ["get", "create"] }),
    says: ['spec.access[1].verbs[1]: "create"', "cannot limit it to one object"],
  },
  {
    rule: "deletecollection",
    spec: bad({ verbs: ["deletecollection"] }),
    says: ['spec.access[1].verbs[0]: "deletecollection"'],
  },
  {
    rule: "an unknown verb",
    spec: bad({ verbs: ["get", "fly"] }),
    says: ['spec.access[1].verbs[1]: "fly" is not supported; must be one of delete, get'],
  },
  { rule: "a verb in capitals", spec: bad({ verbs: ["GET"] }), says: ['"GET"'] },
  {
    rule: "no verbs",
    spec: bad({ verbs: [] }),
    says: ["spec.access[1].verbs: must not be empty"],
  },
  { rule: "missing verbs", spec: bad({}), says: ["spec.access[1].verbs: must not be empty"] },
  { rule: "create in addition to *", spec: bad({ verbs: ["*", "create"] }), says: ['"create"'] },
  {
    rule: "an unknown subresource",
    spec: bad({ verbs: ["get"], subresources: ["scale"] }),
    says: ['spec.access[1].subresources[0]: "scale"', "must be status or *"],
  },
  {
    rule: "system:masters as a team",
    spec: bad({ verbs: ["get"], teams: ["system:masters"] }),
    says: ['spec.access[1].teams[0]: "system:masters"'],
  },
  {
    rule: "a system user",
    spec: bad({ verbs: ["get"], users: ["mallory", "system:kube-scheduler"] }),
    says: ['"system:kube-scheduler"'],
  },
  {
    rule: "an empty name",
    spec: bad({ verbs: ["get"], users: ["mallory", ""] }),
    says: ["spec.access[1].users[1]: must not be empty"],
  },
  {
    rule: "an invalid service account",
    spec: bad({ verbs: ["get"], users: ["mallory", "system:serviceaccount:default:a..b"] }),
    says: ['"system:serviceaccount:default:a..b"'],
  },
  {
    rule: "a service account with a name that is too long",
    spec: bad({
      verbs: ["get"],
      users: ["mallory", `system:serviceaccount:default:${"a".repeat(254)}`],
    }),
    says: ['spec.access[1].users[1]: "system:serviceaccount:default:aaa'],
  },
  {
    rule: "an owner of the system",
    spec: { ...bad({ verbs: ["get"] }), owner: { user: "mallory", team: "system:masters" } },
    says: ['spec.owner.team: "system:masters"'],
  },
];

describe("a Role that the API server rejects", () => {
  it("is reported in the status, and created when the cause is gone", async () => {
    const namespace = await makeNamespace();
    const quota = `/api/v1/namespaces/${namespace}/resourcequotas`;
    const hard = { "count/roles.rbac.authorization.k8s.io": "0" };
    await api.create(quota, { metadata: { name: "none" }, spec: { hard } });
    await becomes("the quota to count", () => api.find(`${quota}/none`), { status: { hard } });
    const place = await makeSharedSecret({
      namespace,
      spec: { access: [{ users: ["carol"], verbs: ["get"] }] },
    });
    const refused = {
      status: "False",
      reason: "AccessRejected",
      message: expect.stringContaining("exceeded quota: none"),
    };
    await becomes("the refusal to be reported", () => view(place), {
      conditions: { Ready: refused, AccessApplied: refused },
    });
    await api.merge(`${quota}/none`, {
      spec: { hard: { "count/roles.rbac.authorization.k8s.io": "9" } },
    });
    await becomesReady(place);
  });
});

describe.concurrent("an access rule that cannot be granted", () => {
  it.each(mistakes)(
    "stalls the object and does not affect other rules: $rule",
    async ({ rule, spec, says }) => {
      const namespace = await makeNamespace();
      const place = await makeSharedSecret({ namespace, spec });
      const trouble = { status: "False", reason: "InvalidAccessRule" };
      const stalled = { status: "True", reason: "InvalidAccessRule" };
      await becomes("the mistake to be reported", () => view(place), {
        settled: true,
        conditions: { Ready: trouble, AccessApplied: trouble, Stalled: stalled },
        access: rule === "an owner of the system" ? { roles: 1 } : { roles: 1, bindings: 1 },
      });
      const { conditions } = await view(place);
      for (const words of says) expect(conditions.Ready?.message).toContain(words);

      const isAllowed = (user: string, verb: string) =>
        may({ user }, { verb, namespace, name: place.name });
      await becomes("the other rule to be applied", () => isAllowed("carol", "get"), true);
      expect(await isAllowed("mallory", "delete")).toBe(false);
      const fixed = { name: "right", users: ["mallory"], verbs: ["get", "list"] };
      await api.merge(place.path, {
        spec: { access: [{ users: ["carol"], verbs: ["get"] }, fixed], owner: null },
      });
      await becomesReady(place);
      expect((await view(place)).conditions).not.toHaveProperty("Stalled");
      await becomes("the corrected rule to be applied", () => isAllowed("mallory", "list"), true);
    },
  );

  it("grants nothing, not even its valid verbs", async () => {
    const namespace = await makeNamespace();
    const place = await makeSharedSecret({
      namespace,
      spec: bad({ verbs: ["get", "create", "update"] }),
    });
    await becomes(
      "the good rule to be applied",
      () => may({ user: "carol" }, { verb: "get", namespace, name: place.name }),
      true,
    );
    await becomes("the mistake to be reported", () => view(place), {
      conditions: { Ready: { status: "False" } },
    });
    for (const verb of ["get", "create", "update"]) {
      expect(await may({ user: "mallory" }, { verb, namespace, name: place.name })).toBe(false);
    }
  });

  it("revokes what it granted while it was valid", async () => {
    const namespace = await makeNamespace();
    const place = await makeSharedSecret({
      namespace,
      spec: { access: [{ users: ["carol"], verbs: ["get"] }] },
    });
    const isAllowed = () => may({ user: "carol" }, { verb: "get", namespace, name: place.name });
    await becomes("the rule to be applied", isAllowed, true);
    await api.merge(place.path, {
      spec: { access: [{ users: ["carol"], verbs: ["get", "create"] }] },
    });
    await becomes("the rule to be taken back", isAllowed, false);
    await becomes("all mistakes to be reported", () => view(place), {
      access: { roles: 0, bindings: 0 },
      conditions: { Stalled: { status: "True" } },
    });
  });
});

describe.skipIf(!inject("hasPolicies")).concurrent("a user with only the verb update", () => {
  const updater: Caller = { user: "uma" };
  const access = [{ name: "updaters", users: ["uma"], verbs: ["get", "update"] }];
  const sync = { [annotations.syncToProjects]: "web" };
  beforeAll(() => bind({ kind: "User", name: "uma" }, "latchkey-project-sharer"));

  async function put(edit: (object: Record<string, unknown>) => object) {
    const namespace = await makeNamespace();
    const spec = { access, owner: { user: "olga" }, data: { password: base64("first") } };
    const place = await makeSharedSecret({ namespace, annotations: sync, spec });
    await becomesReady(place);
    await becomes(
      "uma to hold update",
      () => may(updater, { verb: "update", namespace, name: place.name }),
      true,
    );
    for (;;) {
      const { code: _, ...object } = await api.find(place.path);
      const answer = await as(updater).replace(place.path, edit(object));
      // The controller may write the status in between.
      if (answer.code !== 409) return { answer, place, spec };
    }
  }

  it("can change data and description", async () => {
    const data = { password: base64("second"), more: base64("third") };
    const { answer } = await put((object) => ({
      ...object,
      spec: { access, owner: { user: "olga" }, data, description: "new words" },
    }));
    expect(answer).toMatchObject({ code: 200, spec: { data } });
  });

  const rights = [
    {
      field: "spec.access",
      spec: { access: [{ users: ["uma"], verbs: ["*"] }], owner: { user: "olga" } },
      given: sync,
    },
    { field: "spec.owner", spec: { access, owner: { user: "uma" } }, given: sync },
    {
      field: `metadata.annotations[${annotations.syncToProjects}]`,
      spec: { access, owner: { user: "olga" } },
      given: { [annotations.syncToProjects]: "*" },
    },
    {
      field: `metadata.annotations[${annotations.syncSecretName}]`,
      spec: { access, owner: { user: "olga" } },
      given: { ...sync, [annotations.syncSecretName]: "tls" },
    },
  ];
  it.each(rights)("cannot change $field", async ({ field, spec, given }) => {
    const { answer, place } = await put((object) => ({
      ...object,
      metadata: { ...Object(object.metadata), annotations: given },
      spec,
    }));
    expect(answer).toMatchObject({ code: 403, message: expect.stringContaining(field) });
    expect(await api.find(place.path)).toMatchObject({
      metadata: { annotations: sync },
      spec: { access, owner: { user: "olga" } },
    });
  });

  it("cannot do anything else", async () => {
    const { place } = await put((object) => object);
    const patch = request.merge(place.path, { spec: { description: "new words" } });
    expect(await ask(updater, patch)).toMatchObject({ code: 403 });
    expect(await as(updater).delete(place.path)).toMatchObject({ code: 403 });
    expect(await as(updater).get(`${place.path}/status`)).toMatchObject({
      code: 403,
    });
  });
});
