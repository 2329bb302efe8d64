import { join } from "node:path";
import type { ControlPlane } from "./control-plane-handle.ts";
import { writeKubeconfig, writePrivately } from "./kubeconfig.ts";
import { kubectl } from "./kubectl.ts";

/** A service account of latchkey-system that a process logs in as. */
export type Account = "latchkey-controller" | "latchkey-webhook";

/** A login as a service account that stays valid until it is closed. */
export interface ServiceAccountLogin {
  /** Path of a kubeconfig whose user names a `tokenFile`. */
  kubeconfig: string;
  /** Stops renewing the token. */
  close(): void;
}

/**
 * Whose token, where its files go and how long it lives (seconds; the API server refuses less than
 * 600).
 */
export interface LoginOptions {
  directory: string;
  account: string;
  namespace?: string;
  tokenSeconds?: number;
}

/**
 * A login as a service account by a bound token in a file, renewed at 80 % of its life as in a pod.
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

/** Renews at 80 % of the life, and each 1 % of it again after a failure; answers how to stop. */
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
