import { labels } from "../../src/api/names.ts";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { devPaths } from "./dev-directory.ts";
import { kubectl } from "../support/kubectl.ts";

const tables = [
  "get sharedsecrets --all-namespaces",
  "get ownedaccesskeys",
  "get directclusterendpointtokens",
  `get secrets --all-namespaces --selector=${labels.sourceUid}`,
];

/** The copies in the connected cluster, as its administrator. */
const connectedTable = `get secrets --all-namespaces --selector=${labels.outboxUid}`;

/** Every authenticated user may read it. */
const clusterListTable = "--namespace=latchkey-system get configmap latchkey-clusters";

const tries = `
Paste this into another shell:

  . ${devPaths.env}

and try:

  kubectl --context alice -n team-a get sharedsecret database   # access names alice and the team devs
  kubectl --context bob -n team-a get sharedsecret database     # bob is in devs
  kubectl --context bob -n team-a get sharedsecrets             # Forbidden: bob may read this one only
  kubectl -n web-dev delete secret database                     # comes back at once
  kubectl -n web-dev wait secret/database --for=create
  kubectl create namespace web-test                             # and let it become one of the project web
  kubectl label namespace web-test management.service/project=web
  kubectl annotate namespace web-test management.service/sync=enabled   # that asks for what the project may have
  kubectl -n web-test wait secret/database --for=create
  echo '{"apiVersion":"management.service/v1","kind":"DirectClusterEndpointToken","metadata":{"name":"mine"}}' |
    kubectl --context alice create -f -
  kubectl wait directclusterendpointtoken mine --for=condition=Ready
  kubectl --context alice get directclusterendpointtoken mine   # hers; bob may create tokens too, but not see this one
  kubectl describe ownedaccesskey ci-pipeline
  key=$(openssl rand -base64 32)                                # a key of alice's that may read SharedSecrets and no more;
  digest=sha256:$(printf %s "$key" | sha256sum | cut -c 1-16).$(printf '%s\\n%s' "$key" user:alice | sha256sum | cut -c 1-64)
  echo '{"apiVersion":"management.service/v1","kind":"OwnedAccessKey","metadata":{"name":"trial"},
    "spec":{"user":"alice","ttl":3600,"key":"'$digest'","scope":{"roles":[{"role":"serviceCLI"}]}}}' | kubectl create -f -
  kubectl wait ownedaccesskey trial --for=condition=Ready
  kubectl --token $key auth whoami
  kubectl --token $key -n team-a get sharedsecret database      # within the scope, and alice may
  kubectl --token $key -n team-a label sharedsecret database a=b   # Forbidden: alice may, and the scope does not cover it
  kubectl --context gateway --token $key -n team-a get sharedsecret database   # the same through the gateway
  kubectl patch ownedaccesskey trial --type=merge -p '{"spec":{"disabled":true}}'
  sleep 2                                                       # kube-apiserver keeps a decision for a second
  kubectl --token $key -n team-a get sharedsecret database      # Forbidden: the key is disabled
  curl -s "$LATCHKEY_CONTROLLER_URL/metrics"
`;

/** Commands for the connected cluster; a key without a group, so that alice's own rights count. */
const connectedTries = `
and with the connected cluster:

  kubectl --context connected create configmap greeting --from-literal=text=hello   # as its administrator
  key=$(openssl rand -base64 32)                                # a key of alice's for the cluster "connected" alone
  digest=sha256:$(printf %s "$key" | sha256sum | cut -c 1-16).$(printf '%s\\n%s' "$key" user:alice | sha256sum | cut -c 1-64)
  echo '{"apiVersion":"management.service/v1","kind":"OwnedAccessKey","metadata":{"name":"away"},
    "spec":{"user":"alice","ttl":3600,"key":"'$digest'","scope":{"clusters":[{"cluster":"connected"}]}}}' | kubectl create -f -
  kubectl wait ownedaccesskey away --for=condition=Ready
  kubectl --context gateway-connected --token $key get configmap greeting   # alice may view what is there
  kubectl --context bob -n latchkey-system get configmap latchkey-clusters -o yaml   # which clusters there are
  kubectl --context gateway --token $key get configmaps         # Forbidden: the scope does not cover the central cluster
  echo '{"apiVersion":"management.service/v1","kind":"DirectClusterEndpointToken","metadata":{"name":"far"}}' |
    kubectl --context alice create -f -
  kubectl wait directclusterendpointtoken far --for=condition=Ready
  token=$(kubectl --context alice get directclusterendpointtoken far -o jsonpath={.status.token})
  kubectl --context direct --token $token auth whoami           # alice at the connected cluster, past the central cluster
  kubectl --server $LATCHKEY_DIRECT_URL --certificate-authority $LATCHKEY_DIRECT_CA --token $token get configmap greeting
  echo '{"apiVersion":"management.service/v1","kind":"DirectClusterEndpointToken","metadata":{"name":"slim"},
    "spec":{"scope":{"projects":[{"project":"web"}]}}}' | kubectl --context alice create -f -
  kubectl wait directclusterendpointtoken slim --for=condition=Ready
  narrow=$(kubectl --context alice get directclusterendpointtoken slim -o jsonpath={.status.token})
  kubectl --context direct --token $narrow -n web-edge get configmaps   # within the scope, and alice may
  kubectl --context direct --token $narrow get configmaps       # Forbidden: alice may, and the scope does not cover it
  kubectl latchkey kubeconfig connected --context=alice --output-file=connected.yaml
  kubectl --kubeconfig connected.yaml get configmaps            # as alice, with direct tokens that the client gets
  kubectl -n team-a annotate --overwrite sharedsecret registry management.service/sync-to-clusters=connected
  kubectl --context connected -n web-edge wait secret/registry --for=create   # a copy in the connected cluster
  kubectl --context connected -n web-edge delete secret registry   # comes back at once
  kubectl --context connected -n web-edge wait secret/registry --for=create
  kubectl latchkey cluster list
  kubectl -n team-a annotate sharedsecret registry management.service/sync-to-clusters-
  kubectl --context connected -n web-edge wait secret/registry --for=delete
  kubectl --context alice delete directclusterendpointtoken far
  sleep 5
  kubectl --context direct --token $token get configmap greeting   # Forbidden: the token is revoked
`;

/** The commands that `make dev` prints, to paste in this order. */
export function devCommands({ hasConnected }: { readonly hasConnected: boolean }): string {
  return [tries, ...(hasConnected ? [connectedTries] : [])].join("\n");
}

/**
 * The output of `make dev` when all samples are ready: commands to paste, and tables of the
 * objects.
 */
export async function devReport(
  controlPlane: ControlPlane,
  connected: ControlPlane | undefined,
): Promise<string> {
  const hasConnected = connected !== undefined;
  const shown = hasConnected ? [...tables, clusterListTable] : tables;
  const printed = await Promise.all([
    ...shown.map((command) => printedBy(controlPlane, command)),
    ...(hasConnected ? [printedBy(connected, connectedTable, "--context connected ")] : []),
  ]);
  return [devCommands({ hasConnected }), ...printed].join("\n");
}

/** A command and its output; `context` is how a reader says which cluster it is about. */
async function printedBy(access: ControlPlane, command: string, context = ""): Promise<string> {
  return `$ kubectl ${context}${command}\n${await kubectl(access, command.split(" "))}`;
}
