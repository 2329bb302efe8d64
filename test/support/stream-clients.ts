import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import {
  type GatewayRequest,
  type GatewayStream,
  openGatewayStream,
  openGatewayUpgrade,
} from "./gateway-request.ts";
import type { RunningPod } from "./pod-requests.ts";

/** Where a stream is opened, and with which credential. */
export type StreamTarget = Pick<GatewayRequest, "key" | "replica" | "server">;

/** What a client opens at a way in; upgrades exist only over HTTP/1.1. */
export interface StreamClient {
  readonly name: string;
  readonly open: (at: StreamTarget, pod: RunningPod) => GatewayStream;
}

/** Everything that stays open, over every protocol, below the path of a way in. */
export function streamClients(prefix: string): readonly StreamClient[] {
  const podPath = (pod: RunningPod) =>
    `${prefix}/api/v1/namespaces/${pod.namespace}/pods/${pod.name}`;
  const overBoth = (
    name: string,
    pathOf: (pod: RunningPod) => string,
    headers = {},
  ): readonly StreamClient[] =>
    [false, true].map((http2) => ({
      name: `${name} over ${http2 ? "HTTP/2" : "HTTP/1.1"}`,
      open: (at, pod) => openGatewayStream({ ...at, http2, path: pathOf(pod), headers }),
    }));
  const overWebSocket = (name: string, path: string, subprotocol: string): StreamClient => ({
    name: `${name} over WebSocket`,
    open: (at, pod) => {
      const headers = {
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
        "sec-websocket-protocol": subprotocol,
      };
      return openGatewayUpgrade({ ...at, path: `${podPath(pod)}/${path}`, headers }, "websocket");
    },
  });
  return [
    ...overBoth("watch", (pod) => watchPath(prefix, pod)),
    ...overBoth("watch of an informer", (pod) => informerPath(prefix, pod), {
      "accept-encoding": "gzip",
    }),
    ...overBoth("logs -f", (pod) => `${podPath(pod)}/log?follow=true`),
    overWebSocket("exec", "exec?command=cat&stdin=true&stdout=true", "v5.channel.k8s.io"),
    overWebSocket("attach", "attach?stdin=true&stdout=true", "v5.channel.k8s.io"),
    overWebSocket("port-forward", "portforward", "SPDY/3.1+portforward.k8s.io"),
    {
      name: "port-forward over SPDY",
      open: (at, pod) => {
        const headers = { "x-stream-protocol-version": "portforward.k8s.io" };
        const path = `${podPath(pod)}/portforward`;
        return openGatewayUpgrade({ ...at, method: "POST", path, headers }, "SPDY/3.1");
      },
    },
  ];
}

/** A watch of the ConfigMaps in the namespace of a pod. */
export function watchPath(prefix: string, { namespace }: RunningPod): string {
  return `${prefix}/api/v1/namespaces/${namespace}/configmaps?watch=1&resourceVersion=0`;
}

/** The same as client-go asks for it, which kube-apiserver compresses from Kubernetes 1.37 on. */
function informerPath(prefix: string, { namespace }: RunningPod): string {
  const options =
    "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
  return `${prefix}/api/v1/namespaces/${namespace}/configmaps?watch=1&${options}`;
}

/** The status of an open stream, by the name of its client. */
export function openStatus(name: string): number {
  return name.includes(" over HTTP") ? 200 : 101;
}

/**
 * What a client shows of the end of its stream: the last event of a watch, and `reset` of all else
 * that cannot be taken for whole.
 */
export async function shownEnd(name: string, stream: GatewayStream): Promise<unknown> {
  const { isWhole } = await stream.ended;
  return isWatch(name) ? lastEvent(stream.text()) : !isWhole && "reset";
}

/** What it shows when its stream is cut with a status. */
export function cutEnd(name: string, code: number): unknown {
  return isWatch(name)
    ? { type: "ERROR", object: expect.objectContaining({ kind: "Status", code }) }
    : "reset";
}

const isWatch = (name: string): boolean => name.startsWith("watch");

function lastEvent(text: string): unknown {
  return JSON.parse(text.trimEnd().split("\n").at(-1) ?? "");
}
