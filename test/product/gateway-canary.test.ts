import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { askGateway, type GatewayRequest } from "../support/gateway-request.ts";
import { makeKey } from "../support/key-request.ts";
import { api, unique } from "../support/policy-request.ts";
import { formsOf } from "../support/secret-forms.ts";

const own = "/kubernetes/management/apis/management.service/v1";
const json = { "content-type": "application/json" };

const canary = (what: string): string => `canary.${what}.${randomBytes(12).toString("hex")}`;

describe.skipIf(inject("gateway") === undefined)("the gateway", () => {
  it("shows no key and no body in logs at debug level, metrics or its own responses", async () => {
    const key = canary("key");
    const [body, unknown, query] = [canary("body"), canary("unknown"), canary("query")];
    const made = await makeKey({ spec: { user: unique("sender"), key } });
    const isKnown = async () =>
      (await askGateway({ key, path: "/kubernetes/management/api" })).status === 200;
    await eventually(isKnown, { what: "the key to work" });
    const subprotocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(key).toString("base64url")}`;
    const requests: readonly GatewayRequest[] = [
      { key, path: "/kubernetes/management/api/v1/secrets" },
      { key, path: `/kubernetes/management/api/v1/secrets?token=${query}` },
      { key, path: `/kubernetes/management/../${query}` },
      { key, path: `/kubernetes/nothing/${query}` },
      { key: unknown, path: "/kubernetes/management/api/v1/secrets" },
      {
        path: "/kubernetes/management/api",
        headers: { "sec-websocket-protocol": `${subprotocol}, v5` },
      },
      { key, path: "/kubernetes/management/api", headers: { "impersonate-user": query } },
      { key, method: "BREW", path: `/kubernetes/management/${query}` },
      {
        key,
        method: "POST",
        path: `${own}/sharedsecrets`,
        headers: json,
        body: `{"spec": {"data": "${body}"`,
      },
      {
        key,
        method: "POST",
        path: `${own}/sharedsecrets`,
        headers: json,
        body: JSON.stringify({ metadata: { name: "x" }, spec: { data: { a: body } } }),
      },
      {
        key,
        method: "POST",
        path: `${own}/ownedaccesskeys`,
        headers: { "content-type": "application/yaml" },
        body: `spec: {key: ${body}, ttl: -1}\n`,
      },
    ];
    const answers: string[] = [];
    for (const request of requests) {
      for (const http2 of [false, true]) {
        const { status, text } = await askGateway({ ...request, http2 }).catch(() => ({
          status: 0,
          text: "",
        }));
        // kube-apiserver's own answers are passed byte for byte.
        if (status >= 400) answers.push(text);
      }
    }
    await api.merge(made.path, { spec: { disabled: true } });
    const isRefused = async () =>
      (await askGateway({ key, path: "/kubernetes/management/api" })).status === 401;
    await eventually(isRefused, { what: "the key to be refused" });
    const { logs = [], metricsUrls = [] } = inject("gateway") ?? {};
    const outputs = [
      ...logs.map((log) => readFileSync(log, "utf8")),
      ...(await Promise.all(
        metricsUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()),
      )),
      ...answers,
    ];
    expect(logs.length).toBeGreaterThan(0);
    expect(outputs.join("\n")).toContain("gateway request refused");
    const shown = Object.entries({ key, body, unknown, query }).filter(([, text]) =>
      formsOf(text).some((form) => outputs.some((output) => output.includes(form))),
    );
    expect(shown.map(([what]) => what)).toEqual([]);
  });
});
