import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion, cleanupFinalizer } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import {
  allow,
  arrange,
  ask,
  makeNamespace,
  patchTypes,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";

const updater: Caller = { user: unique("updater") };
const remover: Caller = { user: unique("remover") };
const gone = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "gone",
  uid: "00000000-0000-0000-0000-000000000000",
};
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  const resources = ["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"];
  const rule = {
    apiGroups: ["management.service"],
    resources: [...resources, ...resources.map((plural) => `${plural}/status`)],
  };
  for (const { user = "" } of [updater, remover])
    await allow({ kind: "User", name: user }, [{ ...rule, verbs: ["get", "update", "patch"] }]);
  await allow({ kind: "User", name: updater.user ?? "" }, [
    { ...rule, resourceNames: ["somebody-elses"], verbs: ["delete"] },
  ]);
  await allow({ kind: "User", name: remover.user ?? "" }, [{ ...rule, verbs: ["delete"] }]);
});

const kinds = [
  { kind: "SharedSecret", plural: "sharedsecrets" },
  { kind: "OwnedAccessKey", plural: "ownedaccesskeys" },
  { kind: "DirectClusterEndpointToken", plural: "directclusterendpointtokens" },
] as const;

describe.skipIf(!inject("hasPolicies")).each(kinds)(
  "a user who may update but not delete a $kind",
  ({ kind, plural }) => {
    const place = (): string =>
      `/apis/${apiVersion}/${kind === "SharedSecret" ? `namespaces/${namespace}/` : ""}${plural}`;

    async function made(metadata: object = {}): Promise<string> {
      const { metadata: stored } = await arrange({
        method: "POST",
        path: place(),
        body: { apiVersion, kind, metadata: { name: unique("kept"), ...metadata }, spec: {} },
      });
      return `${place()}/${stored.name}`;
    }

    const merge = (caller: Caller, path: string, metadata: object): Promise<Answer> =>
      ask(caller, { method: "PATCH", path, type: patchTypes.merge, body: { metadata } });

    const changes: {
      rule: string;
      from?: object;
      isWithoutFinalizer?: true;
      to: object;
      field: string;
    }[] = [
      {
        rule: "cannot add an owner that does not exist",
        to: { ownerReferences: [gone] },
        field: "metadata.ownerReferences",
      },
      {
        rule: "cannot remove its owners",
        from: { ownerReferences: [{ ...gone, kind: "Nothing" }] },
        to: { ownerReferences: null },
        field: "metadata.ownerReferences",
      },
      {
        rule: "cannot remove the cleanup finalizer",
        from: { finalizers: [cleanupFinalizer, "example.com/other"] },
        to: { finalizers: ["example.com/other"] },
        field: `metadata.finalizers[${cleanupFinalizer}]`,
      },
      {
        rule: "cannot add the cleanup finalizer to an object from before it was added on create",
        isWithoutFinalizer: true,
        to: { finalizers: [cleanupFinalizer] },
        field: `metadata.finalizers[${cleanupFinalizer}]`,
      },
    ];
    it.each(changes)("$rule", async ({ from = {}, isWithoutFinalizer = false, to, field }) => {
      const path = await made(from);
      if (isWithoutFinalizer) await merge(remover, path, { finalizers: null });
      const refused = await merge(updater, path, to);
      expect(refused).toMatchObject({ code: 403, reason: "Forbidden" });
      expect(refused.message).toContain(
        `${updater.user} may not change ${field} of ${kind} ${kind === "SharedSecret" ? `${namespace}/` : ""}kept-`,
      );
      expect(await merge(remover, path, to)).toMatchObject({ code: 200 });
    });

    it("can change other finalizers and labels", async () => {
      const path = await made({ finalizers: [cleanupFinalizer] });
      expect(
        await merge(updater, path, {
          labels: { a: "b" },
          finalizers: [cleanupFinalizer, "example.com/other"],
        }),
      ).toMatchObject({ code: 200 });
      expect(await merge(updater, path, { finalizers: [cleanupFinalizer] })).toMatchObject({
        code: 200,
      });
    });

    it("cannot remove the finalizer of an object in deletion", async () => {
      const path = await made({ finalizers: [cleanupFinalizer] });
      await arrange({ method: "DELETE", path });
      expect(await merge(updater, path, { finalizers: null })).toMatchObject({ code: 403 });
      expect(await merge(remover, path, { finalizers: null })).toMatchObject({ code: 200 });
      expect(await ask({}, { method: "GET", path })).toMatchObject({ code: 404 });
    });

    it("cannot change finalizers and owners through the status", async () => {
      const path = await made({ finalizers: [cleanupFinalizer] });
      // The status of keys and tokens is locked for all users.
      await merge(updater, `${path}/status`, { finalizers: null, ownerReferences: [gone] });
      const { metadata } = await arrange({ method: "GET", path });
      expect(metadata).toMatchObject({ finalizers: [cleanupFinalizer] });
      expect(metadata.ownerReferences).toBeUndefined();
    });
  },
);

describe.skipIf(!inject("hasPolicies") || !inject("controlPlane").hasControllerManager)(
  "the garbage collector",
  () => {
    it("can delete an object with its owner and remove the reference to an owner, which users cannot", async () => {
      const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
      const owned = async (what: string) => {
        const { metadata: owner } = await arrange({
          method: "POST",
          path: configMaps,
          body: { metadata: { name: unique("owner") } },
        });
        const ownerReferences = [
          { apiVersion: "v1", kind: "ConfigMap", name: owner.name, uid: owner.uid },
        ];
        const path = `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
        const { metadata } = await arrange({
          method: "POST",
          path,
          body: {
            apiVersion,
            kind: "SharedSecret",
            metadata: { name: unique(what), ownerReferences },
            spec: {},
          },
        });
        return { owner: `${configMaps}/${owner.name}`, path: `${path}/${metadata.name}` };
      };
      const remove = (path: string, propagationPolicy: "Background" | "Orphan") =>
        arrange({
          method: "DELETE",
          path,
          body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy },
        });
      // The collector orphans only the dependents that it knows by then and deletes the others. It
      // reads events of one resource in order: once it has deleted the newer SharedSecret, it knows
      // the older one.
      const orphaned = await owned("orphaned");
      const deleted = await owned("deleted");
      await remove(deleted.owner, "Background");
      await eventually(
        async () => (await ask({}, { method: "GET", path: deleted.path })).code === 404,
        { what: "the SharedSecret to be deleted with its owner", within: 120_000 },
      );
      await remove(orphaned.owner, "Orphan");
      const lone = () => arrange({ method: "GET", path: orphaned.path });
      await eventually(async () => (await lone()).metadata.ownerReferences === undefined, {
        what: "the SharedSecret to be orphaned",
        within: 120_000,
      });
      expect(await lone()).toMatchObject({ code: 200 });
    });
  },
);
