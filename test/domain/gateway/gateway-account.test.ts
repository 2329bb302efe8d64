import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { expect, test } from "vitest";
import { stringAt } from "../../../src/api/parse.ts";
import { gatewayAccountManifests } from "../../../src/domain/gateway/gateway-account.ts";

const config = (path: string): readonly unknown[] =>
  loadAll(readFileSync(new URL(`../../../config/${path}`, import.meta.url), "utf8"));

test("the account that cluster connect prints is that of config/connected-cluster", () => {
  const applied = [
    ...config("connected-cluster/account.yaml"),
    ...config("gateway-impersonation/impersonation.yaml"),
  ].filter((object) => stringAt(object, "kind") !== "Namespace");
  const printed = gatewayAccountManifests("latchkey-system");
  expect(printed).toHaveLength(applied.length);
  expect(printed).toEqual(expect.arrayContaining(applied));
});
