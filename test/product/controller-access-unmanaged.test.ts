import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import {
  api,
  as,
  request,
  ask,
  bind,
  makeNamespace,
  unique,
  type Answer,
} from "../support/policy-request.ts";
import {
  becomesReady,
  makeSharedSecret,
  may,
  rbacPath,
  type Place,
} from "../support/shared-secret-requests.ts";

afterAll(expectNoTrouble);

/**
 * The administrator of a namespace, who may create Roles and bindings there and has no access to
 * Latchkey's objects.
 */
const tenant = { user: unique("tenant"), groups: ["system:authenticated"] };

let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  await bind({ kind: "User", name: tenant.user }, "admin", namespace);
  const asked = request.get(rbacPath("roles", namespace));
  await becomes("the tenant to be let in", () => ask(tenant, asked), { code: 200 });
});

/** A Role and a RoleBinding of the tenant, for reading ConfigMaps. */
async function makeOwn(
  metadata: Readonly<Record<string, unknown>> & { readonly name: string },
): Promise<readonly string[]> {
  const { name } = metadata;
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "rosa" }];
  const answers: readonly Answer[] = [
    await as(tenant).create(rbacPath("roles", namespace), { metadata, rules }),
    await as(tenant).create(rbacPath("rolebindings", namespace), { metadata, roleRef, subjects }),
  ];
  expect(answers.map(({ code, message }) => `${code} ${message ?? ""}`)).toEqual(["201 ", "201 "]);
  return [rbacPath("roles", namespace, name), rbacPath("rolebindings", namespace, name)];
}

const ownedBy = ({ name, uid }: Pick<Place, "name" | "uid">) => ({
  ownerReferences: [{ apiVersion, kind: "SharedSecret", name, uid }],
});
const marked = ({ uid }: Pick<Place, "uid">) => ({ labels: { [labels.sourceUid]: uid } });
const noted = ({ name }: Pick<Place, "name">) => ({ annotations: { [annotations.source]: name } });

const ways: {
  rule: string;
  metadata: (
    place: Pick<Place, "name" | "uid">,
  ) => Readonly<Record<string, unknown>> & { readonly name: string };
}[] = [
  {
    rule: "owned by a SharedSecret, as in a Helm chart",
    metadata: (place) => ({ name: unique("own"), ...ownedBy(place) }),
  },
  {
    rule: "with a copy of Latchkey's label",
    metadata: (place) => ({ name: unique("latchkey-own"), ...marked(place), ...ownedBy(place) }),
  },
  {
    rule: "with a name in Latchkey's format, and owned",
    metadata: (place) => ({ name: `latchkey-${place.name}-0123456789abcdef`, ...ownedBy(place) }),
  },
  {
    rule: "with a name in Latchkey's format, and all its labels and annotations",
    metadata: (place) => ({
      name: `latchkey-${place.name}-0123456789abcdef`,
      ...marked(place),
      ...noted(place),
      ...ownedBy(place),
    }),
  },
];

describe.concurrent("a tenant's own Role and RoleBinding", () => {
  const make = () =>
    makeSharedSecret({
      namespace,
      name: unique("db"),
      spec: { access: [{ users: ["carol"], verbs: ["get"] }] },
    });

  async function expectUntouched(paths: readonly string[]): Promise<void> {
    const found = await Promise.all(paths.map((path) => as(tenant).get(path)));
    expect(found.map(({ code, metadata }) => [code, metadata.deletionTimestamp])).toEqual(
      paths.map(() => [200, undefined]),
    );
    expect(found.map(({ rules, subjects }) => rules ?? subjects)).toMatchObject([
      [{ resources: ["configmaps"] }],
      [{ name: "rosa" }],
    ]);
  }

  it.each(ways)("are not changed: $rule", async ({ metadata }) => {
    const place = await make();
    const paths = await makeOwn(metadata(place));
    await becomesReady(place);
    // Another reconcile of the namespace, and one that deletes the SharedSecret's objects.
    await becomesReady(await make());
    await expectUntouched(paths);
    // Garbage collection of objects with an ownerReference is up to the tenant, so it is disabled
    // here.
    await api.orphan(place.path);
    await becomesGone(place.path);
    expect(await may({ user: "carol" }, { verb: "get", namespace, name: place.name })).toBe(false);
    await becomesReady(await make());
    await expectUntouched(paths);
  });
});
