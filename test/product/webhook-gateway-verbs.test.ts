import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { managementPath } from "../support/gateway-address.ts";
import { worksAs } from "../support/key-request.ts";
import { type GatewayProcess, startGateway } from "../support/latchkey-process.ts";
import { askAt, askDirectly, gatewayKnows } from "../support/ways-in.ts";
import { gatewayArgs } from "./product.ts";
import { arrangePolicyVerbs, expectedAnswer, makeScopedKeys, policyVerbs } from "./policy-verbs.ts";

describe.skipIf(inject("webhook") === undefined)(
  "a verb that is asked in the name of the user of a key",
  () => {
    let gateway: GatewayProcess;

    // kube-apiserver must ask the authorizer about the verbs of its own admission plugins, so the
    // gateway is one of the API server that does.
    beforeAll(async () => {
      gateway = await startGateway({
        controlPlane: inject("controlPlane"),
        program: inject("cli")?.latchkey ?? "",
        args: gatewayArgs,
      });
      await Promise.all([gateway.waitReady(), arrangePolicyVerbs()]);
    });
    afterAll(() => gateway?.stop());

    it.each(policyVerbs)(
      "is within its scope at kube-apiserver and at the gateway: $what ($by)",
      async (row) => {
        const way = {
          prefix: managementPath,
          server: { url: gateway.gatewayUrl, certificateAuthority: inject("gateway")?.ca ?? "" },
        };
        for (const [at, [kind, key]] of (await makeScopedKeys(row)).entries()) {
          await worksAs(key);
          await gatewayKnows(key, way);
          const request = row.request();
          const direct = await askDirectly(key, request);
          const through = await askAt(key, request, way);
          expect([kind, direct]).toEqual([kind, expectedAnswer(row.codes[at], row.refusal)]);
          const { gatewayCodes = row.codes, gatewayRefusal = row.refusal } = row;
          expect([kind, through]).toEqual([kind, expectedAnswer(gatewayCodes[at], gatewayRefusal)]);
        }
      },
    );
  },
);
