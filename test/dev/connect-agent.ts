import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { loadAll } from "js-yaml";
import { stringAt, stringMapAt } from "../../src/api/parse.ts";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { applyClusterAgentRbac } from "../support/install.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { kubectl } from "../support/kubectl.ts";

/** How a cluster is connected, as a user connects it. */
export interface Connection {
  /** The name of the cluster. */
  readonly name: string;
  /** The projects that it lets in, separated by commas. */
  readonly projects: string;
  /** The words that start `kubectl latchkey`. */
  readonly client: readonly string[];
  /** Where the manifest and the kubeconfig of the agent are written. */
  readonly directory: string;
}

/**
 * Connects a cluster with `kubectl latchkey cluster connect`, and applies to it what that prints and
 * the rights of the agent; returns the arguments of the agent, whose process runs outside of it.
 */
export async function connectAgent(
  management: ControlPlane,
  connected: ControlPlane,
  { name, projects, client, directory }: Connection,
): Promise<readonly string[]> {
  const manifest = join(directory, "agent.yaml");
  const [command = "", ...words] = client;
  const connect = ["cluster", "connect", name, `--projects=${projects}`];
  const { PATH, HOME } = process.env;
  await promisify(execFile)(command, [...words, ...connect, `--output-file=${manifest}`], {
    env: { PATH, HOME, KUBECONFIG: management.adminKubeconfig },
  });
  await kubectl(connected, ["apply", "--server-side", `--filename=${manifest}`]);
  await applyClusterAgentRbac(connected);
  const central = join(directory, "central-kubeconfig");
  writePrivately(central, kubeconfigIn(readFileSync(manifest, "utf8")));
  return [`--central-kubeconfig=${central}`, `--cluster-name=${name}`];
}

/** The kubeconfig in the Secret of a manifest; throws without one. */
function kubeconfigIn(manifest: string): string {
  const secret = loadAll(manifest).find((object) => stringAt(object, "kind") === "Secret");
  const encoded = stringMapAt(secret, "data")["kubeconfig"];
  if (encoded === undefined) throw new Error("the manifest of the connected cluster has no key");
  return Buffer.from(encoded, "base64").toString("utf8");
}
