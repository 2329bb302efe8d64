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

const tries = `
Paste this into another shell:

  . ${devPaths.env}

and try:

  kubectl --context alice -n team-a get sharedsecret database   # access names alice and the team devs
  kubectl --context bob -n team-a get sharedsecret database     # bob is in devs
  kubectl --context bob -n team-a get sharedsecrets             # but may read this one only
  kubectl -n web-dev delete secret database                     # comes back at once
  kubectl -n web-dev get secret database
  kubectl create namespace web-test                             # and let it become one of the project web
  kubectl label namespace web-test management.service/project=web
  kubectl annotate namespace web-test management.service/sync=enabled   # that asks for what the project may have
  kubectl -n web-test get secrets
  echo '{"apiVersion":"management.service/v1","kind":"DirectClusterEndpointToken","metadata":{"name":"mine"}}' |
    kubectl --context alice create -f -
  kubectl --context alice get directclusterendpointtoken mine   # hers; bob may create tokens too, but not see this one
  kubectl describe ownedaccesskey ci-pipeline
  key=$(openssl rand -base64 32)                                # a key of alice's that may read SharedSecrets and no more;
  digest=sha256:$(printf %s "$key" | sha256sum | cut -c 1-16).$(printf '%s\\n%s' "$key" user:alice | sha256sum | cut -c 1-64)
  echo '{"apiVersion":"management.service/v1","kind":"OwnedAccessKey","metadata":{"name":"reader"},
    "spec":{"user":"alice","ttl":3600,"key":"'$digest'","scope":{"roles":[{"role":"serviceCLI"}]}}}' | kubectl create -f -
  kubectl --token $key auth whoami
  kubectl --token $key -n team-a get sharedsecret database      # within the scope, and alice may
  kubectl --token $key -n team-a label sharedsecret database a=b   # alice may, and the scope does not cover it
  kubectl --context gateway --token $key -n team-a get sharedsecret database   # the same through the gateway
  kubectl patch ownedaccesskey reader --type=merge -p '{"spec":{"disabled":true}}'
  kubectl --token $key -n team-a get sharedsecret database      # refused a second later
  curl -s "$LATCHKEY_CONTROLLER_URL/metrics"
`;

/**
 * The output of `make dev` when all samples are ready: commands to paste, and tables of the
 * objects.
 */
export async function devReport(controlPlane: ControlPlane): Promise<string> {
  const printed = await Promise.all(
    tables.map(
      async (command) => `$ kubectl ${command}\n${await kubectl(controlPlane, command.split(" "))}`,
    ),
  );
  return [tries, ...printed].join("\n");
}
