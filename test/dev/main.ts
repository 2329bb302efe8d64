import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ownObjects } from "../../src/api/names.ts";
import { issuersDataKey } from "../../src/domain/oidc/issuer-entries.ts";
import { type ControlPlaneSource, findOrBuildControlPlane } from "../support/binaries.ts";
import { startControlPlane, type StartedControlPlane } from "../support/control-plane.ts";
import {
  type ControllerProcess,
  type GatewayProcess,
  startController,
  startGateway,
  startWebhook,
} from "../support/latchkey-process.ts";
import {
  joinConnectedCluster,
  startAgent,
  startConnectedCluster,
  startDirectAccess,
  wantsConnectedCluster,
} from "./connected-cluster.ts";
import {
  claimDevDirectory,
  type ConnectedAddresses,
  devDirectory,
  devPaths,
  flowRecorder,
  flowsDirectory,
  writeDevFiles,
} from "./dev-directory.ts";
import { devReport } from "./dev-report.ts";
import { applyClusterSamples, applySamples } from "./dev-samples.ts";
import { bundle, clientBundle } from "../support/bundle.ts";
import { plugin } from "../support/cli-form.ts";
import { freePort } from "../support/free-port.ts";
import { imageNodeFlags } from "../support/image.ts";
import { directEndpointCa, gatewayCa } from "../support/gateway-address.ts";
import {
  applyGatewayRbac,
  applyLatchkey,
  type Installation,
  policiesCount,
  repository,
} from "../support/install.ts";
import { stampByWebhook } from "../support/install-latchkey.ts";
import { kubectl, type KubectlAccess } from "../support/kubectl.ts";
import type { TakenLock } from "../support/lock-file.ts";
import { describeExit, type Exit } from "../support/tied-child.ts";
import { askWebhookAtAdmission, trustWebhook, webhookHost } from "../support/trust.ts";

/** Functions that stop what was started, in the order of the starts; they run in reverse order. */
const started: (() => Promise<unknown>)[] = [];

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/**
 * In the development cluster, the group devs may create keys and tokens, so that a user can try
 * them.
 */
const requesters = JSON.stringify({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "dev-requesters" },
  roleRef: {
    apiGroup: "rbac.authorization.k8s.io",
    kind: "ClusterRole",
    name: "latchkey-requester",
  },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "devs" }],
});

async function bindRequesters(access: KubectlAccess): Promise<void> {
  await kubectl(access, ["apply", "--server-side", "--filename=-"], { input: requesters });
}

/** The issuers of tokens that stand for keys, from a file in the form of kube-apiserver. */
async function applyIssuers(access: KubectlAccess, file: string | undefined): Promise<void> {
  if (file === undefined || file === "") return;
  say(`trusting the issuers of ${file}`);
  const name = ownObjects.issuers;
  const data = { [issuersDataKey]: readFileSync(file, "utf8") };
  const metadata = { name, namespace: "latchkey-system" };
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
  await kubectl(access, ["apply", "--server-side", "--filename=-"], {
    input: JSON.stringify(configMap),
  });
}

async function up(fail: (what: string) => void): Promise<void> {
  const source = await findOrBuildControlPlane(say);
  const hasConnected = wantsConnectedCluster(process.env, source);
  say("starting the control plane");
  const controlPlane = await startControlPlane(source, {
    directory: devDirectory,
    logs: devPaths.logs,
    onDeath: fail,
    extraApiServerFlags: [`--audit-policy-file=${join(repository, "config/audit/policy.yaml")}`],
  });
  started.push(() => controlPlane.stop());
  say("installing the CRDs, RBAC and policies");
  const { stampedBy } = await applyLatchkey(controlPlane, say);
  await applyGatewayRbac(controlPlane);
  await bindRequesters(controlPlane);
  await applyIssuers(controlPlane, process.env["ISSUERS"]);
  const connected = hasConnected ? await startConnectedFor(controlPlane, source, fail) : undefined;
  say("building the bundle of the image, and kubectl latchkey");
  const program = await bundle(say);
  const client = plugin([process.execPath, await clientBundle(say)], devDirectory).words;
  const hasStamps = await startWebhookFor(controlPlane, { stampedBy, program });
  const gateway = await startGatewayFor(controlPlane, program);
  const controller = await startControllerFor(controlPlane, program, { hasConnected });
  await gateway.waitReady();
  await controller.waitReady();
  writeDevFiles(controlPlane, {
    controllerUrl: controller.url,
    gatewayUrl: gateway.gatewayUrl,
    gatewayCa: await gatewayCa(controlPlane),
    connected: connected && (await openDirectly(controlPlane, connected, { controller, program })),
    program,
  });
  if (hasStamps) {
    say("waiting until the policies are 10 s old: before, the requester of a key is not certain");
    await policiesCount(controlPlane);
  }
  say("applying the samples");
  await applySamples(controlPlane);
  if (connected !== undefined) {
    await startAgentFor(controlPlane, connected, { client, program });
    await applyClusterSamples(controlPlane, connected);
  }
  say(devReport({ hasConnected: connected !== undefined }));
  say("Ctrl-C stops everything.");
  say("Latchkey is ready");
}

/**
 * The controller; with a connected cluster, the issuer of its tokens has a name that reaches it from
 * there.
 */
async function startControllerFor(
  controlPlane: StartedControlPlane,
  program: string,
  { hasConnected }: { readonly hasConnected: boolean },
): Promise<ControllerProcess> {
  say("starting the controller as system:serviceaccount:latchkey-system:latchkey-controller");
  const { controllerLog: log, controllerPid: pidFile } = devPaths;
  const address = `127.0.0.1:${await freePort()}`;
  const controller = await startController({
    controlPlane,
    address,
    log,
    pidFile,
    directory: devDirectory,
    ...asInImage(program, "controller"),
    args: hasConnected ? [`--issuer=https://${address}`] : [],
    onDeath: (exit) => sayDeath("controller", log, exit),
  });
  started.push(() => controller.stop());
  return controller;
}

/** Opens the connected cluster to direct tokens, at kube-apiserver and at its direct endpoint. */
async function openDirectly(
  controlPlane: StartedControlPlane,
  connected: StartedControlPlane,
  { controller, program }: { readonly controller: ControllerProcess; readonly program: string },
): Promise<ConnectedAddresses> {
  say(
    "starting kube-apiserver of the connected cluster again with what `kubectl latchkey trust-config --authentication --authorization` prints",
  );
  const { authorizer, endpoint } = await startDirectAccess(controlPlane, connected, {
    issuer: controller.issuerUrl,
    settings: asInImage(program, "direct-endpoint"),
    onDeath: sayDeath,
  });
  started.push(
    () => authorizer.stop(),
    () => endpoint.stop(),
  );
  return {
    controlPlane: connected,
    directUrl: `${endpoint.endpointUrl}/kubernetes/cluster`,
    directCa: await directEndpointCa(connected),
  };
}

/** Another API server, which the gateway reaches as a connected cluster. */
async function startConnectedFor(
  controlPlane: StartedControlPlane,
  source: ControlPlaneSource,
  fail: (what: string) => void,
): Promise<StartedControlPlane> {
  say("starting the control plane of the connected cluster");
  const connected = await startConnectedCluster(source, fail);
  started.push(() => connected.stop());
  await joinConnectedCluster(controlPlane, connected);
  return connected;
}

/** The agent of the connected cluster, which makes copies there. */
async function startAgentFor(
  controlPlane: StartedControlPlane,
  connected: StartedControlPlane,
  { client, program }: { readonly client: readonly string[]; readonly program: string },
): Promise<void> {
  say("starting the agent that `kubectl latchkey cluster connect` gives a key");
  const agent = await startAgent(controlPlane, connected, {
    client,
    settings: asInImage(program, "cluster-agent"),
    onDeath: sayDeath,
  });
  started.push(() => agent.stop());
}

function sayDeath(name: string, log: string, exit: Exit): void {
  say(`the ${name} died (${describeExit(exit)}), starting it again; ${log}`);
}

/** A process with the settings of the image; with LATCHKEY_FLOWS, from `src` as `flows.ts` needs it. */
function asInImage(program: string, name: string) {
  if (process.env["LATCHKEY_FLOWS"] !== undefined)
    return {
      program: join(repository, "src/main.ts"),
      nodeFlags: ["--import", flowRecorder],
      env: { LATCHKEY_FLOWS: flowsDirectory },
    };
  return { program, nodeFlags: imageNodeFlags(name), env: { NODE_ENV: "production" } };
}

/**
 * Starts the webhook, and an API server that uses it. An existing cluster gets neither, because the
 * flags of its API server cannot be set. Returns whether requester annotations are written.
 */
async function startWebhookFor(
  controlPlane: StartedControlPlane,
  { stampedBy, program }: Pick<Installation, "stampedBy"> & { readonly program: string },
): Promise<boolean> {
  if (controlPlane.kind === "existing") {
    say(
      "the webhook is not started: access keys work through the gateway, and at this cluster's kube-apiserver once you give it what `kubectl latchkey trust-config --authorization` prints",
    );
    return stampedBy === "policy";
  }
  say("starting the webhook as system:serviceaccount:latchkey-system:latchkey-webhook");
  const { webhookLog: log, webhookPid: pidFile } = devPaths;
  const onDeath = (exit: Exit) => sayDeath("webhook", log, exit);
  const args = [`--certificate-names=${webhookHost}`, "--require-admission-client-certificate"];
  const webhook = await startWebhook({
    controlPlane,
    directory: devDirectory,
    log,
    pidFile,
    onDeath,
    args,
    ...asInImage(program, "webhook"),
  });
  started.push(() => webhook.stop());
  await webhook.waitReady();
  say(
    "starting kube-apiserver again with what `kubectl latchkey trust-config --authorization` prints",
  );
  await trustWebhook(controlPlane, webhook);
  await askWebhookAtAdmission(controlPlane, webhook);
  if (stampedBy === "webhook") await stampByWebhook(controlPlane, webhook);
  return true;
}

/** The gateway, which needs nothing of the API server but RBAC. */
async function startGatewayFor(
  controlPlane: StartedControlPlane,
  program: string,
): Promise<GatewayProcess> {
  say("starting the gateway as system:serviceaccount:latchkey-system:latchkey-gateway");
  const { gatewayLog: log, gatewayPid: pidFile } = devPaths;
  const address = `127.0.0.1:${await freePort()}`;
  const gateway = await startGateway({
    controlPlane,
    address,
    log,
    pidFile,
    directory: devDirectory,
    ...asInImage(program, "gateway"),
    onDeath: (exit) => sayDeath("gateway", log, exit),
    args: ["--external-names=localhost,127.0.0.1", `--external-url=https://${address}`],
  });
  started.push(() => gateway.stop());
  return gateway;
}

/**
 * Settles when this process must stop: on a signal, the exit of the npm that started it, or a
 * failure.
 */
function ending(): {
  asked: Promise<string>;
  fail: (what: string) => void;
  failed: Promise<never>;
} {
  const asked = new Promise<string>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => resolve(signal));
    const parent = process.ppid;
    const orphaned = () => process.ppid !== parent && resolve("npm is gone");
    if (process.env.npm_lifecycle_event !== undefined) setInterval(orphaned, 500).unref();
  });
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {});
  return { asked, failed, fail: (what) => reject(new Error(what)) };
}

async function down(): Promise<void> {
  for (const stop of started.toReversed()) await stop();
}

async function main(): Promise<number> {
  const { asked, fail, failed } = ending();
  let lock: TakenLock | undefined;
  let code = 0;
  try {
    lock = claimDevDirectory();
    await Promise.race([asked, failed, up(fail).then(() => Promise.race([asked, failed]))]);
    say("stopping");
  } catch (error) {
    say(`Latchkey is not ready: ${error instanceof Error ? error.message : String(error)}`);
    code = 1;
  }
  await down();
  lock?.release();
  return code;
}

process.exit(await main());
