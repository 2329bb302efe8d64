import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { load } from "js-yaml";
import { apiVersion, ownObjects } from "../../src/api/names.ts";
import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { admissionPath } from "../../src/domain/webhook/webhook-paths.ts";
import { parseServerCertificates } from "../../src/tokens/server-certificates.ts";
import { clientBundle } from "./bundle.ts";
import { admin, connect, post, send } from "./cluster-connection.ts";
import type { ControlPlane } from "./control-plane-handle.ts";
import { eventually } from "./eventually.ts";
import { kubectl, type KubectlAccess } from "./kubectl.ts";
import type { StartedControlPlane } from "./control-plane.ts";
import { repository } from "./install.ts";
import type { WebhookProcess } from "./latchkey-process.ts";

const run = promisify(execFile);

/** Runs a command of an administrator with the bundle of `kubectl latchkey`; throws if it fails. */
export async function runAsAdministrator(args: readonly string[]): Promise<{ stdout: string }> {
  const program = await clientBundle((line) => void process.stderr.write(`client: ${line}\n`));
  return run(process.execPath, [program, ...args], { cwd: repository });
}

/**
 * Does what an administrator does: writes the files with `kubectl latchkey trust-config`, and starts
 * kube-apiserver with its flags.
 */
export async function trustWebhook(
  controlPlane: StartedControlPlane,
  webhook: Pick<WebhookProcess, "webhookUrl">,
): Promise<void> {
  await controlPlane.restartApiServer(await trustFiles(controlPlane, webhook));
  await servesOwnKinds(controlPlane);
}

/**
 * Writes the files with which kube-apiserver asks the webhook about keys; returns its flags. Without
 * a URL it is the Service of the webhook.
 */
export async function trustFiles(
  controlPlane: Pick<StartedControlPlane, "adminKubeconfig" | "directory">,
  { webhookUrl }: Partial<Pick<WebhookProcess, "webhookUrl">> = {},
): Promise<readonly string[]> {
  const files = join(controlPlane.directory, "trust");
  const options = [
    `--kubeconfig=${controlPlane.adminKubeconfig}`,
    ...(webhookUrl === undefined ? [] : [`--webhook-url=${admissionUrl(webhookUrl)}`]),
    `--directory=${files}`,
    `--output=${files}`,
  ];
  const { stdout } = await runAsAdministrator(["trust-config", "--authorization", ...options]);
  return flagsIn(stdout);
}

/**
 * Waits until an API server that has just become ready serves the three kinds: it serves each CRD
 * at a different time, and its policies know the kind of an object some time after that (503).
 */
export async function servesOwnKinds({
  adminKubeconfig,
}: Pick<ControlPlane, "adminKubeconfig">): Promise<void> {
  const connection = await connect(adminKubeconfig);
  const creates = Object.entries({
    OwnedAccessKey: "ownedaccesskeys",
    DirectClusterEndpointToken: "directclusterendpointtokens",
    SharedSecret: "namespaces/default/sharedsecrets",
  }).map(([kind, collection]) =>
    post(`/apis/${apiVersion}/${collection}?dryRun=All`, {
      apiVersion,
      kind,
      metadata: { name: "never-made" },
      spec: {},
    }),
  );
  const serves = async () => {
    const answers = await Promise.all(creates.map((create) => send(connection, admin, create)));
    // Before 1.36 a policy rejects keys: nothing writes requester annotations yet.
    return answers.every(
      ({ code, message }) => code === 201 || message.includes("ValidatingAdmissionPolicy"),
    );
  };
  try {
    await eventually(serves, { what: "the kinds of Latchkey to be served" });
  } finally {
    await connection.pool.destroy();
  }
}

/** The flags of kube-apiserver among the lines that `kubectl latchkey trust-config` prints. */
function flagsIn(printed: string): readonly string[] {
  return printed.split("\n").flatMap((line) => (line.startsWith("# --") ? [line.slice(2)] : []));
}

/** The cluster that mints direct tokens, and the URL of its issuer. */
export interface TokenSource {
  readonly management: Pick<StartedControlPlane, "adminKubeconfig">;
  readonly issuer: string;
  /** The name of the connected cluster. */
  readonly name: string;
  /** More options of `kubectl latchkey trust-config`. */
  readonly args?: readonly string[];
  /** The authorizer in the connected cluster, if there is one. */
  readonly authorizer?: TokenAuthorizer;
}

/** A running `latchkey webhook --direct`, and the file with the CA of the issuer. */
export interface TokenAuthorizer extends Pick<WebhookProcess, "webhookUrl"> {
  readonly issuerAuthority: string;
}

/**
 * Does what the administrator of a connected cluster does: writes the files of `kubectl latchkey
 * trust-config --authentication`, with an authorizer also those of `--authorization`, and starts
 * kube-apiserver with them. Returns what was printed, and the flags.
 */
export async function trustTokens(
  connected: StartedControlPlane,
  source: TokenSource,
): Promise<{ readonly printed: string; readonly flags: readonly string[] }> {
  const { management, issuer, name, args = [], authorizer } = source;
  const files = join(connected.directory, "trust");
  const { stdout: printed } = await runAsAdministrator([
    ...["trust-config", "--authentication"],
    ...(authorizer === undefined
      ? [`--kubeconfig=${management.adminKubeconfig}`]
      : [
          ...["--authorization", `--kubeconfig=${connected.adminKubeconfig}`],
          `--webhook-url=${authorizer.webhookUrl}`,
          `--issuer-certificate-authority=${authorizer.issuerAuthority}`,
        ]),
    ...[`--cluster-name=${name}`, ...args],
    ...[`--issuer=${issuer}`, `--directory=${files}`, `--output=${files}`],
  ]);
  const flags = flagsIn(printed);
  await connected.restartApiServer(flags);
  return { printed, flags };
}

/** The label of objects that the API server stores without asking the webhook. */
export const withoutAdmission = { "latchkey-test": "without-admission" } as const;

/** Selects all other objects. */
export const admitted = {
  matchExpressions: Object.entries(withoutAdmission).map(([key, value]) => ({
    key,
    operator: "NotIn",
    values: [value],
  })),
};

/**
 * The host name by which an API server on the same machine connects to a webhook; its certificate
 * must include it.
 */
export const webhookHost = "localhost";

/** The URL at which an API server on the same machine calls a webhook at admission. */
function admissionUrl(webhookUrl: string): string {
  return `https://${webhookHost}:${new URL(webhookUrl).port}`;
}

/**
 * Applies a MutatingWebhookConfiguration of `config` for a webhook outside of the cluster, and
 * waits until the webhook has published its CA.
 */
export async function askWebhookAtAdmission(
  controlPlane: KubectlAccess,
  { webhookUrl }: Pick<WebhookProcess, "webhookUrl">,
  {
    file = join("webhook", "admission.yaml"),
    objectSelector,
  }: { readonly file?: string; readonly objectSelector?: object } = {},
): Promise<void> {
  const manifest: unknown = load(readFileSync(join(repository, "config", file), "utf8"));
  const origin = admissionUrl(webhookUrl);
  const segment = await admissionSegmentOf(controlPlane);
  const pathOf = (webhook: unknown) => admissionPath(segment, stringAt(webhook, "name") ?? "");
  const webhooks = listAt(manifest, "webhooks")
    .filter(isRecord)
    .map((webhook) => ({
      ...webhook,
      ...(objectSelector === undefined ? {} : { objectSelector }),
      clientConfig: { url: `${origin}${pathOf(webhook)}` },
    }));
  const input = JSON.stringify({ ...(isRecord(manifest) ? manifest : {}), webhooks });
  await kubectl(controlPlane, ["apply", "--server-side", "--filename=-"], { input });
  const published = async () =>
    (await kubectl(controlPlane, [
      "get",
      "mutatingwebhookconfiguration",
      stringAt(recordAt(manifest, "metadata"), "name") ?? "",
      "--output=jsonpath={.webhooks[*].clientConfig.caBundle}",
    ])) !== "";
  await eventually(published, { what: "the webhook to publish its authority" });
}

/** The path segment of the admission endpoints of webhooks, which an administrator may read. */
export async function admissionSegmentOf(
  controlPlane: Parameters<typeof kubectl>[0],
): Promise<string> {
  const secret: unknown = JSON.parse(
    await kubectl(controlPlane, [
      "get",
      "secret",
      ownObjects.webhookCertificates,
      "--namespace=latchkey-system",
      "--output=json",
    ]),
  );
  return parseServerCertificates(secret).admissionSegment ?? "";
}
