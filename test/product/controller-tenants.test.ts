import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { annotations, apiVersion } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { repository } from "../support/install.ts";
import { eventually } from "../support/eventually.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import {
  api,
  as,
  allow,
  ask,
  bind,
  makeNamespace,
  unique,
  type Answer,
  type Ask,
  type Caller,
} from "../support/policy-request.ts";
import {
  base64,
  makeTarget,
  secretPath,
  sharedSecretPath,
  view,
} from "../support/shared-secret-requests.ts";
import { to } from "./sync-fixture.ts";

/**
 * A tenant with a namespace, a project, a namespace of that project, and the account of
 * config/tenants/deployer.yaml.
 */
interface Tenant {
  readonly project: string;
  readonly namespace: string;
  readonly target: string;
  readonly deployer: Caller;
}

const collections: Readonly<Record<string, string>> = {
  ServiceAccount: "/api/v1",
  RoleBinding: "/apis/rbac.authorization.k8s.io/v1",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1",
};

async function makeTenant(): Promise<Tenant> {
  const [project, namespace] = [unique("project"), await makeNamespace()];
  const text = readFileSync(join(repository, "config", "tenants", "deployer.yaml"), "utf8")
    .replaceAll("team-a", namespace)
    .replaceAll("[web]", `[${project}]`);
  for (const object of loadAll(text)) {
    const kind = stringAt(object, "kind") ?? "";
    const within = stringAt(recordAt(object, "metadata"), "namespace");
    await api.create(
      `${collections[kind]}${within === undefined ? "" : `/namespaces/${within}`}/${kind.toLowerCase()}s`,
      object,
    );
  }
  const deployer: Caller = {
    user: `system:serviceaccount:${namespace}:deployer`,
    groups: [
      "system:serviceaccounts",
      `system:serviceaccounts:${namespace}`,
      "system:authenticated",
    ],
  };
  return { project, namespace, target: await makeTarget(project), deployer };
}

function sharedSecret({
  namespace,
  name,
  data,
  given,
}: {
  namespace: string;
  name: string;
  data: string;
  given: Readonly<Record<string, string>>;
}): Ask {
  const body = {
    apiVersion,
    kind: "SharedSecret",
    metadata: { name, annotations: given },
    spec: { data: { password: base64(data) } },
  };
  return { method: "POST", path: sharedSecretPath(namespace), body };
}

/** Waits until the Secret `db` in this namespace contains this text; returns the text. */
async function waitForText(target: string, text: string): Promise<string> {
  await becomes(`${target}/db to hold ${text}`, () => api.find(secretPath(target, "db")), {
    code: 200,
    data: { password: base64(text) },
  });
  return text;
}
const refusedShare = { code: 403, message: expect.stringContaining("the verb share on") };
/** Lets a tenant sync a Secret with the name that another tenant uses. */
const renamed = { [annotations.syncSecretName]: "db" };

describe.skipIf(!inject("hasPolicies") || !inject("controlPlane").hasControllerManager)(
  "each of two tenants",
  () => {
    let a: Tenant;
    let b: Tenant;

    beforeAll(async () => {
      [a, b] = await Promise.all([makeTenant(), makeTenant()]);
      for (const { namespace, project, deployer } of [a, b]) {
        const request = sharedSecret({
          namespace,
          name: "db",
          data: namespace,
          given: to(project),
        });
        await becomes("the deployer's rights to be known", () => ask(deployer, request), {
          code: 201,
        });
      }
    });

    test("can sync to its own project", async () => {
      for (const { namespace, target } of [a, b])
        expect(await waitForText(target, namespace)).toBe(namespace);
    });

    test("cannot sync to the other project, with any name and by any request", async () => {
      for (const list of [
        b.project,
        `${a.project}, ${b.project}`,
        "*",
        `${b.project.slice(0, -1)}*`,
      ]) {
        expect(
          await ask(
            a.deployer,
            sharedSecret({
              namespace: a.namespace,
              name: unique("db"),
              data: "evil",
              given: to(list, renamed),
            }),
          ),
        ).toMatchObject(refusedShare);
      }
      const body = { metadata: { annotations: to(b.project) } };
      expect(await as(a.deployer).merge(sharedSecretPath(a.namespace, "db"), body)).toMatchObject(
        refusedShare,
      );
      expect(
        await as(a.deployer).merge(sharedSecretPath(b.namespace, "db"), { spec: { data: {} } }),
      ).toMatchObject({ code: 403 });
    });

    test("cannot take over a target while the source of the other tenant is recreated", async () => {
      const waiting = unique("waiting");
      expect(
        await ask(
          a.deployer,
          sharedSecret({
            namespace: a.namespace,
            name: waiting,
            data: "evil",
            given: to(a.project, { [annotations.syncSecretName]: "waiting" }),
          }),
        ),
      ).toMatchObject({ code: 201 });
      await api.delete(sharedSecretPath(b.namespace, "db"));
      await becomesGone(secretPath(b.target, "db"));
      // Its finalizer is removed after the copy; until then its name is taken.
      await becomesGone(sharedSecretPath(b.namespace, "db"));
      expect(
        await as(a.deployer).merge(sharedSecretPath(a.namespace, waiting), {
          metadata: { annotations: to(b.project, renamed) },
        }),
      ).toMatchObject(refusedShare);
      expect(
        await ask(
          b.deployer,
          sharedSecret({ namespace: b.namespace, name: "db", data: "again", given: to(b.project) }),
        ),
      ).toMatchObject({ code: 201 });
      expect(await waitForText(b.target, "again")).toBe("again");
    });

    test("cannot assign its namespace to the other project", async () => {
      const body = {
        metadata: {
          labels: { "management.service/project": b.project, "management.service/space": "s" },
        },
      };
      expect(await as(a.deployer).merge(`/api/v1/namespaces/${a.namespace}`, body)).toMatchObject({
        code: 403,
      });
      // Not even if its account may write its namespace.
      await allow({ kind: "User", name: a.deployer.user ?? "" }, [
        {
          apiGroups: [""],
          resources: ["namespaces"],
          resourceNames: [a.namespace],
          verbs: ["get", "update", "patch"],
        },
      ]);
      const answer = async (): Promise<Answer> =>
        as(a.deployer).merge(`/api/v1/namespaces/${a.namespace}`, body);
      await eventually(async () => (await answer()).message.includes("the verb assign on"), {
        what: "the policy to be asked",
      });
      expect(await answer()).toMatchObject({ code: 403 });
    });

    test("cannot create an access key for the other user, or read the keys of the other", async () => {
      for (const { deployer } of [a, b])
        await bind({ kind: "User", name: deployer.user ?? "" }, "latchkey-requester");
      const keys = `/apis/${apiVersion}/ownedaccesskeys`;
      const key = (name: string, spec: object): Ask => ({
        method: "POST",
        path: keys,
        body: {
          apiVersion,
          kind: "OwnedAccessKey",
          metadata: { name },
          spec: { key: unique("sixteen-characters"), ...spec },
        },
      });
      const robot = unique("robot");
      await becomes("the right to make keys to be known", () => ask(b.deployer, key(robot, {})), {
        code: 201,
      });
      for (const spec of [
        { user: unique("admin-of-b") },
        { subject: "robot-of-b" },
        { team: "team-of-b" },
        { groups: ["deployers-of-b"] },
      ]) {
        expect(await ask(a.deployer, key(unique("key"), spec))).toMatchObject({
          code: 403,
          message: expect.stringContaining("impersonate"),
        });
      }
      expect(await ask(a.deployer, key(unique("key"), { user: b.deployer.user }))).toMatchObject({
        code: 403,
      });
      for (const method of ["GET", "DELETE"] as const)
        expect(await ask(a.deployer, { method, path: `${keys}/${robot}` })).toMatchObject({
          code: 403,
        });
    });
  },
);

describe.skipIf(!inject("hasPolicies") || !inject("controlPlane").hasControllerManager)(
  "two tenants that may both sync to one project",
  () => {
    /** Both sync `db` to it, b first; then b deletes its source and creates it again. */
    async function recreated(
      takes: (b: Tenant) => string | undefined,
    ): Promise<{ a: Tenant; b: Tenant; target: string }> {
      const [a, b] = await Promise.all([makeTenant(), makeTenant()]);
      const share = [
        {
          apiGroups: ["management.service"],
          resources: ["projects"],
          resourceNames: [b.project],
          verbs: ["share"],
        },
      ];
      await allow({ kind: "User", name: a.deployer.user ?? "" }, share);
      const target = await makeTarget(b.project, takes(b));
      const offer = async ({ deployer, namespace }: Tenant, data: string): Promise<void> => {
        await becomes(
          "the SharedSecret to be made",
          () => ask(deployer, sharedSecret({ namespace, name: "db", data, given: to(b.project) })),
          { code: 201 },
        );
      };
      await offer(b, "of b");
      await waitForText(target, "of b");
      // Timestamps have whole seconds, and the older source owns the target.
      const { metadata } = await api.find(sharedSecretPath(b.namespace, "db"));
      await eventually(() => Date.now() >= Date.parse(String(metadata.creationTimestamp)) + 2_000, {
        what: "two seconds to pass",
      });
      await offer(a, "of a");
      await becomes(
        "the younger to be looked at",
        async () => (await view({ path: sharedSecretPath(a.namespace, "db") })).settled,
        true,
      );
      await waitForText(target, "of b");
      await api.delete(sharedSecretPath(b.namespace, "db"));
      await becomesGone(sharedSecretPath(b.namespace, "db"));
      await eventually(
        async () =>
          Date.now() >=
          Date.parse(
            String(
              (await api.find(sharedSecretPath(a.namespace, "db"))).metadata.creationTimestamp,
            ),
          ) +
            2_000,
        { what: "two seconds to pass" },
      );
      await offer(b, "of b again");
      return { a, b, target };
    }

    test("the other tenant gets the target when a source is recreated", async () => {
      const { b, target } = await recreated(() => undefined);
      expect(await waitForText(target, "of a")).toBe("of a");
      await becomes(
        "the recreated source to say so",
        async () =>
          JSON.stringify((await view({ path: sharedSecretPath(b.namespace, "db") })).sync).includes(
            "OlderSource",
          ),
        true,
      );
    });

    test("the other tenant does not get the target if sync-from of the namespace excludes it", async () => {
      const { target } = await recreated(({ namespace }) => namespace);
      expect(await waitForText(target, "of b again")).toBe("of b again");
    });
  },
);
