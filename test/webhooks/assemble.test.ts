import { describe, expect, test } from "vitest";
import { webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { gateOf } from "../../src/runtime/routes.ts";
import { assembleWebhook } from "../../src/webhooks/assemble.ts";
import { apiServerName } from "../../src/webhooks/review-route.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const segment = "0123456789abcdef0123456789abcdef";
const { tokenReview, accessReview, ...admissionPaths } = webhookPaths;

/** The status with which a webhook refuses requests of a client, by their paths. */
function refusals(
  requireAdmissionClientCertificate: boolean,
  clientName: string | undefined,
  paths: readonly string[],
): readonly (number | undefined)[] {
  const { routes } = assembleWebhook(
    {
      namespace: "latchkey-system",
      serviceName: "latchkey-webhook",
      certificateNames: [],
      prefixes: { user: "", team: "" },
      maximumKeyTtl: 0,
      quotaKeys: 1,
      quotaExempt: [],
      admissionPath: segment,
      requireAdmissionClientCertificate,
    },
    {
      credentials: {
        server: "https://127.0.0.1:1",
        tls: { rejectUnauthorized: true },
        authorization: async () => undefined,
        forget() {},
      },
      clock: new TestClock(),
      random: () => 0.5,
      log: recordingLog(),
      metrics: createMetrics(),
      proxyOf: () => undefined,
    },
  );
  const gate = gateOf(routes, (first) => first === segment);
  return paths.map((path) => {
    const found = gate({ method: "POST", path }, { clientName, address: "192.0.2.1" });
    return "status" in found ? found.status : undefined;
  });
}

describe("admission answers", () => {
  const paths = Object.values(admissionPaths).map((path) => `/${segment}${path}`);
  const all = (status: number | undefined) => paths.map(() => status);

  test.each<[string, boolean, string | undefined, number | undefined]>([
    ["a client without a certificate by default", false, undefined, undefined],
    ["no client without a certificate if it requires one", true, undefined, 401],
    ["no other client if it requires a certificate", true, "latchkey:somebody", 401],
    ["kube-apiserver if it requires a certificate", true, apiServerName, undefined],
  ])("%s", (_rule, isRequired, clientName, status) => {
    expect(refusals(isRequired, clientName, paths)).toEqual(all(status));
  });

  test("404 at a guessed segment, whether it requires a certificate or not", () => {
    const guessed = Object.values(admissionPaths).map((path) => `/guess${path}`);
    expect(refusals(true, undefined, guessed)).toEqual(all(404));
    expect(refusals(false, undefined, guessed)).toEqual(all(404));
  });

  test("and reviews require the certificate in any case", () => {
    expect(refusals(false, undefined, [tokenReview, accessReview])).toEqual([401, 401]);
  });
});
