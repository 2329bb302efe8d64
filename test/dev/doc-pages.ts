import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { devPaths } from "./dev-directory.ts";
import { devReport } from "./dev-report.ts";
import { blocksOf, type DocBlock, hasCommands, stepsOf } from "../support/doc-blocks.ts";
import { repository } from "../support/install.ts";

/** A page with the blocks that a user pastes into a shell of `make dev CONNECTED=1`. */
export interface DocPage {
  readonly path: string;
  readonly blocks: readonly DocBlock[];
}

/** A block that no test runs as it stands, by the begin of its first command. */
export interface OtherBlock {
  readonly page: string;
  readonly begins: string;
  readonly why: string;
}

const nodes = "needs a cluster with nodes and an image";
const ownFile = "needs a file of your own";
const ofEast = "needs a cluster east";
const certManager = "needs cert-manager";

/** The blocks that need more than `make dev` has. */
export const otherBlocks: readonly OtherBlock[] = [
  { page: "docs/cli.md", begins: "exec node /path/to", why: "is the content of a file" },
  { page: "docs/direct-authorizer.md", begins: "kubectl apply --server-side -f", why: nodes },
  { page: "docs/direct-authorizer.md", begins: "kubectl latchkey trust-config", why: nodes },
  { page: "docs/direct-endpoint.md", begins: "kubectl apply --server-side -f", why: nodes },
  { page: "docs/direct-endpoint.md", begins: "kubectl -n latchkey-system get secret", why: nodes },
  { page: "docs/gateway.md", begins: "kubectl apply --server-side -k config/gateway", why: nodes },
  {
    page: "docs/how-to/connect-a-cluster.md",
    begins:
      "kubectl latchkey cluster connect east --gateway --address=https://east.example.com:6443 --address-ca=east-ca.crt --output-file",
    why: ofEast,
  },
  {
    page: "docs/how-to/connect-a-cluster.md",
    begins: "kubectl latchkey cluster connect east --gateway --token-stdin",
    why: ofEast,
  },
  {
    page: "docs/how-to/connect-a-cluster.md",
    begins: "kubectl latchkey cluster connect east --direct",
    why: ofEast,
  },
  {
    page: "docs/how-to/connect-a-cluster.md",
    begins: "kubectl --context east apply",
    why: ofEast,
  },
  { page: "docs/how-to/incident.md", begins: 'grep "$uid" audit.log', why: ownFile },
  { page: "docs/how-to/rotate.md", begins: "kubectl latchkey trust-config", why: nodes },
  { page: "docs/metrics.md", begins: "kubectl -n latchkey-system port-forward", why: nodes },
  {
    page: "docs/how-to/argo-cd.md",
    begins: "kubectl patch configmap argocd-cm",
    why: "needs Argo CD",
  },
  { page: "docs/how-to/argo-cd.md", begins: "argocd app wait", why: "needs Argo CD" },
  { page: "docs/how-to/flux.md", begins: "flux get kustomizations", why: "needs Flux" },
  { page: "docs/operations.md", begins: "kubectl -n latchkey-system port-forward", why: nodes },
  { page: "docs/operations.md", begins: "kubectl --namespace latchkey-system scale", why: nodes },
  { page: "docs/operations.md", begins: "jq -r 'select(.stageTimestamp", why: ownFile },
  { page: "docs/runbooks.md", begins: "kubectl -n latchkey-system get pods", why: nodes },
  { page: "docs/runbooks.md", begins: "kubectl apply --server-side --force", why: ownFile },
  { page: "docs/runbooks.md", begins: "kubectl -n latchkey-system port-forward", why: nodes },
  { page: "docs/runbooks.md", begins: "kubectl latchkey trust-config", why: nodes },
  { page: "docs/security.md", begins: "kubectl apply --server-side -f deploy-prod", why: ownFile },
  { page: "docs/status-page.md", begins: "kubectl latchkey status", why: "runs until Ctrl-C" },
  {
    page: "docs/tutorials/certificate.md",
    begins: "kubectl apply --server-side -f shop.yaml",
    why: certManager,
  },
  {
    page: "docs/tutorials/certificate.md",
    begins: "kubectl -n shop-platform patch certificate",
    why: certManager,
  },
  {
    page: "docs/tutorials/connected-cluster.md",
    begins: "kubectl -n latchkey-system get secret",
    why: nodes,
  },
  {
    page: "docs/tutorials/connected-cluster.md",
    begins: "kubectl latchkey cluster disconnect",
    why: "other pages need the agent",
  },
  { page: "docs/webhook.md", begins: "kubectl -n latchkey-system set env", why: nodes },
];

const key = (name: string): string => `kubectl latchkey keys create ${name} --user=alice --ttl=1h`;

/** What a page takes for granted beside the samples, as commands. */
export const prerequisites: Readonly<Record<string, string>> = {
  "docs/audit.md": "ln -s .dev/logs/audit.log audit.log",
  "docs/direct-cluster-endpoint-token.md": "kubectl delete dcet laptop",
  "docs/how-to/incident.md": `key=$(${key("leaked-key")})`,
  "docs/how-to/when-a-person-leaves.md": `kubectl create clusterrole keys-for-ci --verb=impersonate --resource=users --resource-name=ci
kubectl create clusterrolebinding keys-for-ci --clusterrole=keys-for-ci --user=alice
kubectl latchkey keys create ci --context=alice --user=ci --ttl=1h
kubectl latchkey token create job --context=alice`,
  "docs/how-to/move-from-other-tools.md": `kubectl -n team-a delete sharedsecrets --all
kubectl -n web-dev delete secret orders-db
kubectl create namespace platform
kubectl -n platform create secret generic db --from-literal=user=db --from-literal=password=not-real`,
  "docs/how-to/values-from-other-controllers.md": `kubectl create namespace platform
kubectl -n platform create secret generic orders-db --from-literal=password=not-real`,
  "docs/owned-access-key.md": "kubectl delete oak ci-pipeline",
  "docs/shared-secret.md": `kubectl -n team-a delete sharedsecrets --all
kubectl -n web-dev delete secret orders-db
password=not-real
echo not-real > tls.key`,
  // The second line is what cert-manager does with the Certificate of the page.
  "docs/tutorials/certificate.md": `openssl req -x509 -newkey rsa:2048 -noenc -subj / -addext subjectAltName=DNS:shop.example.com -keyout tls.key -out tls.crt
(kubectl wait namespace/shop-platform --for=create && kubectl -n shop-platform create secret generic shop-tls --type=kubernetes.io/tls --from-file=tls.crt --from-file=tls.key --from-file=ca.crt=tls.crt --dry-run=client -o yaml | kubectl annotate --local -f - management.service/data-for=shop-tls -o yaml | kubectl create -f -) &`,
  "docs/tutorials/connected-cluster.md": `address=$LATCHKEY_DIRECT_URL
cp $LATCHKEY_DIRECT_CA direct-ca.crt`,
};

/** The part of a block that says that it cannot run as it stands: a placeholder such as `<name>`. */
const placeholder = /<[a-z][^<>\n]*>/;
/** Commands that start what runs the tests, or the tests. */
const ofRepository = /^(?:[A-Z_]+=\S+ )*(?:make|npm|npx|docker) /;

/** The pages whose blocks install and remove Latchkey: test/verify/installation-page.test.ts runs them. */
export const installationPages: readonly string[] = [
  "docs/installation.md",
  "docs/how-to/upgrade-and-uninstall.md",
];

/** The page about the files of a release: test/release/verify-release-page.test.ts runs its blocks. */
export const releasePage = "docs/verify-release.md";

/** Whether a block is run by the test of the pages. */
export function isRun(page: string, block: DocBlock): boolean {
  const command = firstCommand(block);
  return (
    !installationPages.includes(page) &&
    page !== releasePage &&
    !placeholder.test(block.text) &&
    !ofRepository.test(command) &&
    !otherBlocks.some((other) => other.page === page && command.startsWith(other.begins))
  );
}

/** The first command of a block. */
export function firstCommand(block: DocBlock): string {
  return stepsOf(block)[0]?.command ?? "";
}

/** The pages, and what `make dev CONNECTED=1` prints, with all their blocks. */
export function docPages(): readonly DocPage[] {
  const paths = execFileSync("git", ["ls-files", "-z", "README.md", "SECURITY.md", "docs/*.md"], {
    cwd: repository,
    encoding: "utf8",
  })
    .split("\0")
    .filter((path) => path !== "");
  const printed = devReport({ hasConnected: true })
    .replace(devPaths.env, ".dev/env")
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .map((line) => line.slice(2))
    .join("\n");
  const banner = { path: "make dev", blocks: [{ language: "sh", text: printed }] };
  const pages = paths.map((path) => ({
    path,
    blocks: blocksOf(readFileSync(join(repository, path), "utf8")),
  }));
  return [banner, ...pages].filter(({ blocks }) => blocks.some(hasCommands));
}
