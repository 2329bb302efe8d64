/** A pod whose status is Running. */
export interface RunningPod {
  readonly namespace: string;
  readonly name: string;
}

/** The requests that make a pod run on a node of the fake kubelet, in order. */
export function runningPodRequests(
  { namespace, name }: RunningPod,
  node: { readonly name: string; readonly kubeletPort: number | undefined },
) {
  const container = { name: "main", image: "none", stdin: true };
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const status = {
    phase: "Running",
    podIP: "127.0.0.1",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [
      {
        name: container.name,
        image: container.image,
        imageID: "none",
        restartCount: 0,
        ready: true,
        started: true,
        state: { running: { startedAt: new Date() } },
      },
    ],
  };
  return {
    node: {
      method: "POST",
      path: "/api/v1/nodes",
      body: {
        metadata: { name: node.name },
        status: {
          addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
          daemonEndpoints: { kubeletEndpoint: { Port: node.kubeletPort } },
        },
      },
    },
    pod: {
      method: "POST",
      path: pods,
      body: {
        metadata: { name },
        spec: {
          nodeName: node.name,
          automountServiceAccountToken: false,
          containers: [container],
        },
      },
    },
    status: { method: "PATCH", path: `${pods}/${name}/status`, body: { status } },
  } as const;
}
