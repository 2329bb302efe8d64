import { expect, test } from "vitest";
import { endpointTokenReconciler } from "../../src/controllers/kinds/endpoint-token.ts";
import { ownedAccessKeyReconciler } from "../../src/controllers/kinds/owned-access-key.ts";
import { sharedSecretReconciler } from "../../src/controllers/kinds/shared-secret.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import type { World } from "../../src/controllers/world.ts";
import { busyWorld } from "./busy-world.ts";
import { refusal } from "../support/fake-client.ts";

test.for<[string, Reconciler<World>, string, plural: string]>([
  ["SharedSecret", sharedSecretReconciler, "team/db", "sharedsecrets"],
  ["deleted SharedSecret", sharedSecretReconciler, "team/going", "sharedsecrets"],
  ["key", ownedAccessKeyReconciler, "new", "ownedaccesskeys"],
  ["deleted key", ownedAccessKeyReconciler, "going", "ownedaccesskeys"],
  ["token", endpointTokenReconciler, "t", "directclusterendpointtokens"],
  ["deleted token", endpointTokenReconciler, "going", "directclusterendpointtokens"],
])("a %s reports writes that have failed for 30 s", async ([, reconciler, key, plural]) => {
  const { client, clock, reconcile } = await busyWorld({
    answer({ verb, ref }) {
      if (verb.startsWith("get")) return refusal("NotFound", { objectName: ref.name });
      return verb === "review" ? undefined : refusal("ServerError", { message: "is away" });
    },
  });
  const said: string[] = [];
  for (const ms of [0, 1_000, 2_000, 29_000, 1_000]) {
    clock.advance(ms);
    client.requests.splice(0);
    await reconcile(reconciler, key).catch(() => {});
    const last = client.requests.findLast(({ resource }) => resource.plural === plural);
    said.push(JSON.stringify(last?.body ?? null));
  }
  expect(said.slice(0, 3).join(" ")).not.toContain("is away");
  expect(said.at(-1)).toContain("is away");
});
