import { join } from "node:path";
import { labels } from "../../src/api/names.ts";
import { apply, repository } from "../support/install.ts";
import { kubectl, type KubectlAccess } from "../support/kubectl.ts";
import { eventually } from "../support/eventually.ts";

/** The fields of the three kinds that show whether an object is ready. */
interface Sample {
  kind: string;
  metadata: { name: string; namespace?: string; generation: number };
  status?: {
    conditions?: {
      type: string;
      status: string;
      reason: string;
      observedGeneration?: number;
      message: string;
    }[];
    sync?: { desired: number; synced: number };
  };
}

const samples = join("config", "samples");

/** Applies the samples as administrator and waits until each is Ready and every copy exists. */
export async function applySamples(access: KubectlAccess, within = 120_000): Promise<void> {
  await apply(access, samples);
  let missing: string[] = [];
  const complete = async () => {
    missing = await unfinished(access);
    return missing.length === 0;
  };
  try {
    await eventually(complete, { what: "the samples to be ready", within, every: 250 });
  } catch (error) {
    const text = error instanceof Error ? error.message : "";
    throw new Error([text, ...missing].join("\n  "), { cause: error });
  }
}

/** Shares a sample with the connected cluster, and waits until its copy is there. */
export async function applyClusterSamples(
  management: KubectlAccess,
  connected: KubectlAccess,
): Promise<void> {
  await apply(management, `${samples}-with-cluster`);
  await apply(connected, `${samples}-connected-cluster`);
  const wait = ["wait", "secret/registry", "--for=create", "--timeout=60s"];
  await kubectl(connected, ["--namespace=web-edge", ...wait]);
}

/** A sentence for each sample that is not ready, and one if copies are missing. */
async function unfinished(access: KubectlAccess): Promise<string[]> {
  const get = ["get", "-k", join(repository, samples), "--output=json"];
  const { items }: { items: Sample[] } = JSON.parse(await kubectl(access, get));
  const ours = items.filter(({ kind }) => kind !== "Namespace" && kind !== "Secret");
  const wanted = ours.reduce((sum, { status }) => sum + (status?.sync?.desired ?? 0), 0);
  const list = [
    "get",
    "secrets",
    "--all-namespaces",
    `--selector=${labels.sourceUid}`,
    "--output=name",
  ];
  const copies = (await kubectl(access, list)).split("\n").filter((line) => line !== "").length;
  return [
    ...ours.flatMap(notReady),
    ...(copies < wanted ? [`${copies} of ${wanted} copies are there`] : []),
  ];
}

function notReady({ kind, metadata, status }: Sample): string[] {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const current = ready?.observedGeneration === metadata.generation;
  if (
    current &&
    ready.status === "True" &&
    (status?.sync?.synced ?? 0) >= (status?.sync?.desired ?? 0)
  )
    return [];
  const state =
    ready === undefined ? "no controller has looked at it" : `${ready.reason}: ${ready.message}`;
  return [`${kind} ${metadata.name}: ${state}`];
}
