// Prints the configuration that kind writes for kubeadm, out of a file for `kind create cluster
// --config` and a Kubernetes version: kind's own loader, validation, template and patches. The
// module's path begins like kind's, because these are internal packages of kind.
package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kind/pkg/cluster/internal/kubeadm"
	"sigs.k8s.io/kind/pkg/internal/apis/config/encoding"
	"sigs.k8s.io/kind/pkg/internal/patch"
)

func kubeadmConfig(file, version string) (string, error) {
	cluster, err := encoding.Load(file)
	if err != nil {
		return "", err
	}
	if err := cluster.Validate(); err != nil {
		return "", err
	}
	config, err := kubeadm.Config(kubeadm.ConfigData{
		ClusterName:          cluster.Name,
		KubernetesVersion:    version,
		ControlPlaneEndpoint: cluster.Name + "-control-plane:6443",
		APIBindPort:          6443,
		APIServerAddress:     cluster.Networking.APIServerAddress,
		NodeProvider:         "docker",
		ControlPlane:         true,
		NodeAddress:          "172.18.0.2",
		NodeName:             cluster.Name + "-control-plane",
		Token:                kubeadm.Token,
		KubeProxyMode:        string(cluster.Networking.KubeProxyMode),
		PodSubnet:            cluster.Networking.PodSubnet,
		ServiceSubnet:        cluster.Networking.ServiceSubnet,
		FeatureGates:         cluster.FeatureGates,
		RuntimeConfig:        cluster.RuntimeConfig,
		IPFamily:             cluster.Networking.IPFamily,
	})
	if err != nil {
		return "", err
	}
	config, err = patch.KubeYAML(config, cluster.KubeadmConfigPatches, cluster.KubeadmConfigPatchesJSON6902)
	if err != nil {
		return "", err
	}
	node := cluster.Nodes[0]
	config, err = patch.KubeYAML(config, node.KubeadmConfigPatches, node.KubeadmConfigPatchesJSON6902)
	return strings.ReplaceAll(config, "metadata:\n  name: config\n", ""), err
}

func main() {
	config, err := kubeadmConfig(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(config)
}
