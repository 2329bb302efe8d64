import { beforeAll, describe, expect, inject, it } from "vitest";
import { managementPath } from "../support/gateway-address.ts";
import { askGateway } from "../support/gateway-request.ts";
import { makeKey, worksAs } from "../support/key-request.ts";
import { arrange, bind, unique } from "../support/policy-request.ts";
import {
  comparable,
  coversByLabel,
  scopedObjects,
  scopedRequests,
  scopeRows,
} from "../support/scope-table.ts";
import { askDirectly, askThroughGateway, gatewayKnows, selfReview } from "../support/ways-in.ts";

const admins = unique("admins");
const names = { web: unique("web"), pay: unique("pay"), other: unique("other") };
const { web } = names;
const covering = new Set([...coversByLabel, "a rule with the target Management"]);

const requests = scopedRequests(names);

describe.skipIf(inject("webhook") === undefined)("through the gateway", () => {
  beforeAll(async () => {
    await bind({ kind: "Group", name: admins }, "cluster-admin");
    for (const request of scopedObjects(names)) await arrange(request);
  });

  it.each(scopeRows(web))(
    "a key with %s may do what it may do at kube-apiserver",
    async (what, scope) => {
      const key = await makeKey({
        spec: { user: "alice", groups: [admins], ...(scope === undefined ? {} : { scope }) },
      });
      await worksAs(key);
      await gatewayKnows(key);
      const answers = [];
      for (const request of requests) {
        const [one, same] = [
          await askDirectly(key, request),
          await askThroughGateway(key, request),
        ];
        answers.push([
          ...[request.method ?? "GET", request.path],
          ...[comparable(one), comparable(same)],
        ] as const);
      }
      expect(answers.map(([method, path, , via]) => [method, path, via])).toEqual(
        answers.map(([method, path, direct]) => [method, path, direct]),
      );
      expect(answers[0]?.[2].isScope).toBe(!covering.has(what));
    },
  );

  it("a key of a user with white space around the name is this user on both ways", async () => {
    const user = `\u00a0${unique("alice")}\ufeff`;
    const key = await makeKey({ spec: { user, groups: ["\u2003devs"] } });
    await worksAs(key);
    await gatewayKnows(key);
    const { method, path, body } = selfReview;
    const asked = { method, key: key.key, body: JSON.stringify(body) };
    const headers = { "content-type": "application/json" };
    const answers = await Promise.all([
      askGateway({ ...asked, headers, path, server: inject("controlPlane") }),
      askGateway({ ...asked, headers, path: managementPath + path }),
    ]);
    const status = { userInfo: { username: user, groups: expect.arrayContaining(["\u2003devs"]) } };
    for (const { text } of answers) expect(JSON.parse(text)).toMatchObject({ status });
  });
});
