import { createServer, type Server } from "node:http";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { askGateway, openGatewayUpgrade } from "../support/gateway-request.ts";
import { managementPath } from "../support/gateway-address.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { KeptSockets, endServer } from "../support/local-server.ts";
import { arrange, bind, patchTypes, unique } from "../support/policy-request.ts";
import { makeRunningPod } from "./running-pod.ts";
import { skippedWithout } from "../support/skipped.ts";
import { gatewayKnows } from "../support/ways-in.ts";

// kube-apiserver sends nothing to a loopback address.
const address = Object.values(networkInterfaces())
  .flatMap((found) => found ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const admins = unique("admins");

describe.skipIf(address === undefined)(
  "the 401 of a backend behind kube-apiserver",
  skippedWithout(inject("kubelet")),
  () => {
    const arrived: string[] = [];
    const sockets = new KeptSockets();
    const service = unique("service");
    let backend: Server;
    let key: KnownKey;
    let paths: Readonly<Record<"pod" | "service", string>>;

    beforeAll(async () => {
      await bind({ kind: "Group", name: admins }, "cluster-admin");
      backend = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => void chunks.push(chunk));
        request.on("end", () => {
          arrived.push(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`);
          if (request.url === "/public") return void response.end("welcome");
          response.writeHead(401, { "www-authenticate": 'Basic realm="backend"' });
          response.end("who are you?");
        });
      });
      backend.on("connection", (socket) => sockets.keep(socket));
      backend.on("upgrade", (request, socket) => {
        arrived.push(`${request.method} ${request.url} upgrade`);
        socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
      });
      await new Promise<void>((resolve) => backend.listen(0, address, resolve));
      const bound = backend.address();
      const port = typeof bound === "object" ? bound?.port : undefined;
      const pod = await makeRunningPod();
      const namespace = `/api/v1/namespaces/${pod.namespace}`;
      const path = `${namespace}/pods/${pod.name}`;
      const ip = address;
      await arrange({
        method: "PATCH",
        path: `${path}/status`,
        type: patchTypes.merge,
        body: { status: { podIP: ip, podIPs: [{ ip }] } },
      });
      const metadata = { name: service };
      await arrange({
        method: "POST",
        path: `${namespace}/services`,
        body: { metadata, spec: { ports: [{ port: 80, targetPort: port }] } },
      });
      const targetRef = { kind: "Pod", ...pod };
      await arrange({
        method: "POST",
        path: `${namespace}/endpoints`,
        body: { metadata, subsets: [{ addresses: [{ ip, targetRef }], ports: [{ port }] }] },
      });
      // Since 1.37 kube-apiserver finds a backend by the EndpointSlices of its Service alone.
      const slices = `/apis/discovery.k8s.io/v1/namespaces/${pod.namespace}/endpointslices`;
      await arrange({
        method: "POST",
        path: slices,
        body: {
          metadata: { ...metadata, labels: { "kubernetes.io/service-name": service } },
          addressType: "IPv4",
          endpoints: [{ addresses: [ip], targetRef }],
          ports: [{ port }],
        },
      });
      paths = {
        pod: `${managementPath}${path}:${port}/proxy`,
        service: `${managementPath}${namespace}/services/${service}:80/proxy`,
      };
      key = await makeKey({ spec: { user: unique("admin"), groups: [admins] } });
      await gatewayKnows(key);
      const known = { key: key.key, path: `${paths.service}/public` };
      await eventually(async () => (await askGateway(known)).status === 200, {
        what: "kube-apiserver to know the backend",
      });
    });
    beforeEach(() => void arrived.splice(0));
    afterAll(() => endServer(backend, sockets));

    it.each([
      ["pod", "GET", undefined],
      ["pod", "POST", undefined],
      ["pod", "POST", "name=alice"],
      ["service", "GET", undefined],
      ["service", "POST", "name=alice"],
    ] as const)("of a %s to a %s (body %s) is passed on", async (kind, method, body) => {
      const request = { key: key.key, path: `${paths[kind]}/private`, method };
      const { status, headers, text } = await askGateway(
        body === undefined ? request : { ...request, body },
      );
      expect([status, headers["www-authenticate"], text, arrived]).toEqual([
        ...[401, 'Basic realm="backend"', "who are you?"],
        [`${method} /private ${body ?? ""}`],
      ]);
      const next = await askGateway({ key: key.key, path: `${paths[kind]}/public` });
      expect([next.status, next.text]).toEqual([200, "welcome"]);
    });

    it("to an upgrade is passed on", async () => {
      const upgrade = openGatewayUpgrade(
        { key: key.key, path: `${paths.pod}/private` },
        "websocket",
      );
      expect([await upgrade.opened, arrived]).toEqual([401, ["GET /private upgrade"]]);
      upgrade.close();
    });
  },
);
