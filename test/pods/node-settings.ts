import { join } from "node:path";

/** Directories of a node: `work` is its own, and `debian` has the unpacked packages. */
export interface NodePlace {
  readonly work: string;
  readonly debian: string;
  /** Where the output of all programs and containers is kept. */
  readonly logs: string;
  /** The cgroup of all pods, below the root of each hierarchy. */
  readonly cgroup: string;
}

/** The name of the only node. */
export const nodeName = "node-1";

/** The bridge to which pods are connected, and the addresses of pods and of the node on it. */
export const network = { bridge: "cni0", subnet: "10.88.0.0/24", node: "10.88.0.1" };

/** The image of the container that holds the network of a pod. */
export const pauseImage = { name: "localhost/pause", tag: "1" };

/** The socket at which containerd answers kubelet. */
export function containerdSocket({ work }: NodePlace): string {
  return join(work, "containerd.sock");
}

/** The configuration of containerd (config.toml, version 2). */
export function containerdConfig(place: NodePlace): string {
  const cri = `plugins."io.containerd.grpc.v1.cri"`;
  return `version = 2
root = "${join(place.work, "containerd")}"
state = "/run/containerd"
[grpc]
address = "${containerdSocket(place)}"
[plugins."io.containerd.internal.v1.opt"]
path = "${join(place.work, "opt")}"
[${cri}]
sandbox_image = "${pauseImage.name}:${pauseImage.tag}"
disable_apparmor = true
# Root of a container may not have CAP_SYS_RESOURCE, without which runc cannot lower the score.
restrict_oom_score_adj = true
[${cri}.containerd]
snapshotter = "overlayfs"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${cri}.containerd.runtimes.runc.options]
BinaryName = "${join(place.debian, "usr", "sbin", "runc")}"
SystemdCgroup = false
[${cri}.cni]
bin_dir = "${join(place.debian, "usr", "lib", "cni")}"
conf_dir = "${join(place.work, "cni")}"
`;
}

/** The network of pods (CNI specification, network configuration). */
export const cniConfig = JSON.stringify({
  cniVersion: "1.0.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: network.bridge,
      isGateway: true,
      ipMasq: false,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: network.subnet }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
});

/** A kubelet gets what its pods need; the webhook for keys is added later, in another file. */
export const authorizationConfig = JSON.stringify({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthorizationConfiguration",
  authorizers: ["Node", "RBAC"].map((type) => ({ type, name: type.toLowerCase() })),
});

/** The KubeletConfiguration of a node that shares a machine with other work. */
export function kubeletConfig(place: NodePlace): string {
  return JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: `unix://${containerdSocket(place)}`,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
    authorization: { mode: "Webhook" },
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${place.cgroup}`,
    failCgroupV1: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    resolvConf: "",
    volumePluginDir: join(place.work, "volume-plugins"),
    podLogsDir: join(place.logs, "pods"),
  });
}

/** The flags of kubelet. */
export function kubeletFlags(
  { work }: NodePlace,
  files: { readonly config: string; readonly kubeconfig: string },
): readonly string[] {
  return [
    `--config=${files.config}`,
    `--kubeconfig=${files.kubeconfig}`,
    `--root-dir=${join(work, "kubelet")}`,
    `--cert-dir=${join(work, "kubelet-certificates")}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${network.node}`,
  ];
}
