import { beforeAll, describe, expect, inject, it } from "vitest";
import { cleanupFinalizer } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import {
  admin,
  api,
  arrange,
  ask,
  makeNamespace,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import {
  collectionOf,
  gone,
  grantUser,
  made,
  manifest,
  merge,
  requestedKinds,
  withPolicies,
} from "./policy-fixture.ts";

const updater: Caller = { user: unique("updater") };
const remover: Caller = { user: unique("remover") };
const cleanup = { finalizers: [cleanupFinalizer] };
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  const plurals = ["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"];
  const all = `management.service ${plurals.flatMap((plural) => [plural, `${plural}/status`]).join()}`;
  for (const user of [updater, remover]) await grantUser(user, `get,update,patch ${all}`);
  await grantUser(updater, `delete ${all} somebody-elses`);
  await grantUser(remover, `delete ${all}`);
});

withPolicies.each([{ kind: "SharedSecret", plural: "sharedsecrets" }, ...requestedKinds])(
  "a user who may update but not delete a $kind",
  ({ kind, plural }) => {
    const stored = (metadata: object = {}): Promise<string> =>
      made(
        kind === "SharedSecret" ? sharedSecretPath(namespace) : collectionOf(plural),
        manifest(kind, { name: unique("kept"), ...metadata }),
      );
    const change = (caller: Caller, path: string, metadata: object): Promise<Answer> =>
      merge(caller, path, { metadata });

    const other = "example.com/other";
    const owners = "metadata.ownerReferences";
    const finalizer = `metadata.finalizers[${cleanupFinalizer}]`;
    it.each<[rule: string, from: object, to: object, field: string]>([
      ["cannot add an owner that does not exist", {}, { ownerReferences: [gone] }, owners],
      [
        "cannot remove its owners",
        { ownerReferences: [{ ...gone, kind: "Nothing" }] },
        { ownerReferences: null },
        owners,
      ],
      [
        "cannot remove the cleanup finalizer",
        { finalizers: [cleanupFinalizer, other] },
        { finalizers: [other] },
        finalizer,
      ],
      [
        "cannot add the cleanup finalizer to an object from before it was added on create",
        { finalizers: null },
        cleanup,
        finalizer,
      ],
    ])("%s", async (_rule, from, to, field) => {
      const path = await stored(from);
      // On create, the cleanup finalizer is added.
      if ("finalizers" in from) await change(remover, path, from);
      const refused = await change(updater, path, to);
      expect(refused).toMatchObject({ code: 403, reason: "Forbidden" });
      expect(refused.message).toContain(
        `${updater.user} may not change ${field} of ${kind} ${kind === "SharedSecret" ? `${namespace}/` : ""}kept-`,
      );
      expect(await change(remover, path, to)).toMatchObject({ code: 200 });
    });

    it("can change other finalizers and labels", async () => {
      const path = await stored(cleanup);
      for (const metadata of [
        { labels: { a: "b" }, finalizers: [cleanupFinalizer, other] },
        cleanup,
      ])
        expect(await change(updater, path, metadata)).toMatchObject({ code: 200 });
    });

    it("cannot remove the finalizer of an object in deletion", async () => {
      const path = await stored(cleanup);
      await arrange({ method: "DELETE", path });
      expect(await change(updater, path, { finalizers: null })).toMatchObject({ code: 403 });
      expect(await change(remover, path, { finalizers: null })).toMatchObject({ code: 200 });
      expect(await ask(admin, { method: "GET", path })).toMatchObject({ code: 404 });
    });

    it("cannot change finalizers and owners through the status", async () => {
      const path = await stored(cleanup);
      // The status of keys and tokens is locked for all users.
      await change(updater, `${path}/status`, { finalizers: null, ownerReferences: [gone] });
      const { metadata } = await arrange({ method: "GET", path });
      expect(metadata).toMatchObject(cleanup);
      expect(metadata.ownerReferences).toBeUndefined();
    });
  },
);

describe.skipIf(!inject("hasPolicies") || !inject("controlPlane").hasControllerManager)(
  "the garbage collector",
  () => {
    it("can delete an object with its owner and remove the reference to an owner, which users cannot", async () => {
      const owned = async (what: string) => {
        const name = unique("owner");
        const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
        const owner = await made(configMaps, { metadata: { name } });
        const { uid } = (await arrange({ method: "GET", path: owner })).metadata;
        const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name, uid }];
        const metadata = { name: unique(what), ownerReferences };
        const path = await made(sharedSecretPath(namespace), manifest("SharedSecret", metadata));
        return { owner, path };
      };
      // The collector orphans only the dependents that it knows by then and deletes the others. It
      // reads events of one resource in order: once it has deleted the newer SharedSecret, it knows
      // the older one.
      const orphaned = await owned("orphaned");
      const deleted = await owned("deleted");
      await api.delete(deleted.owner);
      await eventually(
        async () => (await ask({}, { method: "GET", path: deleted.path })).code === 404,
        { what: "the SharedSecret to be deleted with its owner", within: 120_000 },
      );
      await api.orphan(orphaned.owner);
      const lone = () => arrange({ method: "GET", path: orphaned.path });
      await eventually(async () => (await lone()).metadata.ownerReferences === undefined, {
        what: "the SharedSecret to be orphaned",
        within: 120_000,
      });
      expect(await lone()).toMatchObject({ code: 200 });
    });
  },
);
