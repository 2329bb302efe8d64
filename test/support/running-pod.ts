import { inject } from "vitest";
import { eventually } from "./eventually.ts";
import { arrange, makeNamespace, patchTypes, unique } from "./policy-request.ts";

/** A pod whose status is Running. */
export interface RunningPod {
  readonly namespace: string;
  readonly name: string;
}

/** Creates a namespace and a pod in it, bound to a node of the fake kubelet. */
export async function makeRunningPod(): Promise<RunningPod> {
  const [namespace, node, name] = [await makeNamespace(), unique("node"), unique("pod")];
  await arrange({
    method: "POST",
    path: "/api/v1/nodes",
    body: {
      metadata: { name: node },
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: inject("gateway")?.kubeletPort } },
      },
    },
  });
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const container = { name: "main", image: "none", stdin: true };
  const create = () =>
    arrange({
      method: "POST",
      path: pods,
      body: {
        metadata: { name },
        spec: {
          nodeName: node,
          automountServiceAccountToken: false,
          containers: [container],
        },
      },
    });
  // The controller manager creates the default service account of a new namespace.
  await eventually(create, { what: "a pod to be admitted" });
  const startedAt = new Date().toISOString();
  const status = {
    phase: "Running",
    podIP: "127.0.0.1",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [
      {
        ...{ name: container.name, image: container.image, imageID: "none", restartCount: 0 },
        ...{ ready: true, started: true, state: { running: { startedAt } } },
      },
    ],
  };
  await arrange({
    method: "PATCH",
    path: `${pods}/${name}/status`,
    type: patchTypes.merge,
    body: { status },
  });
  return { namespace, name };
}
