/*
 * Prints the files of `src` that a change, a key, a request, a token and an explanation pass
 * (`npm run --silent flows`), beside a `make dev` that was started with LATCHKEY_FLOWS=1. Files that
 * an idle process passes, too, are left out.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { repository } from "../support/install.ts";
import { devPaths, flowRecorder, flowsDirectory } from "./dev-directory.ts";

const key = "flow-0123456789-0123456789-0123456789";
const idleMs = 4_000;
const settledMs = 1_500;

function shell(command: string, env: NodeJS.ProcessEnv = {}): string {
  return execFileSync("bash", ["-euc", `. ${devPaths.env}; ${command}`], {
    cwd: repository,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
}

function written(pid: number): readonly string[] {
  return JSON.parse(readFileSync(join(flowsDirectory, `${pid}.json`), "utf8"));
}

/** The files since the last call. */
async function filesOf(pid: number): Promise<readonly string[]> {
  const path = join(flowsDirectory, `${pid}.json`);
  rmSync(path, { force: true });
  process.kill(pid, "SIGUSR2");
  while (!existsSync(path)) await pause(50);
  await pause(100);
  return written(pid);
}

function print(name: string, files: readonly string[]): void {
  process.stdout.write(`${name}: ${files.length} files\n  ${files.join("\n  ")}\n`);
}

async function flow(name: string, pidFile: string, command: string): Promise<void> {
  const pid = Number(readFileSync(pidFile, "utf8"));
  await filesOf(pid);
  await pause(idleMs);
  const idle = new Set(await filesOf(pid));
  shell(command);
  await pause(settledMs);
  print(
    name,
    (await filesOf(pid)).filter((file) => !idle.has(file)),
  );
}

const digest =
  `sha256:$(printf %s ${key} | sha256sum | cut -c 1-16).` +
  `$(printf '%s\\n%s' ${key} user:alice | sha256sum | cut -c 1-64)`;
const spec = (kind: string, rest: string) =>
  `echo '{"apiVersion":"management.service/v1","kind":"${kind}","metadata":{"name":"flow"},"spec":${rest}}'`;
const scope = `{"user":"alice","key":"'"${digest}"'","scope":{"roles":[{"role":"serviceCLI"}]}}`;

const { controllerPid, webhookPid, gatewayPid } = devPaths;
shell("kubectl delete ownedaccesskey,dcet flow --ignore-not-found");
await flow(
  "a change of a SharedSecret",
  controllerPid,
  `kubectl -n team-a patch sharedsecret database --type=merge -p '{"spec":{"data":{"flow":"'$(date +%s | base64)'"}}}'`,
);
shell(
  `${spec("OwnedAccessKey", scope)} | kubectl create -f -; kubectl wait ownedaccesskey/flow --for=condition=Ready`,
);
const read = `--token ${key} -n team-a get sharedsecret database`;
await flow("a key at the webhook", webhookPid, `kubectl ${read}`);
await flow("a request through the gateway", gatewayPid, `kubectl --context gateway ${read}`);
await flow(
  "a token",
  controllerPid,
  `${spec("DirectClusterEndpointToken", "{}")} | kubectl --context alice create -f -; kubectl wait dcet/flow --for=condition=Ready`,
);
const why = shell(
  `node --import ${flowRecorder} src/client/main.ts why sharedsecret/database -n team-a >&2 & wait $!; echo $!`,
  { LATCHKEY_FLOWS: flowsDirectory },
);
print("kubectl latchkey why", written(Number(why)));
