import { join } from "node:path";
import type { ControlPlane } from "./control-plane-handle.ts";
import { writeKubeconfig, writePrivately } from "./kubeconfig.ts";
import { kubectl } from "./kubectl.ts";

/** A service account of latchkey-system that a process authenticates as. */
export type Account =
  | "latchkey-controller"
  | "latchkey-webhook"
  | "latchkey-gateway"
  | "latchkey-cluster-agent";

/** The credentials of a service account, valid until they are closed. */
export interface ServiceAccountLogin {
  /** Path of a kubeconfig whose user names a `tokenFile`. */
  kubeconfig: string;
  /** Stops renewing the token. */
  close(): void;
}

/**
 * The account, the directory of its files, and the lifetime of its token (seconds; the API server
 * rejects less than 600).
 */
export interface LoginOptions {
  directory: string;
  account: string;
  namespace?: string;
  tokenSeconds?: number;
}

/**
 * Creates credentials for a service account: a bound token in a file, renewed at 80 % of its
 * lifetime as in a pod.
 */
export async function accountKubeconfig(
  controlPlane: ControlPlane,
  { directory, account, namespace = "latchkey-system", tokenSeconds = 3600 }: LoginOptions,
): Promise<ServiceAccountLogin> {
  const tokenFile = join(directory, `${account}.token`);
  const kubeconfig = join(directory, `${account}.kubeconfig`);
  const renew = async () => {
    const request = [
      "create",
      "token",
      account,
      `--namespace=${namespace}`,
      `--duration=${tokenSeconds}s`,
    ];
    writePrivately(tokenFile, (await kubectl(controlPlane, request)).trim());
  };
  await renew();
  writeKubeconfig(kubeconfig, controlPlane, { [account]: { tokenFile } });
  return { kubeconfig, close: keepRenewing(renew, tokenSeconds) };
}

/**
 * Renews at 80 % of the lifetime, and after each further 1 % if that fails; returns a function that
 * stops it.
 */
function keepRenewing(renew: () => Promise<void>, seconds: number): () => void {
  let timer: NodeJS.Timeout;
  let closed = false;
  const schedule = (share: number) => {
    if (closed) return;
    timer = setTimeout(
      () =>
        void renew().then(
          () => schedule(0.8),
          () => schedule(0.01),
        ),
      seconds * share * 1000,
    );
    timer.unref();
  };
  schedule(0.8);
  return () => {
    closed = true;
    clearTimeout(timer);
  };
}
