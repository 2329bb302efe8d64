import { inject } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type RunningPod, runningPodRequests } from "../support/pod-requests.ts";
import { isMissing } from "../support/prepared.ts";
import { arrange, makeNamespace, patchTypes, unique } from "../support/policy-request.ts";

/** Creates a namespace and a pod in it, bound to a node of the fake kubelet. */
export async function makeRunningPod(): Promise<RunningPod> {
  const pod = { namespace: await makeNamespace(), name: unique("pod") };
  const port = inject("kubelet");
  const node = { name: unique("node"), kubeletPort: isMissing(port) ? undefined : port };
  const requests = runningPodRequests(pod, node);
  await arrange(requests.node);
  // The controller manager creates the default service account of a new namespace.
  await eventually(() => arrange(requests.pod), { what: "a pod to be admitted" });
  await arrange({ ...requests.status, type: patchTypes.merge });
  return pod;
}
