import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { home } from "../support/bench-objects.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { inTurns } from "../support/measured-run.ts";
import { median } from "../support/percentile.ts";
import { runningPodRequests } from "../support/pod-requests.ts";
import type { BenchFixture } from "./bench-fixture.ts";
import type { Ways } from "./gateway-ways.ts";
import { type Row, row } from "./report.ts";

const megabytes = 20;
const bytes = megabytes * 1024 * 1024;
const rounds = 3;
const pod = { namespace: home, name: "gateway-bench" };

/** 20 MB through `kubectl exec`, up and down, through the gateway and directly in alternation. */
export async function execRows(fixture: BenchFixture, { http1 }: Ways): Promise<readonly Row[]> {
  await makePod(fixture);
  const { directory, adminKubeconfig } = fixture.controlPlane;
  const through = join(directory, "gateway-bench.kubeconfig");
  writeKubeconfig(
    through,
    { url: http1.origin + http1.prefix, certificateAuthority: http1.ca },
    { key: { token: http1.authorization.replace("Bearer ", "") } },
  );
  const rows: Row[] = [];
  for (const [name, args, input] of [
    ["up", ["--stdin", pod.name, "--", "sh", "-c", "cat > /dev/null"], Buffer.alloc(bytes)],
    ["down", [pod.name, "--", "head", "-c", String(bytes), "/dev/zero"], Buffer.alloc(0)],
  ] as const) {
    const rates = await inTurns(rounds, {
      direct: () => rateOf(fixture, { kubeconfig: adminKubeconfig, args, input }),
      gateway: () => rateOf(fixture, { kubeconfig: through, args, input }),
    });
    const figure = [median(rates.gateway), "MB/s"] as const;
    const ceiling = median(rates.direct);
    rows.push(row(`kubectl exec, ${megabytes} MB ${name}`, figure, { ceiling }));
  }
  return rows;
}

async function makePod({ admin, kubeletPort }: BenchFixture): Promise<void> {
  const { node, pod: create, status } = runningPodRequests(pod, { name: pod.name, kubeletPort });
  for (const request of [node, create, status]) await admin.send(request);
}

/** Megabytes a second, the start of kubectl included. */
async function rateOf(
  { controlPlane: { kubectl, directory } }: BenchFixture,
  {
    kubeconfig,
    args,
    input,
  }: { readonly kubeconfig: string; readonly args: readonly string[]; readonly input: Buffer },
): Promise<number> {
  const { PATH, HOME } = process.env;
  const began = performance.now();
  const child = spawn(kubectl, ["exec", `--namespace=${pod.namespace}`, ...args], {
    env: {
      PATH,
      HOME,
      KUBECONFIG: kubeconfig,
      KUBERC: "off",
      KUBECACHEDIR: join(directory, "kubectl-cache"),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let received = 0;
  child.stdout.on("data", (chunk: Buffer) => (received += chunk.length));
  child.stdin.end(input);
  const [code] = await once(child, "close");
  if (code !== 0 || (input.length === 0 && received !== bytes))
    throw new Error(`kubectl exec exited with ${code} after ${received} bytes`);
  return (megabytes * 1000) / (performance.now() - began);
}
