import { expect, test } from "vitest";
import type { Cluster } from "../../../src/client/connection/cluster.ts";
import { readRoles } from "../../../src/client/explain/plan-roles.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { rawObject } from "../../support/fake-list-watch.ts";
import { fakeCluster } from "../fake-cluster.ts";

const namespaces = Array.from({ length: 21 }, (_, index) => `web-${index}`);
const roleIn = (namespace: string) => rawObject({ namespace, name: `of-${namespace}` });

/** The requests for the Roles of namespaces, and the names of the Roles that were found there. */
async function rolesOf(wanted: readonly string[], mayListAll: boolean) {
  const asked: string[] = [];
  const cluster: Cluster = {
    ...fakeCluster({ objects: {} }),
    list: async ({ plural }, namespace) => {
      asked.push(`${plural} ${namespace ?? "everywhere"}`);
      if (namespace === undefined && !mayListAll)
        throw new KubeError("no", { code: "Forbidden", status: 403 });
      const found = (namespace === undefined ? [...namespaces, "another"] : [namespace]).map(
        roleIn,
      );
      return plural === "roles" ? found : [];
    },
  };
  const roles = await readRoles(wanted, cluster);
  return {
    asked,
    names: [...roles].map(([name, live]) => [
      name,
      live?.roles.map(({ metadata }) => metadata.name),
    ]),
  };
}
const own = namespaces.map((name) => [name, [`of-${name}`]]);

test("the Roles of many namespaces are read by one list of each kind", async () => {
  expect(await rolesOf(namespaces, true)).toEqual({
    asked: ["roles everywhere", "rolebindings everywhere"],
    names: own,
  });
});

test("a user who may not list them everywhere reads those of each namespace", async () => {
  const { asked, names } = await rolesOf(namespaces, false);
  expect(names).toEqual(own);
  expect(asked).toHaveLength(2 + 2 * namespaces.length);
});

test("the Roles of few namespaces are read there alone", async () => {
  const { asked, names } = await rolesOf(["web-1", "web-1"], true);
  expect(names).toEqual([["web-1", ["of-web-1"]]]);
  expect(asked).toEqual(["roles web-1", "rolebindings web-1"]);
});
